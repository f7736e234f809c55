package worktree

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/odb"
)

// PendingFiles are the files of a worktree's admin directory that name commits which no
// ref may name: those of a merge, rebase, cherry-pick, revert or bisect in progress.
var PendingFiles = []string{
	"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "ORIG_HEAD", "FETCH_HEAD", "MERGE_AUTOSTASH",
	"rebase-merge/autostash", "rebase-merge/orig-head", "rebase-merge/onto", "rebase-merge/stopped-sha",
	"rebase-apply/autostash", "rebase-apply/orig-head", "rebase-apply/onto", "sequencer/head", "sequencer/abort-safety",
}

// PendingOIDs returns what the PendingFiles name, which need not be object names. read
// reads one of the files; one that it cannot read counts as empty.
func PendingOIDs(read func(name string) ([]byte, error)) []string {
	var oids []string
	for _, name := range PendingFiles {
		b, _ := read(name)
		for line := range strings.Lines(string(b)) {
			oid, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			oids = append(oids, oid)
		}
	}
	return oids
}

// ReflogKept is how many entries of HEAD's reflog keep their commits.
const ReflogKept = 200

// ExistingCommits returns those of the names that are existing commits, each once.
func (w *Worktree) ExistingCommits(ctx context.Context, oids []string) ([]string, error) {
	var out []string
	for _, oid := range odb.OIDsOf(oids...).List {
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

// HeadReflog returns the commits of HEAD's reflog, newest first.
func (w *Worktree) HeadReflog() []string {
	b, err := ReadAdmin(w.Admin, "logs/HEAD")
	if err != nil {
		return nil
	}
	return ReflogOIDs(b)
}

// ReflogOIDs returns the commits that a reflog names, newest first.
func ReflogOIDs(log []byte) []string {
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	var oids []string
	for _, line := range slices.Backward(lines) {
		if f := strings.Fields(line); len(f) > 1 {
			oids = append(oids, f[1], f[0])
		}
		if len(oids) >= 2*ReflogKept {
			break
		}
	}
	return oids
}

// StashOIDs returns the commits that a reflog of refs/stash names.
func StashOIDs(log string) []string {
	var oids []string
	for line := range strings.Lines(log) {
		if f := strings.Fields(line); len(f) > 1 {
			oids = append(oids, f[1])
		}
	}
	return oids
}

// ReadTree lists the files below a tree, with their full paths.
func (r *Repository) ReadTree(ctx context.Context, tree string) ([]object.TreeEntry, error) {
	out, err := r.RunGit(ctx, "ls-tree", "-r", "-z", "--full-tree", tree, "--")
	if err != nil {
		return nil, err
	}
	var list []object.TreeEntry
	for _, line := range gitdir.SplitNUL(out) {
		head, path, ok := strings.Cut(line, "\t")
		f := strings.Fields(head)
		if !ok || len(f) != 3 {
			continue
		}
		list = append(list, object.TreeEntry{Mode: f[0], Name: path, OID: f[2]})
	}
	return list, nil
}

// HasOperationInProgress reports whether a merge, rebase, cherry-pick, revert or bisect
// is in progress.
func (w *Worktree) HasOperationInProgress() bool {
	return slices.ContainsFunc([]string{
		"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "rebase-merge", "rebase-apply", "sequencer",
	}, func(name string) bool { return fsx.IsThere(filepath.Join(w.Admin, name)) })
}
