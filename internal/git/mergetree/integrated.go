package mergetree

import (
	"context"
	"strings"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/git/writers"
)

// Integration says in which way the commits of a branch are in a target.
type Integration string

// The ways. What cannot be proven is NotIntegrated.
const (
	NotIntegrated Integration = ""
	ByAncestry    Integration = "ancestor" // the commits are ancestors of the target
	ByMerge       Integration = "merge"    // merging them would change nothing
	ByPatches     Integration = "patches"  // the target has the patch of each commit, in commits of its own; merge commits changed nothing themselves
	BySquash      Integration = "squash"   // the target has all changes, in one commit
)

// Integrated finds out whether all changes of head are in target. It writes nothing to the
// repository.
func (r *Repository) Integrated(ctx context.Context, head, target string) (Integration, error) {
	if in, err := r.IsAncestor(ctx, head, target); err != nil || in {
		return ByAncestry, err
	}
	base, err := r.RunGit(ctx, "merge-base", head, target)
	if gitcmd.ExitCode(err) == 1 {
		return NotIntegrated, nil // no common ancestor
	}
	if err != nil {
		return NotIntegrated, err
	}
	q, err := r.NewQuarantine(writers.OnDisk)
	if err != nil {
		return NotIntegrated, err
	}
	defer q.Discard()
	if same, err := q.isMergeEmpty(ctx, head, target); err != nil || same {
		return ByMerge, err
	}
	if all, err := q.hasPatches(ctx, head, target); err != nil || all {
		return ByPatches, err
	}
	squash, err := q.squash(ctx, head, strings.TrimSpace(string(base)))
	if err != nil {
		return NotIntegrated, err
	}
	if all, err := q.hasPatches(ctx, squash, target); err != nil || all {
		return BySquash, err
	}
	return NotIntegrated, nil
}

// isMergeEmpty reports whether merging head into target gives target's tree.
func (q *Quarantine) isMergeEmpty(ctx context.Context, head, target string) (bool, error) {
	return q.isMergeResult(ctx, target, []string{target, head})
}

// isMergeResult reports whether commit has the tree to which git merges two commits without
// a conflict. It is false for more than two.
func (q *Quarantine) isMergeResult(ctx context.Context, commit string, parents []string) (bool, error) {
	if len(parents) != 2 {
		return false, nil
	}
	tree, err := q.run(ctx, "merge-tree", "--write-tree", "--allow-unrelated-histories", parents[0], parents[1])
	if gitcmd.ExitCode(err) == 1 {
		return false, nil // a conflict
	}
	if err != nil {
		return false, err
	}
	want, err := q.Repo.Info(ctx, commit+"^{tree}")
	return tree == want.OID, err
}

// hasPatches reports whether there are commits that only head has, and the target has the
// patch of each. It is false if one of them is a merge commit that git would not have made by
// itself: `git cherry` compares no merge commits, and the target may lack what was changed in
// this one, such as the resolution of a conflict. A merge commit with more than two parents
// counts as such.
func (q *Quarantine) hasPatches(ctx context.Context, head, target string) (bool, error) {
	out, err := q.run(ctx, "cherry", target, head)
	if err != nil || out == "" {
		return false, err
	}
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "- ") {
			return false, nil
		}
	}
	merges, err := q.run(ctx, "rev-list", "--merges", "--parents", head, "^"+target)
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(merges) {
		f := strings.Fields(line)
		if plain, err := q.isMergeResult(ctx, f[0], f[1:]); err != nil || !plain {
			return false, err
		}
	}
	return true, nil
}

// squash makes one commit of all changes between base and head.
func (q *Quarantine) squash(ctx context.Context, head, base string) (string, error) {
	return q.run(ctx, "-c", "user.name=Croft", "-c", "user.email=croft@localhost", "commit-tree", head+"^{tree}", "-p", base, "-m", "squash")
}

// CommitsOnNoBranch returns those of commits that no branch reaches, and such of their
// ancestors. A commit that does not exist is left out.
func (r *Repository) CommitsOnNoBranch(ctx context.Context, commits []string) (map[string]bool, error) {
	if err := odb.AllHex(commits...); err != nil || len(commits) == 0 {
		return nil, err
	}
	branches, err := r.Refs(ctx, "refs/heads/")
	if err != nil {
		return nil, err
	}
	var in strings.Builder
	for _, c := range commits {
		in.WriteString(c + "\n")
	}
	for _, b := range branches {
		in.WriteString("^" + b.OID + "\n")
	}
	out, err := r.Git.Run(ctx, gitcmd.Target{Repo: r.Core()}, gitcmd.Call{Args: []string{"rev-list", "--ignore-missing", "--stdin"}, Stdin: in.String()})
	if err != nil {
		return nil, err
	}
	alone := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		alone[strings.TrimSpace(line)] = true
	}
	return alone, nil
}
