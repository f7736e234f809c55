// Package index owns git's index file as bytes: how it is read, compared with the
// files on disk, reduced and written. It starts no process and takes no lock: who
// replaces an index holds index.lock (decision 0033). It touches the file that it
// is given, and looks at files of a checkout without opening them.
//
// A snapshot and a status read it here because git's own answer is half the price
// of a snapshot and says less than one needs (decision 0015), and because a
// process for each of thousands of workspaces costs more than its index. What only
// git can read, such as an index that is split, is [ErrUnreadable], and git is asked
// to rewrite a copy.
//
// What holds here: an agent writes its index, so that no length in it is believed
// and no path of it leads out of the checkout ([Index.Misplaced]); a file counts as
// unchanged only if all that the file system notes of it is what git noted, and the
// index is younger ([Index.Unchanged]); a copy is as old as its original.
package index

import (
	"errors"
	"fmt"
	"time"
)

// ErrUnreadable says that an index is of a form that only git can read.
var ErrUnreadable = errors.New("not an index that can be read here")

// Index is what is staged in a worktree.
type Index struct {
	Entries []Entry
	// Tree is the tree that the entries describe, if git noted it and nothing
	// was staged since.
	Tree string

	// Written is when the file was written. What it notes of files is believed by
	// how old they were then.
	Written time.Time
}

// Entry is one path in an index.
type Entry struct {
	Path     string
	Mode     string // "100644", "100755", "120000" or "160000"
	OID      string
	Stage    int  // 1 to 3 for the sides of a conflict
	Hidden   bool // git does not look at the file on disk
	Sparse   bool // as one that need not be there
	Intended bool // it is going to be added

	// stat is what git noted of the file when it last was what is staged: the
	// seconds and nanoseconds of ctime and mtime, device, inode, mode, user,
	// group and size.
	stat [10]uint32
}

const gitlinkMode = 0o160000

// modeText is a mode as git writes it. There are four.
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
