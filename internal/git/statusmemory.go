package git

import (
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/git/walk"
)

// statusMemory has what git said of checkouts, and the keys of what it was said of. It is a file in
// the state directory, where no agent can write. If it is lost, git is asked again.
type statusMemory struct {
	file  string                         // empty: nothing is written
	known func() map[string]statusAnswer // by git directory; read when it is first needed
	mu    sync.Mutex
	added map[string]statusAnswer
}

// statusAnswer is what git said of a checkout.
type statusAnswer struct {
	Key     string            `json:"key"`
	Entries []odb.StatusEntry `json:"entries,omitempty"`
	Ignored []string          `json:"ignored,omitempty"`

	// Names and Trace tell without a walk that nothing has changed; empty where that takes a walk.
	Names walk.Names `json:"names,omitzero"`
	Trace string     `json:"trace,omitempty"`
}

// Bounds of what is remembered.
const (
	maxAnswer     = 2_000    // paths of one checkout
	maxRemembered = 20_000   // checkouts
	maxMemoryFile = 64 << 20 // bytes
)

func (a statusAnswer) ignoredSet() map[string]bool {
	set := make(map[string]bool, len(a.Ignored))
	for _, path := range a.Ignored {
		set[path] = true
	}
	return set
}

func (r *Repository) statusMemoryFile() string { return filepath.Join(r.Dir, "statuses.json") }

// readStatusMemory returns what the file has. One that cannot be read has nothing.
func (r *Repository) readStatusMemory() *statusMemory {
	file := r.statusMemoryFile()
	m := &statusMemory{file: file, added: map[string]statusAnswer{}}
	m.known = sync.OnceValue(func() map[string]statusAnswer { return readStatusAnswers(file) })
	if r.Core().Scratch != "" {
		m.file = "" // the state can only be read
	}
	return m
}

func readStatusAnswers(file string) map[string]statusAnswer {
	known := map[string]statusAnswer{}
	b, err := fsx.ReadFile(file, maxMemoryFile)
	if err == nil && json.Unmarshal(b, &known) != nil {
		known = map[string]statusAnswer{}
	}
	return known
}

// write adds what is new to the file, as it is now: other processes write it, too. An error is
// none: git is asked again.
func (m *statusMemory) write() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.added) == 0 || m.file == "" {
		return
	}
	all := readStatusAnswers(m.file)
	maps.Copy(all, m.added)
	if len(all) > maxRemembered/2 {
		maps.DeleteFunc(all, func(gitDir string, _ statusAnswer) bool { _, err := os.Lstat(gitDir); return err != nil })
	}
	if len(all) > maxRemembered {
		all = m.added
	}
	b, err := json.Marshal(all)
	if err == nil && len(b) >= maxMemoryFile { // begin anew
		b, err = json.Marshal(m.added)
	}
	if err == nil && len(b) < maxMemoryFile {
		_ = fsx.ReplaceFile(m.file, b, 0o600)
	}
	clear(m.added)
}

// recall returns what git last said of a checkout.
func (s *Statuses) recall(w *Worktree, untracked Untracked) (statusAnswer, bool) {
	if s.known == nil || untracked != UntrackedAll {
		return statusAnswer{}, false
	}
	s.known.mu.Lock()
	defer s.known.mu.Unlock()
	was, ok := s.known.known()[w.Admin]
	return was, ok
}

// remember notes an answer, if what it is about had not changed for a while at a moment before
// git, or this process, read it. It returns the answer, with its key if it is noted.
func (s *Statuses) remember(w *Worktree, untracked Untracked, seen *walk.Seen, head string, since time.Time, answer statusAnswer) statusAnswer {
	isLong := len(answer.Entries)+len(answer.Ignored) > maxAnswer
	if s.known == nil || untracked != UntrackedAll || isLong || !seen.IsWhole || !seen.IsSettledBefore(since) {
		return answer
	}
	answer.Key = s.keyOf(seen.Key, w, head)
	answer.Names, answer.Trace = s.traceOf(w, seen, head, since)
	s.note(w, answer)
	return answer
}

// retrace notes how a checkout is told to be as an answer of git's says, if a walk found that it is. It returns the answer with
// that.
func (s *Statuses) retrace(w *Worktree, seen *walk.Seen, head string, since time.Time, was statusAnswer) statusAnswer {
	names, trace := s.traceOf(w, seen, head, since)
	if s.known != nil && trace != "" && trace != was.Trace {
		was.Names, was.Trace = names, trace
		s.note(w, was)
	}
	return was
}

func (s *Statuses) note(w *Worktree, answer statusAnswer) {
	s.known.mu.Lock()
	defer s.known.mu.Unlock()
	s.known.known()[w.Admin], s.known.added[w.Admin] = answer, answer
}

// traceOf returns what tells later, without a walk, that a checkout is as a walk saw it; nothing if that
// cannot be told, or if something has changed since.
func (s *Statuses) traceOf(w *Worktree, seen *walk.Seen, head string, since time.Time) (walk.Names, string) {
	trace, names := seen.Trace()
	if trace == nil || len(names.Dirs)+len(names.Files) > maxAnswer || !trace.IsSettledBefore(since) {
		return walk.Names{}, ""
	}
	return names, s.keyOf(trace.Key, w, head)
}

// isAsRemembered reports whether nothing has changed in a checkout since an answer was remembered, without a
// walk.
func (s *Statuses) isAsRemembered(w *Worktree, was statusAnswer, head string) bool {
	if was.Trace == "" {
		return false
	}
	trace, err := walk.Again(s.requestOf(w), was.Names)
	return err == nil && was.Trace == s.keyOf(trace.Key, w, head)
}

// requestOf returns the request to walk a checkout of which nothing is known.
func (s *Statuses) requestOf(w *Worktree) walk.Request {
	req := walk.Request{Work: w.Path, Index: filepath.Join(w.Admin, "index"), Format: s.repo.ObjectFormat(), Memory: walk.Forgotten}
	if s.known != nil {
		req.Memory = walk.Remembered
	}
	return req
}

// keyOf returns the key of a checkout: all that git's answer depends on.
func (s *Statuses) keyOf(found func(...string) [32]byte, w *Worktree, head string) string {
	key := found("1", s.rules.Digest, head, w.Path)
	return hex.EncodeToString(key[:])
}
