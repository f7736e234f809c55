package git

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitconfig"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// A directory without git can have isolated checkouts, too: of a repository in Croft's
// state directory whose main checkout is that directory. Files are copied byte for byte,
// whatever attributes they have.

// plainAttributes switches every conversion off.
const plainAttributes = "* -text -ident !eol !filter !working-tree-encoding\n"

// InitPlain makes a repository at dir, complete or not at all, whose main checkout is the
// plain directory work. It writes nothing to work.
func InitPlain(dir, work string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".new-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	config := "\tworktree = " + gitconfig.Quote(filepath.ToSlash(work)) + "\n"
	if err := gitcmd.WriteGitDir(tmp, config, map[string]string{"info/attributes": plainAttributes}); err != nil {
		return err
	}
	return fsx.RenameNew(tmp, dir)
}

// InitEmpty makes a repository in a directory, with one commit of an empty tree. It may be
// called again.
func InitEmpty(ctx context.Context, g *gitcmd.Git, dir string, when time.Time) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(dir, ".new-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := gitcmd.WriteGitDir(tmp, "", nil); err != nil {
		return err
	}
	if err := fsx.RenameNew(tmp, filepath.Join(dir, ".git")); err != nil && !errors.Is(err, worktree.ErrExists) {
		return err
	}
	place, err := gitdir.Discover(dir)
	if err != nil {
		return err
	}
	r := At(g, place, g.DirFor(place.CommonDir))
	defer r.Close()
	return r.Baseline(ctx, when)
}

// PlainPlace is the place of a repository that InitPlain made.
func PlainPlace(dir string) (gitdir.Place, error) {
	work := gitdir.ReadFormat(dir).Worktree
	if !gitdir.IsGitDir(dir) || !filepath.IsAbs(work) {
		return gitdir.Place{}, gitdir.ErrNoRepository
	}
	work = filepath.FromSlash(work)
	return gitdir.Place{Root: work, CommonDir: dir, GitDir: dir, WorkDir: work}, nil
}

// Baseline commits the current content of a plain directory, without ignored files, as the
// commit that workspaces start from. It does nothing if nothing has changed. The caller
// holds the repository's lock.
func (r *Repository) Baseline(ctx context.Context, when time.Time) error {
	w := r.Main()
	_, head, err := w.Head(ctx)
	if err != nil {
		return err
	}
	c := object.Commit{Signature: object.Signature("Croft <croft@localhost>", when), Message: "What the directory holds"}
	if head == "" {
		return w.firstBaseline(ctx, c)
	}
	var paths, gone []string
	for e, err := range w.Status(ctx, UntrackedAll, RefreshIndex) {
		if err != nil {
			return err
		}
		switch {
		case e.Work == 'D':
			gone = append(gone, e.Path)
		case !strings.HasSuffix(e.Path, "/"): // a nested repository is not committed
			paths = append(paths, e.Path)
		}
	}
	if len(paths)+len(gone) == 0 {
		return nil
	}
	return w.ChangeHeld(ctx, func(w *Worktree) error {
		_, err := w.commitWork(ctx, Work{Branch: gitdir.PlainBranch, Paths: paths, Gone: gone, Commit: c})
		return err
	})
}

// firstBaseline commits a whole directory: it reads and hashes all files on all cores, and
// writes all objects to one pack.
func (w *Worktree) firstBaseline(ctx context.Context, c object.Commit) error {
	repo := w.Repo
	// A process that died may have written an index and no commit.
	if err := os.Remove(filepath.Join(w.Admin, "index")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	names, err := w.Others(ctx)
	if err != nil {
		return err
	}
	b := repo.PackBatch()
	defer b.Discard()
	entries, err := w.hashAll(ctx, b, names)
	if err != nil {
		return err
	}
	x := &index.Index{Entries: entries}
	root, err := x.Trees(repo.ObjectFormat())
	if err != nil {
		return err
	}
	if c.Tree, err = writeTrees(b, root); err != nil {
		return err
	}
	oid, err := b.WriteCommit(c)
	if err != nil {
		return err
	}
	if err := b.Flush(); err != nil {
		return err
	}
	if err := failpoint.Hit("baseline.objects"); err != nil {
		return err
	}
	if err := w.writeIndex(x, root); err != nil {
		return err
	}
	if err := failpoint.Hit("baseline.index"); err != nil {
		return err
	}
	return repo.UpdateRefs(ctx, refs.Update{Ref: "refs/heads/" + gitdir.PlainBranch, New: oid})
}

// hashAll stores files as they are on disk, and returns them as index entries in index
// order. It skips what is neither a regular file nor a symbolic link.
func (w *Worktree) hashAll(ctx context.Context, b *object.Batch, names []string) ([]index.Entry, error) {
	all := make([]index.Entry, len(names))
	var g errgroup.Group
	const share = 64 // files per task
	g.SetLimit(runtime.NumCPU())
	for from := 0; from < len(names); from += share {
		part, out := names[from:min(from+share, len(names))], all[from:]
		g.Go(func() error {
			for i, name := range part {
				if err := ctx.Err(); err != nil {
					return err
				}
				if strings.HasSuffix(name, "/") {
					continue
				}
				e, err := w.hashFile(b, name)
				if err != nil {
					return err
				}
				out[i] = e
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	entries := all[:0]
	for _, e := range all {
		if e.Path != "" {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

func (w *Worktree) hashFile(b *object.Batch, name string) (index.Entry, error) {
	full := filepath.Join(w.Path, filepath.FromSlash(name))
	st, err := index.Lstat(full)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = nil // the file was just deleted
		}
		return index.Entry{}, err
	}
	e := index.Entry{Path: name}
	e.SetStat(st)
	switch {
	case st.Mode.IsRegular():
		e.Mode = "100644"
		if st.Mode&0o100 != 0 {
			e.Mode = "100755"
		}
		f, err := os.Open(full)
		if err != nil {
			return e, err
		}
		defer f.Close()
		e.OID, err = b.WriteBlobFrom(f, st.Size)
		return e, err
	case st.Mode&os.ModeSymlink != 0:
		e.Mode = "120000"
		target, err := os.Readlink(full)
		if err != nil {
			return e, err
		}
		e.OID, err = b.WriteBlob([]byte(target))
		return e, err
	}
	return index.Entry{}, nil
}

// writeTrees stores a tree and all its subtrees.
func writeTrees(b *object.Batch, t *index.Tree) (string, error) {
	for _, sub := range t.Subs {
		if _, err := writeTrees(b, sub); err != nil {
			return "", err
		}
	}
	return b.Write("tree", int64(len(t.Text)), strings.NewReader(string(t.Text)))
}

// writeIndex writes an index with these entries.
func (w *Worktree) writeIndex(x *index.Index, root *index.Tree) error {
	out, err := x.Encode(root, w.Repo.ObjectFormat())
	if err != nil {
		return err
	}
	file := filepath.Join(w.Admin, "index")
	if err := fsx.ReplaceFile(file, out, 0o644); err != nil {
		return err
	}
	return fsx.SyncAll(file, w.Admin)
}

// AdoptFiles makes an index for a checkout whose files were copied from the main checkout
// of a plain directory. If the original is unchanged since the baseline, the copy gets
// stat data in the index; git has to read all other files.
func (w *Worktree) AdoptFiles() error {
	source := w.Repo.worktreeOf(worktree.Worktree{Path: w.Repo.Root, Admin: w.Repo.CommonDir})
	x, err := source.ReadIndex(filepath.Join(source.Admin, "index"))
	if err != nil {
		return err
	}
	root, err := x.Trees(w.Repo.ObjectFormat())
	if err != nil {
		return err
	}
	dir := "\x00"
	var from, to map[string]index.FileStat
	for i := range x.Entries {
		e := &x.Entries[i]
		if d := path.Dir(e.Path); d != dir {
			dir = d
			from, to = statsIn(filepath.Join(source.Path, d)), statsIn(filepath.Join(w.Path, d))
		}
		was, now := from[path.Base(e.Path)], to[path.Base(e.Path)]
		if x.IsUnchanged(*e, was) && e.HasMode(now.Mode) && now.Size == was.Size {
			e.SetStat(now)
		} else {
			e.SetStat(index.FileStat{})
		}
	}
	return w.writeIndex(x, root)
}

func statsIn(dir string) map[string]index.FileStat {
	list, err := index.ReadDir(dir)
	if err != nil {
		return nil
	}
	out := make(map[string]index.FileStat, len(list))
	for _, e := range list {
		out[e.Name] = e.FileStat
	}
	return out
}
