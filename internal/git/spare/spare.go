// Package spare makes checkouts for later: a directory with the files of a commit, and an index for them. A spare has
// no branch, no registration and no .git, and lies where no agent works; git comes to know it when it is handed out as a
// worktree ([worktree.Ready]).
//
// A spare is written by git itself ([Tree.Fill], [Tree.MoveTo]) or copied from another spare ([Tree.CopyTo]). Both give
// what "git worktree add" gives: the same bytes and modes, and an index after which the first status opens no file. That
// index is written once the clock is past the times of the files: git compares the content of those that are as
// young as the index.
package spare

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// ErrDiffers says that the files of a spare are not those of its commit. They never are where any fresh checkout differs
// from its commit, as by line endings.
var ErrDiffers = errors.New("the files are not those of the commit")

// Tree is a spare checkout.
type Tree struct {
	Repo     *worktree.Repository
	Path     string       // the directory of the files
	Index    string       // the index, in a directory of Croft's own
	Identity fsx.Identity // of the directory

	// Inherit is passed to every process that writes here, so that a kernel lock on one of these files is held until
	// the last process has ended.
	Inherit []*os.File

	since  time.Time // when git began to write files
	before []byte    // the index before MoveTo
}

// Fill writes the files of a commit into the directory, which is empty. It fails with ErrDiffers if the objects that git
// has read are not the commit's.
func (t *Tree) Fill(ctx context.Context, commit string, workers int) error {
	return t.readTree(ctx, workers, commit, "--reset", "-u", commit)
}

// readTree runs "git read-tree", and compares the index that it wrote with the commit: git does not check that the content
// of an object matches its name, and an agent may write objects. So the commit is hashed, and the trees that the
// entries make are.
func (t *Tree) readTree(ctx context.Context, workers int, commit string, args ...string) error {
	t.since = time.Now()
	if _, err := t.git(ctx, workers, append([]string{"read-tree"}, args...)...); err != nil {
		return err
	}
	tree, err := t.treeOf(ctx, commit)
	if err != nil {
		return err
	}
	staged, err := t.stagedTree()
	if err == nil && staged != tree {
		err = fmt.Errorf("%w: the index is not its tree", ErrDiffers)
	}
	return err
}

// stagedTree computes the tree that the entries of the index make.
func (t *Tree) stagedTree() (string, error) {
	format := t.Repo.ObjectFormat()
	if flat, _, err := t.readFlat(); err == nil && flat.IsPlain() {
		return flat.Tree(format), nil
	}
	x, _, err := t.readIndex() // with submodules
	if err != nil {
		return "", err
	}
	root, err := x.Trees(format)
	return hex.EncodeToString(root.OID), err
}

// treeOf returns the tree of a commit, whose content matches its name.
func (t *Tree) treeOf(ctx context.Context, commit string) (string, error) {
	objects, err := t.Repo.OpenObjects()
	if err != nil {
		return "", err
	}
	defer objects.Close()
	o, err := objects.Verify(ctx, commit, object.KeepContents)
	if err != nil {
		return "", err
	}
	c, err := object.ParseCommit(o)
	return c.Tree, err
}

// ErrAttributes says that files which two commits have in common may be written differently for them.
var ErrAttributes = errors.New("the attributes of files differ")

// MoveTo makes the files of one commit those of another one. It writes only what differs, and fails with ErrAttributes
// if that may not be enough.
func (t *Tree) MoveTo(ctx context.Context, from, to string, workers int) error {
	changes, err := t.Repo.Diff(ctx, from, to)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if path.Base(c.Path) == ".gitattributes" {
			return ErrAttributes
		}
	}
	if t.before, _, err = index.ReadFile(t.Index); err != nil {
		return err
	}
	return t.readTree(ctx, workers, to, "-m", "-u", from, to)
}

// wait returns how long it takes until an index that is written is provably younger than files that were written before a
// time: git compares whole seconds, and [index.Index.IsUnchanged] wants some more.
func (t *Tree) wait(written, now time.Time) time.Duration {
	const more = 100 * time.Millisecond
	if info, err := os.Lstat(t.Path); err != nil || info.ModTime().Nanosecond() == 0 { // this file system keeps whole seconds
		return fsx.CoarseGrain + more - now.Sub(written)
	}
	return written.Truncate(time.Second).Add(time.Second + more).Sub(now)
}

// Settle compares the files, which were written before a time, with the index, waits until the clock is past their times,
// and writes the index again. Files that git has written are hashed. It fails with ErrDiffers if a file is not as it
// should be, or is not of the commit.
func (t *Tree) Settle(ctx context.Context, written time.Time) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(t.wait(written, time.Now())):
	}
	if err := t.Compare(ctx); err != nil {
		return err
	}
	return fsx.SyncAll(t.Index, filepath.Dir(t.Index))
}

// Compare compares the files with the index, and hashes those that git has written: another process may have put other objects
// in their places meanwhile.
func (t *Tree) Compare(ctx context.Context) error {
	if !t.since.IsZero() { // git hashes the files that are not older than the index
		before := t.since.Add(-fsx.CoarseGrain)
		if err := os.Chtimes(t.Index, before, before); err != nil {
			return err
		}
	}
	if _, err := t.git(ctx, 1, "update-index", "-q", "--really-refresh", "--force-write-index"); err != nil {
		return err
	}
	changed, err := t.git(ctx, 1, "diff-files", "--name-only", "-z")
	if err != nil {
		return err
	}
	others, err := t.git(ctx, 1, "ls-files", "--others", "-z")
	if err != nil {
		return err
	}
	if names := gitdir.SplitNUL(append(changed, others...)); len(names) > 0 {
		return fmt.Errorf("%w: %q", ErrDiffers, names[:min(len(names), 3)])
	}
	return nil
}

// git runs git on the files and the index.
func (t *Tree) git(ctx context.Context, workers int, args ...string) ([]byte, error) {
	return t.Repo.Git.Run(ctx, gitcmd.Target{
		Repo: t.Repo.Core(), Work: t.Path, Identities: func() []fsx.Identity { return []fsx.Identity{t.Identity} },
	}, gitcmd.Call{
		Args: args, Env: []string{"GIT_INDEX_FILE=" + t.Index}, Locks: true, Network: true, Inherit: t.Inherit,
		Config: [][2]string{
			{"checkout.workers", strconv.Itoa(max(workers, 1))},
			// What else an index may have depends on the directory, which gets another path.
			{"core.splitIndex", "false"},
			{"core.untrackedCache", "false"},
			{"index.sparse", "false"},
		},
	})
}

// Sample is a file or a directory of a spare, as it was when the spare was made.
type Sample struct {
	Path  string `json:"path"`
	Stamp string `json:"stamp"` // changes with the file
}

// samples is how many files are looked at before a spare is handed out.
const samples = 32

// Samples returns some files of the spare, spread over all, and their directories. It also returns how many files and
// bytes the spare has.
func (t *Tree) Samples() (list []Sample, files, bytes int64, err error) {
	x, _, err := t.readIndex()
	if err != nil {
		return nil, 0, 0, err
	}
	step := max(1, len(x.Entries)/samples)
	for i, e := range x.Entries {
		bytes += e.StatSize()
		if i%step != 0 {
			continue
		}
		st, err := index.Lstat(filepath.Join(t.Path, filepath.FromSlash(e.Path)))
		if err != nil {
			return nil, 0, 0, err
		}
		list = append(list, Sample{e.Path, st.Stamp()})
	}
	dirs := map[string]bool{".": true} // a new name changes its directory
	for _, s := range list {
		dirs[path.Dir(s.Path)] = true
	}
	for dir := range dirs {
		st, err := index.Lstat(filepath.Join(t.Path, filepath.FromSlash(dir)))
		if err != nil {
			return nil, 0, 0, err
		}
		list = append(list, Sample{dir, st.Stamp()})
	}
	return list, int64(len(x.Entries)), bytes, nil
}

// HasSamples reports whether files are as they were: whoever deletes old files, as some programs do, deletes or
// empties many.
func (t *Tree) HasSamples(list []Sample) bool {
	for _, s := range list {
		st, err := index.Lstat(filepath.Join(t.Path, filepath.FromSlash(s.Path)))
		if err != nil || st.Stamp() != s.Stamp {
			return false
		}
	}
	return true
}

func (t *Tree) readIndex() (*index.Index, []byte, error) {
	data, info, err := index.ReadFile(t.Index)
	if err != nil {
		return nil, nil, err
	}
	x, err := index.Parse(data, t.Repo.ObjectFormat().NewHash())
	if err != nil {
		return nil, nil, err
	}
	if len(x.Faults) > 0 {
		return nil, nil, index.ErrUnreadable
	}
	x.Written = info.ModTime()
	return x, data, nil
}

func (t *Tree) readFlat() (*index.Flat, []byte, error) {
	data, _, err := index.ReadFile(t.Index)
	if err != nil {
		return nil, nil, err
	}
	x, err := index.ParseFlat(data, t.Repo.ObjectFormat().NewHash())
	return x, data, err
}
