// Package index owns git's index file as bytes: how it is read, compared with the files on
// disk, reduced and written. It starts no process and takes no lock: the caller that
// replaces an index holds index.lock (decision 0033). It reads and writes the file that it
// is given, and stats files of a checkout without opening them.
//
// A snapshot and a status read the index here because git's own status is half the price
// of a snapshot and reports less than one needs (decision 0015), and because a process for
// each of thousands of workspaces costs more than its index. An index that only git can
// read, such as a split one, is [ErrUnreadable], and git is asked to rewrite a copy.
//
// An agent writes its index, so no length in it is trusted, and an entry that git would not
// make, such as one whose path leads out of the checkout, is left out when the index is
// read ([Index.Faults]): no other code has to expect one. A file counts as unchanged only if all its stat data
// is that of the entry, and the index is younger ([Index.Unchanged]); a copy has the mtime
// of its original.
package index

import (
	"errors"
	"fmt"
	"time"
)

// ErrUnreadable says that an index has a form that only git can read.
var ErrUnreadable = errors.New("not an index that can be read here")

// Index is the content of an index file.
type Index struct {
	Entries []Entry // those that git would make, sorted by path and stage
	Faults  []Fault // the others; what was out of order is in both

	// Unreadable is why the index could not be read; these are the entries of a commit in
	// its place.
	Unreadable string

	// Tree is the tree that a valid cache tree of the index names, or "". An agent may have
	// written it: it need not be the tree of the entries.
	Tree string

	// Written is the mtime of the file. Git trusts cached stat data by it.
	Written time.Time
}

// Entry is one path in an index.
type Entry struct {
	Path     string
	Mode     string // "100644", "100755", "120000" or "160000"
	OID      string
	Stage    int  // 1 to 3 for the sides of a conflict
	Hidden   bool // git does not compare the file on disk
	Sparse   bool // the file need not exist: skip-worktree
	Intended bool // intent-to-add

	// stat is the stat data of the file when it last had the staged content: seconds and
	// nanoseconds of ctime and mtime, device, inode, mode, user, group and size.
	stat [10]uint32
}

const gitlinkMode = 0o160000

// modeText returns a mode as git writes it. There are four.
func modeText(mode uint32) string {
	switch mode {
	case 0o100644:
		return "100644"
	case 0o100755:
		return "100755"
	case 0o120000:
		return "120000"
	case gitlinkMode:
		return "160000"
	}
	return fmt.Sprintf("%o", mode)
}

// ObjectsBeside lists the objects that the index names, each once, without those in known
// and without the commits of submodules.
func (x *Index) ObjectsBeside(known map[string]bool) []string {
	var list []string
	seen := map[string]bool{}
	for _, e := range x.Entries {
		if e.Mode != "160000" && !known[e.OID] && !seen[e.OID] {
			seen[e.OID] = true
			list = append(list, e.OID)
		}
	}
	return list
}
