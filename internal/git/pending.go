package git

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/object"
)

// pendingFiles are the files of a worktree's admin directory that name commits
// which nothing else may name: what a merge, a rebase, a cherry-pick, a revert
// or a bisection is in the middle of.
var pendingFiles = []string{
	"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "ORIG_HEAD", "FETCH_HEAD", "MERGE_AUTOSTASH",
	"rebase-merge/autostash", "rebase-merge/orig-head", "rebase-merge/onto", "rebase-merge/stopped-sha",
	"rebase-apply/autostash", "rebase-apply/orig-head", "rebase-apply/onto", "sequencer/head", "sequencer/abort-safety",
}

// reflogKept is how many steps of HEAD's own log keep their commits.
const reflogKept = 200

// Pending returns HEAD and every commit that the worktree's own state depends
// on, HEAD first, each once. Commits that are gone already are left out.
func (w *Worktree) Pending(ctx context.Context) ([]string, error) {
	var oids []string
	w, err := w.LastKnown(ctx)
	if err != nil {
		return nil, err
	}
	_, head, err := w.Head(ctx)
	if err != nil {
		return nil, err
	}
	oids = append(append(oids, head), w.heldTips(ctx)...)
	for _, name := range pendingFiles {
		b, err := readAdmin(w.Admin, name)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			oid, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			oids = append(oids, oid)
		}
	}
	_ = filepath.WalkDir(filepath.Join(w.Admin, "refs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if b, err := fsx.ReadSmall(path); err == nil {
				oids = append(oids, strings.TrimSpace(string(b)))
			}
		}
		return nil
	})
	return w.existingCommits(ctx, append(oids, w.headReflog()...))
}

// LastKnown is the worktree after a harvest, or as it was known before if an
// agent's git directory cannot be read from: what saves work does not wait for
// somebody to mend that. Nothing is harvested through it.
func (w *Worktree) LastKnown(ctx context.Context) (*Worktree, error) {
	if err := w.Pull(ctx); err != nil {
		if _, own := errors.AsType[*PrivateError](err); !own {
			return nil, err
		}
	}
	known := *w
	known.settled = true
	return &known, nil
}

// heldTips are the tips that an isolated checkout has beside its branch.
func (w *Worktree) heldTips(ctx context.Context) []string {
	if !w.IsIsolated() {
		return nil
	}
	oid, err := w.Repo.ReadRef(ctx, w.HeldRef())
	if err != nil {
		return nil
	}
	c, err := w.Repo.ReadCommit(ctx, oid)
	if err != nil {
		return nil
	}
	return c.Parents
}

// existingCommits returns those that are commits and are there, each once.
func (w *Worktree) existingCommits(ctx context.Context, oids []string) ([]string, error) {
	var out []string
	for _, oid := range oidsOf(oids...).list {
		if !object.IsOID(oid) || oid == w.Repo.ZeroOID() {
			continue
		}
		info, err := w.Repo.Info(ctx, oid)
		if errors.Is(err, object.ErrMissing) || err == nil && info.Type != "commit" {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, oid)
	}
	return out, nil
}

// headReflog returns where HEAD was, newest first.
func (w *Worktree) headReflog() []string {
	b, err := readAdmin(w.Admin, "logs/HEAD")
	if err != nil {
		return nil
	}
	return reflogOIDs(b)
}

// reflogOIDs returns the commits that a reflog names, newest first.
func reflogOIDs(log []byte) []string {
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	var oids []string
	for _, line := range slices.Backward(lines) {
		if f := strings.Fields(line); len(f) > 1 {
			oids = append(oids, f[1], f[0])
		}
		if len(oids) >= 2*reflogKept {
			break
		}
	}
	return oids
}

// Head returns the branch and the commit that are checked out. The branch is
// empty when HEAD is detached; the commit is empty when the branch has none.
func (w *Worktree) Head(ctx context.Context) (branch, oid string, err error) {
	if err := w.Pull(ctx); err != nil {
		return "", "", err
	}
	if w.Repo.NativeRefs() {
		return w.Repo.RefSnapshot().Head(w.Admin)
	}
	return w.Repo.HeadOf(ctx, w.Admin)
}

// ReadTree lists the files below a tree, with their whole paths.
func (r *Repository) ReadTree(ctx context.Context, tree string) ([]object.TreeEntry, error) {
	out, err := r.run(ctx, "ls-tree", "-r", "-z", "--full-tree", tree, "--")
	if err != nil {
		return nil, err
	}
	var list []object.TreeEntry
	for _, line := range splitNUL(out) {
		head, path, ok := strings.Cut(line, "\t")
		f := strings.Fields(head)
		if !ok || len(f) != 3 {
			continue
		}
		list = append(list, object.TreeEntry{Mode: f[0], Name: path, OID: f[2]})
	}
	return list, nil
}

// InProgress reports whether a merge, a rebase, a cherry-pick, a revert or a
// bisection is in the middle of something.
func (w *Worktree) InProgress() bool {
	return slices.ContainsFunc([]string{
		"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "rebase-merge", "rebase-apply", "sequencer",
	}, func(name string) bool { return fsx.IsThere(filepath.Join(w.Admin, name)) })
}
