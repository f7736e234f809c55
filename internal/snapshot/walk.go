package snapshot

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/git/index"
)

// walk reads the state of every entry of a worktree once, several directories at a
// time.
type walk struct {
	s       *saver
	tracked map[string]bool // directories that hold tracked files
	as      []judgement     // by place in the index
	group   errgroup.Group

	mu sync.Mutex
	findings
}

// judgement is the result of comparing a tracked file with the index.
type judgement byte

const (
	unseen  judgement = iota
	asNoted           // it is as the index says
	suspect           // it may have changed
)

// findings are the results of a walk.
type findings struct {
	suspects  []string // tracked files that may have changed
	untracked []string // untracked entries that are not directories
	nested    []string // repositories in directories that hold tracked files
	empty     [][]byte
	modes     []Mode
	special   []Mode
	vanished  []string          // directories that vanished while they were read
	seen      []index.NamedStat // by path; filled only with Selection.Before
}

func (f *findings) add(g findings) {
	f.suspects = append(f.suspects, g.suspects...)
	f.untracked = append(f.untracked, g.untracked...)
	f.nested = append(f.nested, g.nested...)
	f.empty = append(f.empty, g.empty...)
	f.modes = append(f.modes, g.modes...)
	f.special = append(f.special, g.special...)
	f.seen = append(f.seen, g.seen...)
}

func (s *saver) newWalk() *walk {
	w := &walk{s: s, tracked: map[string]bool{".": true}, as: make([]judgement, len(s.index.Entries))}
	for _, e := range s.index.Entries {
		for d := filepath.Dir(e.Path); !w.tracked[d]; d = filepath.Dir(d) {
			w.tracked[d] = true
		}
	}
	w.group.SetLimit(max(runtime.GOMAXPROCS(0)-1, 1))
	return w
}

func (w *walk) run() error {
	if err := failpoint.Hit("snapshot.walk"); err != nil {
		return err
	}
	return errors.Join(w.walkDir("."), w.group.Wait())
}

// walkDir walks a directory, and the directories below it that no other goroutine is
// free to walk.
func (w *walk) walkDir(dir string) error {
	entries, err := index.ReadDir(filepath.Join(w.s.root, dir))
	if errors.Is(err, os.ErrNotExist) && dir != "." {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.vanished = append(w.vanished, dir)
		return nil
	}
	if err != nil {
		return err
	}
	var found findings
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.add(found)
	}()
	if dir != "." {
		if len(entries) == 0 {
			found.empty = append(found.empty, []byte(dir))
		}
		if w.tracked[dir] && slices.ContainsFunc(entries, func(d index.NamedStat) bool { return d.Name == ".git" }) {
			found.nested = append(found.nested, dir)
			return nil
		}
	}
	for _, d := range entries {
		path := d.Name
		if dir != "." {
			path = dir + string(filepath.Separator) + d.Name
		} else if path == ".git" {
			continue
		}
		w.judgeEntry(&found, path, d.FileStat)
		if !d.Mode.IsDir() || w.s.nested[path] {
			continue
		}
		if !w.group.TryGo(func() error { return w.walkDir(path) }) {
			if err := w.walkDir(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// judgeEntry compares one entry with the index, or notes it as untracked.
func (w *walk) judgeEntry(found *findings, path string, now index.FileStat) {
	perm := uint32(now.Mode.Perm())
	switch {
	case now.Mode.IsDir():
		if perm != 0o755 {
			found.modes = append(found.modes, Mode{[]byte(path), perm})
		}
		return
	case now.Mode.IsRegular():
		if perm != 0o644 && perm != 0o755 {
			found.modes = append(found.modes, Mode{[]byte(path), perm})
		}
	case now.Mode&fs.ModeNamedPipe != 0:
		found.special = append(found.special, Mode{[]byte(path), perm})
	}
	if w.s.sel.Before != "" {
		found.seen = append(found.seen, index.NamedStat{Name: path, FileStat: now})
	}
	i, tracked := w.s.plain[path]
	if !tracked {
		found.untracked = append(found.untracked, path)
		return
	}
	if w.s.index.IsUnchanged(w.s.index.Entries[i], now) {
		w.as[i] = asNoted
	} else {
		w.as[i] = suspect
		found.suspects = append(found.suspects, path)
	}
}

// noteToRead notes a tracked file that has to be read.
func (w *walk) noteToRead(path string, i int) {
	w.as[i] = suspect
	w.suspects = append(w.suspects, path)
}

// storeFound adds the findings of a walk to the snapshot, except those in nested
// repositories, which are stored whole. A directory comes before those below it.
func (s *saver) storeFound(w *walk) {
	for _, p := range slices.Sorted(maps.Keys(s.deleted)) {
		s.meta.Deleted = append(s.meta.Deleted, []byte(p))
	}
	s.vanished = w.vanished
	for _, dir := range w.nested {
		s.nested[dir] = true
	}
	inside := func(path []byte) bool {
		for d := filepath.Dir(string(path)); d != "." && len(s.nested) > 0; d = filepath.Dir(d) {
			if s.nested[d] {
				return true
			}
		}
		return false
	}
	s.noteSeen(w.seen)
	insideToo := func(m Mode) bool { return inside(m.Path) }
	byPath := func(a, b Mode) int { return bytes.Compare(a.Path, b.Path) }
	s.meta.Empty = slices.DeleteFunc(w.empty, inside)
	s.meta.Modes = slices.DeleteFunc(w.modes, insideToo)
	s.meta.Special = slices.DeleteFunc(w.special, insideToo)
	slices.SortFunc(s.meta.Empty, bytes.Compare)
	slices.SortFunc(s.meta.Modes, byPath)
	slices.SortFunc(s.meta.Special, byPath)
}
