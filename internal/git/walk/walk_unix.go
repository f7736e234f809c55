//go:build unix

package walk

import (
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/index"
)

func hexOf(oid []byte) string { return hex.EncodeToString(oid) }

// errEnough ends a walk whose answer is known to be git's.
var errEnough = errors.New("enough is seen")

// Look walks a checkout. It fails with [ErrAskGit], or with another error, where its answer would
// not be git's.
func Look(req Request) (*Seen, error) {
	x, digest, err := readIndex(req)
	if err != nil {
		return nil, err
	}
	top, err := fsx.OpenDir(req.Work)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	fd := int(top.File().Fd())
	seen := &Seen{
		index: x, work: req.Work, key: slices.Clone(digest), digest: digest, names: Names{Index: nameOf(digest)},
		dirs: map[string]index.FileStat{}, isDated: datesDirs(fd),
	}
	w := &walker{req: req, x: x, seen: seen, buf: make([]byte, 8<<10)}
	err = w.dir(fd, "", x.Entries, 0)
	if errors.Is(err, errEnough) {
		return w.seen, nil
	}
	w.seen.IsWhole = err == nil
	return w.seen, err
}

type walker struct {
	req     Request
	x       *index.Index
	seen    *Seen
	unknown int
	device  uint64
	buf     []byte
}

// note adds a path to the key.
func (w *walker) note(kind byte, path string) {
	w.seen.key = append(append(append(w.seen.key, kind), path...), 0)
}

// ignored notes a path that is left out.
func (w *walker) ignored(path string) {
	w.note(ofIgnored, path)
	w.seen.HasIgnored = true
}

// age notes when something last changed.
func (w *walker) age(st index.FileStat) {
	if n := &w.seen.newest; n.Changed().Before(st.Changed()) {
		*n = st
	}
	w.seen.HasShared = w.seen.HasShared || st.IsShared
}

// dir compares an open directory with the entries below it; depth is how many directories above
// it the index does not have.
func (w *walker) dir(fd int, prefix string, entries []index.Entry, depth int) error {
	if w.req.Enter != nil {
		w.req.Enter(fd)
	}
	if err := w.dated(fd, prefix); err != nil {
		return err
	}
	names, err := w.names(fd)
	if err != nil {
		return err
	}
	known := childrenOf(entries, len(prefix))
	for _, name := range names {
		for len(known) > 0 && known[0].name < name {
			w.gone(known[0])
			known = known[1:]
		}
		if len(known) == 0 || known[0].name != name {
			err = w.unknownName(fd, prefix, name, depth)
		} else {
			err = w.knownName(fd, prefix, known[0])
			known = known[1:]
		}
		if err != nil {
			return err
		}
	}
	for _, c := range known {
		w.gone(c)
	}
	return nil
}

// dated notes the times of an open directory. One of another file system tells nothing.
func (w *walker) dated(fd int, prefix string) error {
	var raw unix.Stat_t
	if err := index.Fstat(fd, &raw); err != nil {
		return err
	}
	st := index.StatOf(&raw)
	w.age(st)
	if prefix == "" {
		w.device = uint64(raw.Dev)
	}
	w.seen.isDated = w.seen.isDated && uint64(raw.Dev) == w.device
	w.seen.dirs[strings.TrimSuffix(prefix, "/")] = st
	return nil
}

// gone notes tracked files that do not exist.
func (w *walker) gone(c child) {
	list := c.below
	if c.file != nil {
		list = []index.Entry{*c.file}
	}
	for _, e := range list {
		w.note(ofGone, e.Path)
		w.seen.Changed = append(w.seen.Changed, Suspect{Entry: e, Gone: true})
	}
}

// knownName compares a name that the index has.
func (w *walker) knownName(fd int, prefix string, c child) error {
	if c.file == nil {
		return w.enter(fd, prefix+c.name+"/", c.name, c.below, 0)
	}
	now, err := index.LstatAt(fd, c.name)
	if errors.Is(err, unix.ENOENT) {
		w.gone(c)
		return nil
	}
	if err != nil {
		return err
	}
	if now.Mode.IsDir() {
		return ErrAskGit
	}
	w.age(now)
	if w.x.IsAsStaged(*c.file, now) {
		return nil
	}
	w.note(ofTracked, c.file.Path)
	w.seen.key = now.AppendTo(w.seen.key)
	w.seen.Changed = append(w.seen.Changed, Suspect{Entry: *c.file, Now: now})
	return nil
}

// enter walks a directory below an open one. Where the index has a directory, nothing else may
// stand.
func (w *walker) enter(fd int, prefix, name string, below []index.Entry, depth int) error {
	var sub int
	for {
		var err error
		sub, err = unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return errors.Join(ErrAskGit, err)
		}
		break
	}
	defer unix.Close(sub)
	return w.dir(sub, prefix, below, depth)
}

// unknownName notes a name that the index does not have, and walks it if it is a directory that
// git may look into.
func (w *walker) unknownName(fd int, prefix, name string, depth int) error {
	if name == ".git" {
		if prefix == "" {
			return nil
		}
		return ErrAskGit
	}
	path := prefix + name
	w.unknown++
	if w.req.Ignored == nil {
		w.seen.Unknown = append(w.seen.Unknown, path)
		return errEnough
	}
	if w.unknown > maxUnknown || depth > maxDepth {
		return ErrAskGit
	}
	now, err := index.LstatAt(fd, name)
	if errors.Is(err, unix.ENOENT) {
		return nil // it is gone by now, and its directory is not settled
	}
	if err != nil {
		return err
	}
	isDir := now.Mode.IsDir()
	isRule := strings.EqualFold(name, ".gitignore") || strings.EqualFold(name, ".gitattributes")
	switch {
	case isDir && w.req.Ignored[path+"/"]:
		w.ignored(path + "/")
		return nil
	case !isDir && w.req.Ignored[path] && !isRule: // rules hold, also where they say that they are ignored
		w.ignored(path)
		return nil
	}
	w.age(now)
	w.seen.Unknown = append(w.seen.Unknown, path)
	w.note(ofUnknown, path)
	if isDir {
		w.seen.names.Dirs = append(w.seen.names.Dirs, path)
		return w.enter(fd, path+"/", name, nil, depth+1)
	}
	w.seen.names.Files, w.seen.files = append(w.seen.names.Files, path), append(w.seen.files, now)
	w.seen.key = now.AppendTo(w.seen.key)
	return nil
}

// names lists an open directory, sorted.
func (w *walker) names(fd int) ([]string, error) {
	var names []string
	for {
		n, err := unix.ReadDirent(fd, w.buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n <= 0 {
			break
		}
		_, _, names = unix.ParseDirent(w.buf[:n], -1, names)
		if len(names) > len(w.x.Entries)+maxUnknown {
			return nil, ErrAskGit
		}
	}
	slices.SortFunc(names, strings.Compare)
	return names, nil
}
