package worktree

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/object"
)

// ReadIndex reads an index file in the format of the repository.
func (w *Worktree) ReadIndex(path string) (*index.Index, error) {
	data, info, err := index.ReadFile(path)
	if err != nil {
		return nil, err
	}
	x, err := index.Parse(data, w.Repo.ObjectFormat().NewHash())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	x.Written = info.ModTime()
	return x, nil
}

// CachedTree returns the tree of the index if the index has a valid cache tree, without
// starting a process; otherwise "".
func (w *Worktree) CachedTree() string {
	f, err := fsx.Open(filepath.Join(w.Admin, "index"))
	if err != nil {
		return ""
	}
	defer f.Close()
	oid, err := index.CachedTree(f, w.Repo.ObjectFormat().Size())
	if err != nil {
		return ""
	}
	return oid
}

// CopyIndex copies the index of a git directory to dir, where git may write it.
func CopyIndex(gitDir, dir string) (string, error) {
	tmp := filepath.Join(dir, "index")
	return tmp, index.CopyFile(filepath.Join(gitDir, "index"), tmp)
}

// ExpandIndex reads an index in a form that only git reads: git rewrites a copy.
func (w *Worktree) ExpandIndex(ctx context.Context) (*index.Index, error) {
	dir, remove, err := w.Repo.TempDir()
	if err != nil {
		return nil, err
	}
	defer remove()
	info, err := os.Stat(filepath.Join(w.Admin, "index"))
	if err != nil {
		return nil, err
	}
	plain, err := CopyIndex(w.Admin, dir)
	if err != nil {
		return nil, err
	}
	if _, err := w.RunGit(ctx, gitcmd.Call{
		Args:   []string{"update-index", "--no-split-index", "--index-version", "2", "--force-write-index"},
		Config: [][2]string{{"index.sparse", "false"}}, Env: []string{"GIT_INDEX_FILE=" + plain}, Locks: true,
	}); err != nil {
		return nil, err
	}
	x, err := w.ReadIndex(plain)
	if err != nil {
		return nil, err
	}
	x.Written = info.ModTime() // git trusts cached stat data by the index's mtime, so the copy keeps it
	return x, nil
}

// Ignored lists the ignored files that match patterns, in .gitignore's syntax.
func (w *Worktree) Ignored(ctx context.Context, patterns []string) ([]string, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	args := []string{"ls-files", "-z", "--others", "--ignored"}
	for _, p := range patterns {
		args = append(args, "--exclude="+p)
	}
	out, err := w.RunGit(ctx, gitcmd.Call{Args: args})
	return gitdir.SplitNUL(out), err
}

// IgnoredUsually lists the untracked files that git ignores by the exclude files of the repository and the
// user. A nested repository is one entry that ends in a slash; nothing below it is listed.
func (w *Worktree) IgnoredUsually(ctx context.Context) ([]string, error) {
	out, err := w.RunGit(ctx, gitcmd.Call{Args: []string{"ls-files", "-z", "--others", "--ignored", "--exclude-standard"}})
	return gitdir.SplitNUL(out), err
}

// MatchingFile lists the untracked files that match the patterns of a file in .gitignore's syntax,
// ignored or not. A nested repository is one entry, as in IgnoredUsually.
func (w *Worktree) MatchingFile(ctx context.Context, file string) ([]string, error) {
	out, err := w.RunGit(ctx, gitcmd.Call{Args: []string{"ls-files", "-z", "--others", "--ignored", "--exclude-from=" + file}})
	return gitdir.SplitNUL(out), err
}

// Others lists the files that are neither tracked nor ignored. A nested repository is one
// entry that ends in a slash.
func (w *Worktree) Others(ctx context.Context) ([]string, error) {
	out, err := w.RunGit(ctx, gitcmd.Call{Args: []string{"ls-files", "-z", "--others", "--exclude-standard"}})
	return gitdir.SplitNUL(out), err
}

// CheckoutIndex writes every file of the index that does not exist, with filters and line
// endings as any checkout. It skips paths in conflict, and does not change the index.
func (w *Worktree) CheckoutIndex(ctx context.Context, workers int) error {
	_, err := w.RunGit(ctx, gitcmd.Call{
		Args: []string{"-c", "checkout.workers=" + strconv.Itoa(workers), "checkout-index", "--all", "--quiet"}, Network: true,
	})
	return w.explainWriteError(err)
}

// explainWriteError adds the reason to git's failure to write a file of a checkout, for which
// git has the same message whatever the reason: it tries whether the disk is full or
// fails.
func (w *Worktree) explainWriteError(err error) error {
	if !errors.Is(err, gitcmd.KindVanished) {
		return err
	}
	dir, derr := fsx.OpenDir(w.Path)
	if derr != nil {
		return errors.Join(gitcmd.KindIO, err)
	}
	defer dir.Close()
	const name = ".croft-probe"
	defer func() { _ = dir.Remove(name) }()
	if werr := dir.WriteFile(name, make([]byte, probeSize), 0o600); werr != nil {
		return errors.Join(werr, err)
	}
	return errors.Join(gitcmd.KindIO, err)
}

// probeSize is more than a full disk has left.
const probeSize = 1 << 20

// WriteIndexTrees stores those trees of an index that the repository does not have, and
// returns the object name of the top one.
func (r *Repository) WriteIndexTrees(ctx context.Context, b *object.Batch, t *index.Tree) (string, error) {
	oid := hex.EncodeToString(t.OID)
	_, err := r.Info(ctx, oid)
	if err == nil || !errors.Is(err, object.ErrMissing) {
		return oid, err
	}
	for _, sub := range t.Subs {
		if _, err := r.WriteIndexTrees(ctx, b, sub); err != nil {
			return "", err
		}
	}
	return b.Write("tree", int64(len(t.Text)), strings.NewReader(string(t.Text)))
}

// WriteStaged stores the trees of an index, and the empty blob if the index names it. No
// index is refused because that blob is missing: everybody knows its content.
func (r *Repository) WriteStaged(ctx context.Context, b *object.Batch, x *index.Index, t *index.Tree) (string, error) {
	empty := r.EmptyBlob()
	if slices.ContainsFunc(x.Entries, func(e index.Entry) bool { return e.OID == empty }) {
		if _, err := b.WriteBlob(nil); err != nil {
			return "", err
		}
	}
	return r.WriteIndexTrees(ctx, b, t)
}

// EmptyBlob is the object name of an empty file.
func (r *Repository) EmptyBlob() string {
	return hex.EncodeToString(r.ObjectFormat().Hash("blob", nil))
}
