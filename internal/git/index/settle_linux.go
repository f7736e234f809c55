package index

import (
	"bytes"
	"errors"
	"fmt"
	"hash"
	"io"
	"path"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/croft-sh/croft/internal/git/object"
)

// Settle makes the files of a checkout, which is open, some seconds older, and returns their stat data then. An index that is written
// with those proves of each file that it is as it is staged; otherwise git, and everybody who counts as git does, reads all files
// that were written in the second in which the index was. Each file is hashed once it has its time, so what is written to it
// later shows. If a file is not the staged one, or is not the one that the index has the stat data of, Settle fails with
// [ErrDiffers], and returns stat data all the same: those of such a file have git compare it, also if the index was
// written in a later second. Nothing may convert the files when they are staged.
func (f *Flat) Settle(top int, format object.Format) ([]FileStat, error) {
	return f.settle(top, format, nil)
}

// SettleSince is [Flat.Settle] for the entries that are not the same in an earlier index of the checkout; the stat data of the
// others stay. Text may be converted: SettleSince fails with [ErrDiffers], too, if a file has a carriage return. Filters
// may not.
func (f *Flat) SettleSince(before *Flat, top int, format object.Format) ([]FileStat, error) {
	return f.settle(top, format, before)
}

// settle settles the entries that are not the same in an earlier index, if there is one.
func (f *Flat) settle(top int, format object.Format, before *Flat) ([]FileStat, error) {
	stats := make([]FileStat, f.Len())
	workers := min(runtime.GOMAXPROCS(0), f.Len()/settledByOne+1)
	var g errgroup.Group
	var differs atomic.Pointer[error]
	for w := range workers {
		g.Go(func() error {
			s := settler{index: f, top: top, in: -1, dir: "?", sum: format.NewHash(), buffer: make([]byte, 64<<10), maybeText: before != nil}
			defer s.leave()
			for i := w * f.Len() / workers; i < (w+1)*f.Len()/workers; i++ {
				if before.hasSame(f, i) {
					stats[i] = FileStat{noted: f.At(i).raw.stat()}
					continue
				}
				var err error
				if stats[i], err = s.settle(i); err == nil {
					continue
				}
				err = fmt.Errorf("%s: %w", f.Path(i), err)
				if isOther(err) {
					err = errors.Join(ErrDiffers, err)
				}
				if !errors.Is(err, ErrDiffers) {
					return err
				}
				stats[i] = FileStat{noted: f.At(i).raw.stat()}.Unknown()
				differs.Store(&err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if err := differs.Load(); err != nil {
		return stats, *err
	}
	return stats, nil
}

// isOther reports whether something else, or nothing, stands in the place of a file or of a directory above it.
func isOther(err error) bool {
	return slices.ContainsFunc([]error{unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EXDEV}, func(reason error) bool { return errors.Is(err, reason) })
}

// settledByOne is how many files are worth a goroutine.
const settledByOne = 64

// settler settles files, with the directory of the last one open.
type settler struct {
	index   *Flat
	top, in int
	dir     string
	sum     hash.Hash
	buffer  []byte

	maybeText bool // git may take carriage returns out of a file
}

func (s *settler) leave() {
	if s.in >= 0 && s.in != s.top {
		_ = unix.Close(s.in)
	}
	s.in, s.dir = -1, "?"
}

func (s *settler) enter(dir string) (err error) {
	if dir == s.dir {
		return nil
	}
	s.leave()
	if dir == "." {
		s.in, s.dir = s.top, dir
		return nil
	}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH}
	if s.in, err = unix.Openat2(s.top, dir, &how); err == nil {
		s.dir = dir
	}
	return err
}

func (s *settler) settle(i int) (FileStat, error) {
	e := s.index.At(i)
	name := path.Base(s.index.Path(i))
	if err := s.enter(path.Dir(s.index.Path(i))); err != nil {
		return FileStat{}, err
	}
	was, err := LstatAt(s.in, name)
	if err != nil {
		return FileStat{}, err
	}
	if !e.hasMode(was.Mode) || !isSameStat(e.raw.stat(), was.noted) {
		return FileStat{}, ErrDiffers
	}
	older, err := unix.TimeToTimespec(was.ModTime.Add(-settledBy))
	if err != nil {
		return FileStat{}, err
	}
	if err := unix.UtimesNanoAt(s.in, name, []unix.Timespec{older, older}, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return FileStat{}, errors.Join(errors.ErrUnsupported, err)
	}
	now, err := s.hash(name, was)
	if err == nil && !bytes.Equal(s.sum.Sum(nil), e.raw.oid()) {
		err = ErrDiffers
	}
	return now, err
}

// hash hashes a file, and returns its stat data, which were the same before and after.
func (s *settler) hash(name string, was FileStat) (FileStat, error) {
	if was.Mode.IsRegular() {
		return s.hashFile(name, was)
	}
	before, err := LstatAt(s.in, name)
	if err != nil {
		return FileStat{}, err
	}
	n, err := unix.Readlinkat(s.in, name, s.buffer)
	if err != nil || int64(n) != was.Size {
		return FileStat{}, errors.Join(ErrDiffers, err)
	}
	s.begin(was.Size)
	s.sum.Write(s.buffer[:n])
	after, err := LstatAt(s.in, name)
	return after, s.sameAs(before, after, err)
}

func (s *settler) hashFile(name string, was FileStat) (FileStat, error) {
	fd, err := unix.Openat(s.in, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return FileStat{}, err
	}
	defer unix.Close(fd)
	var raw unix.Stat_t
	if err := Fstat(fd, &raw); err != nil {
		return FileStat{}, err
	}
	before := StatOf(&raw)
	if !before.Mode.IsRegular() || before.Size != was.Size || before.Inode() != was.Inode() {
		return FileStat{}, ErrDiffers
	}
	s.begin(was.Size)
	if err := s.read(fd, was.Size); err != nil {
		return FileStat{}, err
	}
	err = Fstat(fd, &raw)
	after := StatOf(&raw)
	return after, s.sameAs(before, after, err)
}

func (s *settler) sameAs(before, after FileStat, err error) error {
	if err == nil && !before.IsSame(after) {
		return ErrDiffers
	}
	return err
}

// begin begins to hash a blob of a size.
func (s *settler) begin(size int64) {
	s.sum.Reset()
	s.sum.Write(append(strconv.AppendInt([]byte("blob "), size, 10), 0))
}

// read hashes an open file of a size.
func (s *settler) read(fd int, size int64) error {
	for left := size; left > 0; {
		n, err := unix.Read(fd, s.buffer[:min(left, int64(len(s.buffer)))])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return err
		case n == 0:
			return errors.Join(ErrDiffers, io.ErrUnexpectedEOF)
		}
		if s.maybeText && bytes.IndexByte(s.buffer[:n], '\r') >= 0 {
			return fmt.Errorf("%w, if it is text", ErrDiffers)
		}
		s.sum.Write(s.buffer[:n])
		left -= int64(n)
	}
	return nil
}
