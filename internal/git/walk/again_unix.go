//go:build unix

package walk

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/index"
)

// Again stats what an earlier walk saw. It lists no directory: the stat data of one say whether it has the
// same names. It fails with [ErrChanged] if the index is another one, and with [ErrAskGit] where a
// directory's times prove nothing, or where no directory is; then the checkout has to be walked.
func Again(req Request, names Names) (*Trace, error) {
	data, info, err := index.ReadFileUpTo(req.Index, maxIndex)
	if err != nil {
		return nil, err
	}
	digest := digestOf(data, info.ModTime())
	if nameOf(digest) != names.Index { // also: nobody has examined it
		return nil, ErrChanged
	}
	top, err := fsx.OpenDir(req.Work)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	a := &again{fd: int(top.File().Fd())}
	a.stats = digest
	var st unix.Stat_t
	if err := index.Fstat(a.fd, &st); err != nil {
		return nil, err
	}
	if !fsx.KeepsTimes(a.fd) {
		return nil, ErrAskGit
	}
	a.device = uint64(st.Dev)
	a.note(index.StatOf(&st))
	x, err := index.Reread(data, req.Format.Size())
	if err != nil {
		return nil, err
	}
	x.Written = info.ModTime()
	if err := a.tracked(x); err != nil {
		return nil, err
	}
	return &a.Trace, a.others(names)
}

type again struct {
	Trace
	fd     int
	device uint64
}

// dir notes a directory. In a directory of another file system nothing is known of times.
func (a *again) dir(path string) error {
	var st unix.Stat_t
	if err := index.FstatAt(a.fd, path, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || uint64(st.Dev) != a.device {
		return ErrAskGit
	}
	a.note(index.StatOf(&st))
	return nil
}

// tracked notes the directories of the index, and those files that are not provably as staged.
func (a *again) tracked(x *index.Flat) error {
	last := ""
	for i := range x.Len() {
		name := x.Path(i)
		for dir := range dirsAfter(last, name) {
			if err := a.dir(dir); err != nil {
				return err
			}
		}
		last = name
		now, err := index.LstatAt(a.fd, name)
		switch {
		case errors.Is(err, unix.ENOENT):
			a.gone(name)
		case err != nil:
			return err
		case x.At(i).IsAsStaged(now, x.Written):
			a.age(now)
		default:
			a.changed(name, now)
		}
	}
	return nil
}

// others notes what the index does not have.
func (a *again) others(names Names) error {
	for _, path := range names.Dirs {
		if err := a.dir(path); err != nil {
			return err
		}
	}
	for _, path := range names.Files {
		st, err := index.LstatAt(a.fd, path)
		if err != nil {
			return err
		}
		a.note(st)
	}
	return nil
}
