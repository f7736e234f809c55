package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/index"
)

// Index reads what the worktree has staged. The file is read here; one of a
// form that only git can read is rewritten by it, as a copy.
func (w *Worktree) Index(ctx context.Context) (*index.Index, error) {
	w, err := w.LastKnown(ctx)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(w.Admin, "index")
	x, err := w.readIndex(path)
	if errors.Is(err, os.ErrNotExist) {
		return &index.Index{}, nil
	}
	if !errors.Is(err, index.ErrUnreadable) {
		return x, err
	}
	dir, remove, err := w.Repo.TempDir()
	if err != nil {
		return nil, err
	}
	defer remove()
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	plain, err := copyIndex(w.Admin, dir)
	if err != nil {
		return nil, err
	}
	if _, err := w.run(ctx, call{
		args:   []string{"update-index", "--no-split-index", "--index-version", "2", "--force-write-index"},
		config: [][2]string{{"index.sparse", "false"}}, env: []string{"GIT_INDEX_FILE=" + plain}, locks: true,
	}); err != nil {
		return nil, err
	}
	if x, err = w.readIndex(plain); err != nil {
		return nil, err
	}
	x.Written = info.ModTime() // what the copy says of files is as old as the index itself
	return x, nil
}

func (w *Worktree) readIndex(path string) (*index.Index, error) {
	data, info, err := index.ReadFile(path)
	if err != nil {
		return nil, err
	}
	x, err := index.Parse(data, w.Repo.objectFormat().NewHash())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	x.Written = info.ModTime()
	return x, nil
}

// CachedTree returns the tree that the index describes, if git noted it there
// and nothing was staged since. It is read without a process; "" means only
// that it is not known.
func (w *Worktree) CachedTree() string {
	f, err := fsx.Open(filepath.Join(w.Admin, "index"))
	if err != nil {
		return ""
	}
	defer f.Close()
	oid, err := index.CachedTree(f, w.Repo.objectFormat().Size())
	if err != nil {
		return ""
	}
	return oid
}

// copyIndex copies the index of a git directory, which git may then write.
func copyIndex(gitDir, dir string) (string, error) {
	tmp := filepath.Join(dir, "index")
	return tmp, index.CopyFile(filepath.Join(gitDir, "index"), tmp)
}

// IndexTree writes the tree that the index describes and returns its name.
// Paths in conflict are left out. The index itself is not touched: a copy in
// dir is used.
func (w *Worktree) IndexTree(ctx context.Context, dir string, conflicted []string) (string, error) {
	tmp, err := copyIndex(w.Admin, dir)
	if err != nil {
		return "", err
	}
	env := []string{"GIT_INDEX_FILE=" + tmp}
	if len(conflicted) > 0 {
		var b strings.Builder
		for _, p := range conflicted {
			b.WriteString("0 " + w.Repo.ZeroOID() + "\t" + p + "\x00")
		}
		if _, err := w.run(ctx, call{args: []string{"update-index", "-z", "--index-info"}, stdin: b.String(), env: env, locks: true}); err != nil {
			return "", err
		}
	}
	out, err := w.run(ctx, call{args: []string{"write-tree", "--missing-ok"}, env: env, locks: true})
	return strings.TrimSpace(string(out)), err
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
	out, err := w.run(ctx, call{args: args})
	return splitNUL(out), err
}

// Others lists the files that are neither tracked nor ignored. A repository in
// the worktree is one entry that ends in a slash.
func (w *Worktree) Others(ctx context.Context) ([]string, error) {
	out, err := w.run(ctx, call{args: []string{"ls-files", "-z", "--others", "--exclude-standard"}})
	return splitNUL(out), err
}

// CheckoutIndex writes every file of the index that is not there, with the
// filters and line endings that any checkout has. Paths in conflict are passed
// over. The index is not touched.
func (w *Worktree) CheckoutIndex(ctx context.Context, workers int) error {
	_, err := w.run(ctx, call{
		args: []string{"-c", "checkout.workers=" + strconv.Itoa(workers), "checkout-index", "--all", "--quiet"}, network: true,
	})
	return w.whyUnwritten(err)
}

// whyUnwritten adds the reason to a failure of git to write a file of a checkout,
// for which it has the same words whatever the reason is: the disk is full, which
// can be tried, or it does not work.
func (w *Worktree) whyUnwritten(err error) error {
	if !errors.Is(err, KindVanished) {
		return err
	}
	dir, derr := fsx.OpenDir(w.Path)
	if derr != nil {
		return errors.Join(KindIO, err)
	}
	defer dir.Close()
	const name = ".croft-probe"
	defer func() { _ = dir.Remove(name) }()
	if werr := dir.WriteFile(name, make([]byte, probeSize), 0o600); werr != nil {
		return errors.Join(werr, err)
	}
	return errors.Join(KindIO, err)
}

// probeSize is more than a disk that is full has left.
const probeSize = 1 << 20
