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
	"crypto/sha256"
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
	// Enter, if not nil, is called with each open directory before its names are read.
	Enter func(dir int)
}

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

	index  *index.Index
	work   string
	key    []byte
	digest []byte // of the index
	names  Names
	newest index.FileStat // of files and directories, the one that changed last

	// For a trace: the stat data of directories and of the files that the index does not have, and whether
	// the times of directories tell.
	dirs    map[string]index.FileStat
	files   []index.FileStat
	isDated bool
}

// Suspect is a tracked file that may have changed.
type Suspect struct {
	Entry index.Entry
	Now   index.FileStat
	Gone  bool
}

// Key returns a digest of all that git's status of the checkout depends on, with words for what
// the walk does not see: HEAD, the configuration.
func (s *Seen) Key(more ...string) [32]byte { return keyOf(s.key, more) }

// IsSettledBefore reports whether nothing that the walk saw has changed since some time before a
// moment, so that what git answered after it is about the same state, and any change after
// the moment gives another key.
func (s *Seen) IsSettledBefore(at time.Time) bool { return s.newest.IsSince(at) }

// IsTree reports whether the staged files are those of a tree.
func (s *Seen) IsTree(oid string, format object.Format) bool {
	return oid != "" && s.Tree(format) == oid
}

// Tree returns the tree of the staged files, or "".
func (s *Seen) Tree(format object.Format) string {
	root, err := s.index.Trees(format)
	if err != nil {
		return ""
	}
	return hexOf(root.OID)
}

// Staged returns a digest of the staged files: checkouts that have the same have the same tree.
func (s *Seen) Staged() [32]byte {
	var all []byte
	for _, e := range s.index.Entries {
		all = append(append(append(append(append(all, e.Mode...), ' '), e.OID...), e.Path...), 0)
	}
	return sha256.Sum256(all)
}

// readIndex reads the index, and refuses what this package does not understand.
func readIndex(req Request) (*index.Index, []byte, error) {
	data, info, err := index.ReadFileUpTo(req.Index, maxIndex)
	if err != nil {
		return nil, nil, err
	}
	x, err := index.Parse(data, req.Format.NewHash())
	if err != nil {
		return nil, nil, err
	}
	x.Written = info.ModTime()
	if len(x.Faults) > 0 || x.Unreadable != "" {
		return nil, nil, ErrAskGit
	}
	for _, e := range x.Entries {
		if e.Stage != 0 || e.Intended || e.Mode == "160000" {
			return nil, nil, ErrAskGit
		}
	}
	return x, digestOf(data, x.Written), nil
}

// child is an entry of a tracked directory: a file, or a directory with the entries below it.
type child struct {
	name  string
	file  *index.Entry
	below []index.Entry
}

// childrenOf groups sorted entries by their names behind a prefix, and sorts them by name.
func childrenOf(entries []index.Entry, prefix int) []child {
	var list []child
	for i := 0; i < len(entries); {
		name, _, deeper := strings.Cut(entries[i].Path[prefix:], "/")
		if !deeper {
			list = append(list, child{name: name, file: &entries[i]})
			i++
			continue
		}
		n, dir := i+1, entries[i].Path[:prefix+len(name)+1]
		for n < len(entries) && strings.HasPrefix(entries[n].Path, dir) {
			n++
		}
		list = append(list, child{name: name, below: entries[i:n]})
		i = n
	}
	slices.SortFunc(list, func(a, b child) int { return strings.Compare(a.name, b.name) })
	return list
}
