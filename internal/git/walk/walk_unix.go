//go:build unix

package walk

import (
	"cmp"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"sync/atomic"

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
	x, data, err := readIndex(req)
	if err != nil {
		return nil, err
	}
	top, err := fsx.OpenDir(req.Work)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	fd := int(top.File().Fd())
	seen := &Seen{index: x, data: data, work: req.Work, memory: req.Memory, dirs: map[string]index.FileStat{}, isDated: fsx.KeepsTimes(fd), isTimed: datesWrites(fd)}
	w := &walker{req: req, x: x, seen: seen, unknown: new(atomic.Int64), buf: make([]byte, 8<<10), grain: cmp.Or(req.Grain, grainOf(x.Len())), isOver: new(atomic.Bool)}
	err = w.dir(fd, "", child{to: x.Len()}, 0)
	if errors.Is(err, errEnough) {
		return w.seen, nil
	}
	w.seen.IsWhole = err == nil
	return w.seen, err
}

type walker struct {
	req     Request
	x       *index.Flat
	seen    *Seen
	unknown *atomic.Int64 // how many names the index does not have, as far as it was walked
	device  uint64
	buf     []byte
	known   []child // of the directories that are open
	grain   int     // how many entries one goroutine walks at least
	isOver  *atomic.Bool
}

// note adds a path to the key.
func (w *walker) note(kind byte, path string) {
	w.seen.notes = append(append(append(w.seen.notes, kind), path...), 0)
}

// ignored notes a path that is left out.
func (w *walker) ignored(path string) {
	w.note(ofIgnored, path)
	w.seen.HasIgnored = true
}

// age notes when something last changed.
func (w *walker) age(st index.FileStat) {
	if w.req.Memory == Forgotten {
		return
	}
	if n := &w.seen.newest; n.Changed().Before(st.Changed()) {
		*n = st
	}
	w.seen.HasShared = w.seen.HasShared || st.IsShared
}

// dir compares an open directory with the entries below it; depth is how many directories above
// it the index does not have.
func (w *walker) dir(fd int, prefix string, below child, depth int) error {
	if w.isOver.Load() {
		return errEnough
	}
	if w.req.Enter != nil {
		w.req.Enter(fd)
	}
	if err := w.dated(fd, prefix); err != nil {
		return err
	}
	begin := len(w.known)
	w.known = appendChildren(w.known, w.x, below.from, below.to, len(prefix))
	end := len(w.known)
	defer func() { w.known = w.known[:begin] }()
	unknown, err := w.list(fd, w.known[begin:end])
	if err != nil {
		return err
	}
	return w.names(fd, prefix, w.known[begin:end:end], unknown, depth)
}

// names compares names of an open directory: some that the index has, and those between them that it does not have. The
// list of those that it has may be a part of a longer one, which is not changed.
func (w *walker) names(fd int, prefix string, known []child, unknown []string, depth int) error {
	if half := w.half(known); half > 0 {
		return w.inHalves(fd, prefix, known, unknown, depth, half)
	}
	for len(known) > 0 || len(unknown) > 0 {
		var err error
		if len(unknown) > 0 && (len(known) == 0 || unknown[0] < known[0].name) {
			err = w.unknownName(fd, prefix, unknown[0], depth)
			unknown = unknown[1:]
		} else {
			err = w.knownName(fd, prefix, known[0])
			known = known[1:]
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dated notes the times of an open directory. One of another file system tells nothing.
func (w *walker) dated(fd int, prefix string) error {
	if w.req.Memory == Forgotten {
		return nil
	}
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
	for i := c.from; i < c.to; i++ {
		w.note(ofGone, w.x.Path(i))
		w.seen.Changed = append(w.seen.Changed, Suspect{Entry: w.x.Entry(i), Gone: true})
	}
}

// knownName compares a name that the index has.
func (w *walker) knownName(fd int, prefix string, c child) error {
	switch {
	case !c.isListed:
		w.gone(c)
		return nil
	case c.isDir:
		return w.enter(fd, prefix+c.name+"/", c, 0)
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
	if w.x.At(c.from).IsAsStaged(now, w.x.Written) {
		return nil
	}
	w.note(ofTracked, w.x.Path(c.from))
	w.seen.notes = now.AppendTo(w.seen.notes)
	w.seen.Changed = append(w.seen.Changed, Suspect{Entry: w.x.Entry(c.from), Now: now})
	return nil
}

// enter walks a directory below an open one. Where the index has a directory, nothing else may
// stand.
func (w *walker) enter(fd int, prefix string, c child, depth int) error {
	var sub int
	for {
		var err error
		sub, err = unix.Openat(fd, c.name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return errors.Join(ErrAskGit, err)
		}
		break
	}
	defer unix.Close(sub)
	return w.dir(sub, prefix, c, depth)
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
	count := w.unknown.Add(1)
	if w.req.Ignored == nil {
		w.seen.Unknown = append(w.seen.Unknown, path)
		return errEnough
	}
	if count > maxUnknown || depth > maxDepth {
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
		return w.enter(fd, path+"/", child{name: name, isDir: true}, depth+1)
	}
	w.seen.names.Files, w.seen.files = append(w.seen.names.Files, path), append(w.seen.files, now)
	w.seen.notes = now.AppendTo(w.seen.notes)
	return nil
}

// list lists an open directory. It marks the names that the index has, and returns the others, sorted.
func (w *walker) list(fd int, known []child) (unknown []string, err error) {
	count := 0
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
		for name := range namesIn(w.buf[:n]) {
			if count++; count > w.x.Len()+maxUnknown {
				return nil, ErrAskGit
			}
			if i := find(known, name); i >= 0 {
				known[i].isListed = true
			} else {
				unknown = append(unknown, string(name))
			}
		}
	}
	slices.Sort(unknown)
	return unknown, nil
}

// find returns where a name is among sorted ones, or -1.
func find(known []child, name []byte) int {
	from, to := 0, len(known)
	for from < to {
		if mid := (from + to) / 2; known[mid].name < string(name) {
			from = mid + 1
		} else {
			to = mid
		}
	}
	if from < len(known) && known[from].name == string(name) {
		return from
	}
	return -1
}
