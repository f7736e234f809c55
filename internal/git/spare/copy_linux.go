package spare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/index"
)

// CopyTo makes another spare, whose directory is empty, a copy of this one. Both lie where no agent writes, and nobody
// writes this one meanwhile; a file that is not the one in the index fails it with ErrDiffers. Files share their blocks
// where the file system can do that. They keep their times, and the index of the copy has the stat data of its own files.
func (t *Tree) CopyTo(ctx context.Context, to *Tree, workers int) error {
	x, data, err := t.readIndex()
	if err != nil {
		return err
	}
	from, err := fsx.OpenDirIs(t.Path, t.Identity)
	if err != nil {
		return err
	}
	defer from.Close()
	into, err := fsx.OpenDirIs(to.Path, to.Identity)
	if err != nil {
		return err
	}
	defer into.Close()
	c := &copying{index: x, from: int(from.File().Fd()), to: int(into.File().Fd()), stats: make([]index.FileStat, len(x.Entries))}
	if err := c.makeDirs(); err != nil {
		return err
	}
	if err := c.copyAll(ctx, max(workers, 1)); err != nil {
		return err
	}
	data, err = index.Restat(data, t.Repo.ObjectFormat(), c.stats)
	if err != nil {
		return err
	}
	return os.WriteFile(to.Index, data, 0o666)
}

// copying is one run of CopyTo.
type copying struct {
	index    *index.Index
	from, to int // the open directories
	stats    []index.FileStat
	noClone  atomic.Bool // the file system shares no blocks
}

// makeDirs makes all directories of the copy.
func (c *copying) makeDirs() error {
	made := map[string]bool{".": true}
	var mkdir func(dir string) error
	mkdir = func(dir string) error {
		if made[dir] {
			return nil
		}
		made[dir] = true
		if err := mkdir(path.Dir(dir)); err != nil {
			return err
		}
		return pathError("mkdir", dir, unix.Mkdirat(c.to, dir, 0o777))
	}
	last := "."
	for _, e := range c.index.Entries {
		dir := path.Dir(e.Path)
		if e.Mode == "160000" {
			dir = e.Path
		}
		if dir == last {
			continue
		}
		last = dir
		if err := mkdir(dir); err != nil {
			return err
		}
	}
	return nil
}

// batch is how many files a worker copies before it takes more.
const batch = 128

func (c *copying) copyAll(ctx context.Context, workers int) error {
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range workers {
		g.Go(func() error {
			w := &worker{copying: c, dir: "?", in: -1, out: -1}
			defer w.close()
			for ctx.Err() == nil {
				at := int(next.Add(batch)) - batch
				if at >= len(c.stats) {
					return nil
				}
				for i := at; i < min(at+batch, len(c.stats)); i++ {
					if err := w.copyEntry(i); err != nil {
						return err
					}
				}
			}
			return ctx.Err()
		})
	}
	return g.Wait()
}

// worker copies files, with the directory of the last one open on both sides.
type worker struct {
	*copying
	dir     string
	in, out int
	buffer  []byte
}

func (w *worker) close() {
	for _, fd := range []int{w.in, w.out} {
		if fd >= 0 && fd != w.from && fd != w.to {
			_ = unix.Close(fd)
		}
	}
	w.in, w.out = -1, -1
}

// enter opens a directory on both sides.
func (w *worker) enter(dir string) (err error) {
	if dir == w.dir {
		return nil
	}
	w.close()
	if w.dir = dir; dir == "." {
		w.in, w.out = w.from, w.to
		return nil
	}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH}
	if w.in, err = unix.Openat2(w.from, dir, &how); err == nil {
		w.out, err = unix.Openat2(w.to, dir, &how)
	}
	if err != nil {
		w.dir = "?"
	}
	return pathError("open", dir, err)
}

func (w *worker) copyEntry(i int) error {
	e := w.index.Entries[i]
	if err := w.enter(path.Dir(e.Path)); err != nil {
		return err
	}
	name := path.Base(e.Path)
	var st unix.Stat_t
	var err error
	switch e.Mode {
	case "100644":
		err = w.copyFile(e, name, 0o666, &st)
	case "100755":
		err = w.copyFile(e, name, 0o777, &st)
	case "120000":
		err = w.copyLink(e, name, &st)
	case "160000":
		err = unix.Fstatat(w.out, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	default:
		err = index.ErrUnreadable
	}
	w.stats[i] = index.StatOf(&st)
	return pathError("copy", e.Path, err)
}

// check fails with ErrDiffers unless a file is the one in the index.
func (w *worker) check(e index.Entry, st *unix.Stat_t) error {
	if !w.index.IsUnchanged(e, index.StatOf(st)) {
		return ErrDiffers
	}
	return nil
}

func (w *worker) copyFile(e index.Entry, name string, mode uint32, st *unix.Stat_t) error {
	in, err := unix.Openat(w.in, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(in)
	var was unix.Stat_t
	if err := errors.Join(unix.Fstat(in, &was), w.check(e, &was)); err != nil {
		return err
	}
	out, err := unix.Openat(w.out, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	if err != nil {
		return err
	}
	defer unix.Close(out)
	if err := w.fill(out, in, was.Size); err != nil {
		return err
	}
	times := []unix.Timespec{was.Mtim, was.Mtim}
	if err := unix.UtimesNanoAt(w.out, name, times, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	return unix.Fstat(out, st)
}

// fill gives an empty file the content of another one: by sharing blocks, by the kernel, or by reading and writing.
func (w *worker) fill(out, in int, size int64) error {
	if size == 0 {
		return nil
	}
	if !w.noClone.Load() {
		if unix.IoctlFileClone(out, in) == nil {
			return nil
		}
		w.noClone.Store(true)
	}
	var done int64
	for done < size {
		n, err := unix.CopyFileRange(in, nil, out, nil, int(size-done), 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			break
		}
		done += int64(n)
	}
	if done == size {
		return nil
	}
	return w.readAndWrite(out, in, done, size)
}

func (w *worker) readAndWrite(out, in int, done, size int64) error {
	if w.buffer == nil {
		w.buffer = make([]byte, 256<<10)
	}
	for done < size {
		n, err := unix.Pread(in, w.buffer[:min(int64(len(w.buffer)), size-done)], done)
		if err == nil && n == 0 {
			return ErrDiffers // it became shorter
		}
		for at := 0; err == nil && at < n; {
			var k int
			k, err = unix.Pwrite(out, w.buffer[at:n], done+int64(at))
			at += k
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		if err == nil {
			done += int64(n)
		}
	}
	return nil
}

func (w *worker) copyLink(e index.Entry, name string, st *unix.Stat_t) error {
	var was unix.Stat_t
	if err := errors.Join(unix.Fstatat(w.in, name, &was, unix.AT_SYMLINK_NOFOLLOW)); err != nil {
		return err
	}
	if err := w.check(e, &was); err != nil {
		return err
	}
	target := make([]byte, was.Size+1)
	n, err := unix.Readlinkat(w.in, name, target)
	if err != nil || int64(n) != was.Size {
		return errors.Join(ErrDiffers, err)
	}
	if err := unix.Symlinkat(string(target[:n]), w.out, name); err != nil {
		return err
	}
	times := []unix.Timespec{was.Mtim, was.Mtim}
	if err := unix.UtimesNanoAt(w.out, name, times, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	return unix.Fstatat(w.out, name, st, unix.AT_SYMLINK_NOFOLLOW)
}

// pathError adds a path to an error, if there is one.
func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", op, name, err)
}
