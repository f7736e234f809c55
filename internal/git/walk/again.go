package walk

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/git/index"
)

// ErrChanged says that a checkout has another index than an earlier walk read.
var ErrChanged = errors.New("the index has changed")

// Names are what a walk found that the index does not say. A directory in which nothing was made, removed
// or renamed since has the same names.
type Names struct {
	Index string   `json:"index,omitempty"` // a digest of the index and its time
	Dirs  []string `json:"dirs,omitempty"`  // directories that the index does not have, and git may look into
	Files []string `json:"files,omitempty"` // files that it does not have, but for those that are ignored
}

// Trace is what the stat data of a checkout are. It changes with whatever changes git's status of the checkout.
type Trace struct {
	stats  []byte
	newest index.FileStat
}

// Key returns a digest of it, with words for what it is not of: HEAD, the configuration.
func (t *Trace) Key(more ...string) [32]byte { return keyOf(t.stats, more) }

// IsSettledBefore is [Seen.IsSettledBefore].
func (t *Trace) IsSettledBefore(at time.Time) bool { return t.newest.IsSince(at) }

// note adds stat data to the trace.
func (t *Trace) note(st index.FileStat) {
	t.age(st)
	t.stats = st.AppendTo(t.stats)
}

func (t *Trace) age(st index.FileStat) {
	if t.newest.Changed().Before(st.Changed()) {
		t.newest = st
	}
}

func (t *Trace) gone(name string) { t.stats = append(append(append(t.stats, ofGone), name...), 0) }

func (t *Trace) changed(name string, now index.FileStat) {
	t.stats = append(append(append(t.stats, ofTracked), name...), 0)
	t.note(now)
}

// Trace returns what [Again] finds as long as nothing changes, and what that needs to know, of a walk that
// came to its end; nil if Again would fail.
func (s *Seen) Trace() (*Trace, Names) {
	if !s.isDated || s.memory == Forgotten || !s.canHold() {
		return nil, Names{}
	}
	t := &Trace{stats: s.digest(), newest: s.newest}
	t.note(s.dirs[""])
	changed, last := s.Changed, ""
	byPath := map[string]Suspect{}
	for _, c := range changed {
		byPath[c.Entry.Path] = c
	}
	for i := range s.index.Len() {
		name := s.index.Path(i)
		for dir := range dirsAfter(last, name) {
			st, ok := s.dirs[dir]
			if !ok {
				return nil, Names{} // it is gone
			}
			t.note(st)
		}
		last = name
		switch c, is := byPath[name]; {
		case is && c.Gone:
			t.gone(name)
		case is:
			t.changed(name, c.Now)
		}
	}
	for _, dir := range s.names.Dirs {
		t.note(s.dirs[dir])
	}
	for _, st := range s.files {
		t.note(st)
	}
	names := s.names
	names.Index = nameOf(s.digest())
	return t, names
}

// dirsAfter yields the directories of a path that are not those of the path before it. In the order of an index
// the entries of a directory follow one another, so that each directory is met once.
func dirsAfter(last, path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		shared := 0 // of the directories
		for i := 0; i < len(last) && i < len(path) && last[i] == path[i]; i++ {
			if path[i] == '/' {
				shared = i + 1
			}
		}
		for {
			at := strings.IndexByte(path[shared:], '/')
			if at < 0 || !yield(path[:shared+at]) {
				return
			}
			shared += at + 1
		}
	}
}

// The kinds of what the key is made of.
const (
	ofTracked = 't'
	ofGone    = 'g'
	ofUnknown = 'u'
	ofIgnored = 'i'
)

func keyOf(of []byte, words []string) [32]byte {
	sum := sha256.New()
	for _, word := range words {
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(word))))
		sum.Write([]byte(word))
	}
	sum.Write(of)
	return [32]byte(sum.Sum(nil))
}

// digestOf digests an index file, which counts with its time.
func digestOf(data []byte, written time.Time) []byte {
	sum := sha256.Sum256(data)
	return binary.BigEndian.AppendUint64(sum[:], uint64(written.UnixNano()))
}

func nameOf(digest []byte) string { return hex.EncodeToString(digest) }
