package worktree

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/odb"
)

// KeptObjects returns the tags, blobs and trees that a commit keeps that isolated.Worktree.KeepOwn
// stored.
func (r *Repository) KeptObjects(ctx context.Context, own string) ([]string, error) {
	var oids []string
	for _, dir := range []string{"tags", "objects"} {
		out, err := r.RunGit(ctx, "ls-tree", "-z", "--name-only", "--full-tree", own, dir+"/")
		if err != nil {
			return nil, err
		}
		for _, name := range gitdir.SplitNUL(out) {
			oids = append(oids, path.Base(name))
		}
	}
	return oids, nil
}

// HasOnlyCopy reports whether a commit of isolated.Worktree.KeepOwn keeps a tag, a blob or a
// tree that no ref of the repository reaches.
func (r *Repository) HasOnlyCopy(ctx context.Context, own string) (bool, error) {
	beside, err := r.KeptObjects(ctx, own)
	if err != nil || len(beside) == 0 {
		return false, err
	}
	refs, err := r.Refs(ctx)
	if err != nil {
		return false, err
	}
	var in strings.Builder
	named := map[string]bool{}
	for _, ref := range refs {
		if !strings.HasPrefix(ref.Name, "refs/croft/") {
			named[ref.OID] = true
			in.WriteString("^" + ref.OID + "\n")
		}
		if strings.HasPrefix(ref.Name, "refs/heads/") { // given a commit alone, rev-list does not mark its blobs
			in.WriteString("^" + ref.OID + "^{tree}\n")
		}
	}
	for _, oid := range beside {
		in.WriteString(oid + "\n")
		o, err := r.Info(ctx, own+":objects/"+oid)
		if err != nil && !errors.Is(err, object.ErrMissing) {
			return false, err
		}
		if o.OID == "" && !named[oid] {
			return true, nil // a tag: only its text is kept
		}
	}
	out, err := r.Git.Run(ctx, gitcmd.Target{Repo: r.Core()}, gitcmd.Call{Args: []string{"rev-list", "--objects", "--no-object-names", "--ignore-missing", "--stdin"}, Stdin: in.String()})
	if err != nil {
		return false, err
	}
	alone := odb.OIDsOf(beside...)
	return slices.ContainsFunc(strings.Fields(string(out)), func(oid string) bool { return alone.Has[oid] }), nil
}
