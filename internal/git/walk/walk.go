// Package walk compares the files of a checkout with its index without git: in a fleet, a git
// process for each checkout costs more than all that it looks at.
//
// It has two answers. A checkout is clean, by the same evidence that git takes for it, or git has
// to be asked; there is no third. What was seen has a key, too: as long as a later walk has the
// same key, git's last answer still holds, so a caller may remember it ([Seen.Key],
// [Seen.IsSettledBefore]). [Again] finds out with less whether nothing has changed since a walk: it believes
// the times of directories, on file systems where they tell.
//
// The directory is an agent's. It is read below open directories, so no link is followed; nothing
// but a regular file is opened, and nothing waits. Names, sizes and the index are bounded. An agent
// that forges its index can hide its own edits from git's status, and from this one; it cannot make
// this one hide what git would show.
package walk

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/object"
)

// ErrAskGit says that a checkout has something that only git can judge, and that an answer of
// git's cannot be told apart by what a walk sees: submodules, conflicts, a directory that another
// repository is in, an index in a form of its own.
var ErrAskGit = errors.New("only git can tell")

// Bounds of what is walked. What is beyond them is git's.
const (
	maxIndex   = 128 << 20
	maxUnknown = 20_000 // names that the index does not have
	maxDepth   = 64     // of directories that it does not have
)

// Request says what to walk.
type Request struct {
	Work   string // the checkout, without links in its path
	Index  string // its index file
	Format object.Format
	// Ignored are paths that git was seen to ignore; those of directories end in a slash, and
	// are not entered. Nil: the walk ends at the first name that the index does not have.
	Ignored map[string]bool
	// Memory says whether what is seen will be remembered.
	Memory Memory
	// Enter, if not nil, is called with each open directory before its names are read: first with the checkout, then by
	// several goroutines at once.
	Enter func(dir int)
	// Grain is how many tracked files one goroutine walks at least; 0: as many as pay.
	Grain int
}

// Memory says whether what a walk sees will be remembered.
type Memory string

// Whether it will.
const (
	Remembered Memory = ""
	// Forgotten: the walk has no trace and is never settled, and costs less.
	Forgotten Memory = "forgotten"
)

// Seen is what a walk saw.
type Seen struct {
	Changed []Suspect // tracked files that their stat data does not prove to be as staged
	Unknown []string  // paths that the index does not have, but for those that are ignored
	// IsWhole says that the walk came to its end. If not, there is a name that the index does not
	// have, and no key.
	IsWhole bool
	// HasIgnored says that names were left out because the request has them as ignored. They are, as long as
	// the rules are what they were.
	HasIgnored bool
	// HasShared says that one of the files has another name, by which it may be written.
	HasShared bool

	index  *index.Flat
	data   []byte // of the index file
	sum    []byte // of that, with its time, once it was needed
	work   string
	notes  []byte // what the key is made of, with the digest of the index
	names  Names
	newest index.FileStat // of files and directories, the one that changed last; of a walk that is remembered

	// For a trace: the stat data of directories and of the files that the index does not have, and whether
	// the times of directories tell.
	memory  Memory
	dirs    map[string]index.FileStat
	files   []index.FileStat
	isDated bool
	isTimed bool // every write changes the times of its file
}

// Suspect is a tracked file that may have changed.
type Suspect struct {
	Entry index.Entry
	Now   index.FileStat
	Gone  bool
}

// Key returns a digest of all that git's status of the checkout depends on, with words for what
// the walk does not see: HEAD, the configuration.
func (s *Seen) Key(more ...string) [32]byte { return keyOf(append(s.digest(), s.notes...), more) }

// digest digests the index. The result may be appended to.
func (s *Seen) digest() []byte {
	if s.sum == nil {
		s.sum = digestOf(s.data, s.index.Written)
	}
	return slices.Clip(s.sum)
}

// IsSettledBefore reports whether nothing that the walk saw has changed since some time before a
// moment, so that what git answered after it is about the same state, and any change after
// the moment gives another key.
func (s *Seen) IsSettledBefore(at time.Time) bool {
	return s.memory == Remembered && s.newest.IsSince(at) && s.canHold()
}

// canHold reports whether git's answer can be known again by times. Where a write need not change
// them, git reads the files that they prove nothing of each time.
func (s *Seen) canHold() bool { return s.isTimed || len(s.Changed) == 0 }

// IsTree reports whether the staged files are those of a tree.
func (s *Seen) IsTree(oid string, format object.Format) bool {
	return oid != "" && s.Tree(format) == oid
}

// Tree returns the tree of the staged files.
func (s *Seen) Tree(format object.Format) string { return s.index.Tree(format) }

// readIndex reads the index, and refuses what this package does not understand.
func readIndex(req Request) (*index.Flat, []byte, error) {
	data, info, err := index.ReadFileUpTo(req.Index, maxIndex)
	if err != nil {
		return nil, nil, err
	}
	x, err := index.ParseFlat(data, req.Format.NewHash())
	if err != nil {
		return nil, nil, err
	}
	if !x.IsPlain() {
		return nil, nil, ErrAskGit
	}
	x.Written = info.ModTime()
	return x, data, nil
}

// child is a name in a tracked directory: of a file, or of a directory, with the entries below it.
type child struct {
	name     string
	from, to int // of the entries
	isDir    bool
	isListed bool // the directory has the name
}

// appendChildren appends the names of some entries behind a prefix, sorted.
func appendChildren(list []child, x *index.Flat, from, to, prefix int) []child {
	begin, isSorted := len(list), true
	for from < to {
		path := x.Path(from)
		name, _, isDir := strings.Cut(path[prefix:], "/")
		next := from + 1
		if isDir {
			next = x.Below(from, to, path[:prefix+len(name)+1])
		}
		isSorted = isSorted && (len(list) == begin || list[len(list)-1].name < name)
		list = append(list, child{name: name, from: from, to: next, isDir: isDir})
		from = next
	}
	if !isSorted { // an index has a/b behind a.c
		slices.SortFunc(list[begin:], func(a, b child) int { return strings.Compare(a.name, b.name) })
	}
	return list
}
