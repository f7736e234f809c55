// Package resolve merges a target's new commits into a workspace, so that its agent can
// resolve the conflicts there.
//
// It commits uncommitted work first and takes a snapshot, so that nothing is lost if
// the merge is given up. If the process dies meanwhile, the next process rolls the
// workspace back, unless its agent has continued from there.
//
// The package writes the files and the branch of the one workspace that it was called
// for.
package resolve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/writers"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/lane"
	"github.com/croft-sh/croft/internal/merge"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/removal"
	"github.com/croft-sh/croft/internal/rewind"
	"github.com/croft-sh/croft/internal/shellword"
	"github.com/croft-sh/croft/internal/view"
	"github.com/croft-sh/croft/internal/work"
	"github.com/croft-sh/croft/internal/workspace"
)

// Resolver merges targets into workspaces.
type Resolver struct {
	*project.Projects
	Commits  *work.Commits     // required
	Views    *view.Views       // required
	Removals *removal.Removals // required
	Rewinds  *rewind.Rewinds   // required
	// Workspaces and Lanes are for reverts.
	Workspaces *workspace.Workspaces // required
	Lanes      *lane.Lanes           // required
}

// ResolveConflicts merges the target into a workspace and leaves the conflicts to its agent.
func (svc *Resolver) ResolveConflicts(ctx context.Context, s project.Location, rec journal.Record, req croft.MergeRequest) (*croft.Resolution, error) {
	return svc.resolveAs(ctx, s, rec, req, project.NewAct())
}

// resolveAs is ResolveConflicts as a part of an act.
func (svc *Resolver) resolveAs(ctx context.Context, s project.Location, rec journal.Record, req croft.MergeRequest, act project.Act) (*croft.Resolution, error) {
	w := rec.Workspace
	if w.Mode == croft.ModeLegacy {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: "the agent wrote in the project itself; there is nothing to resolve"}
	}
	if h := s.Trees.Health(project.SpecOf(rec)); h != checkout.Intact {
		return nil, s.BrokenNowError(ctx, rec, h)
	}
	var err error
	out := &croft.Resolution{}
	if out.Target, err = svc.BranchOf(ctx, s.Project, cmp.Or(req.Target, w.Target)); err != nil {
		return nil, err
	}
	if out.Commit, err = s.Git.ReadRef(ctx, "refs/heads/"+out.Target); err != nil {
		return nil, project.TargetError(out.Target, err)
	}
	tree := s.Trees.At(project.SpecOf(rec))
	if what := tree.Progress(); what != "" {
		return nil, &croft.Error{
			Code: croft.InProgress, Message: fmt.Sprintf("a %s is in progress in the workspace", what), Details: w.Path,
			Hint: "croft merge " + shellword.Quote(w.Name),
		}
	}
	if err := svc.RequireBranch(ctx, s.Project, rec); err != nil {
		return nil, err
	}
	// Uncommitted work must not be lost in the merge, so it is committed, and the whole
	// state is saved, with the ignored files that git would overwrite.
	inTheWay, err := svc.patternsInTheWay(ctx, s.Project, rec, out.Commit)
	if err != nil {
		return nil, err
	}
	before, err := svc.Rewinds.SaveAlso(ctx, s.Project, rec, croft.SnapshotBeforeResolve, inTheWay)
	if err != nil {
		return nil, svc.VanishedError(ctx, rec, err)
	}
	op, err := svc.beginResolve(ctx, s.Project, rec, *before, act)
	if err != nil {
		return nil, err
	}
	defer op.Close()
	err = svc.bringTarget(ctx, s.Project, rec, out, func(head string) error { return svc.noteMerging(ctx, op, *before, head) })
	if err != nil {
		return nil, svc.failResolve(ctx, s.Project, op, err)
	}
	// Its files are those of the merge, so it is done whether it can be shown or not.
	view, err := svc.Views.ViewOf(ctx, s.Project, w.ID)
	if err == nil {
		out.Workspace = *view
	}
	eerr := svc.Journal.Update(context.WithoutCancel(ctx), func(tx *journal.Tx) error {
		return errors.Join(op.EndIn(tx, journal.OpDone, ""), once.Answer(ctx, tx, out))
	})
	if err = cmp.Or(eerr, err); err != nil {
		return nil, err
	}
	return out, nil
}

// patternsInTheWay returns patterns for the files of a workspace that are where a
// commit adds files. Git overwrites such a file if it is ignored.
func (svc *Resolver) patternsInTheWay(ctx context.Context, r *project.Project, rec journal.Record, commit string) ([]string, error) {
	_, head, err := r.Trees.At(project.SpecOf(rec)).Head(ctx)
	if err != nil || head == "" {
		return nil, err
	}
	changes, err := r.Git.Diff(ctx, head, commit)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, c := range changes {
		if !c.Adds() {
			continue
		}
		at := rec.Workspace.Path
		parts := strings.Split(c.Path, "/")
		for i, part := range parts {
			at = filepath.Join(at, part)
			info, err := os.Lstat(at)
			if err != nil {
				break
			}
			if i == len(parts)-1 || !info.IsDir() {
				found["/"+git.LiteralPattern(strings.Join(parts[:i+1], "/"))] = true
				break
			}
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// bringTarget commits the work of a workspace and merges the target into it. It calls
// merging with the commit of the work before git changes the checkout.
func (svc *Resolver) bringTarget(ctx context.Context, r *project.Project, rec journal.Record, out *croft.Resolution, merging func(head string) error) error {
	head, paths, err := svc.commitAndBringIn(ctx, r, rec, out, merging)
	if err != nil {
		return svc.VanishedError(ctx, rec, project.ExplainBranch(rec, err))
	}
	for _, p := range paths {
		out.Conflicts = append(out.Conflicts, croft.ConflictedPath{Path: p, Hunks: hunksOf(r.Trees.At(project.SpecOf(rec)), p)})
	}
	return svc.Commits.NoteConflicts(ctx, r, rec.Workspace.ID, out.Commit, head, paths)
}

// hunksOf returns the places of a file in which the workspace and the target do not agree. What cannot be read has none.
func hunksOf(tree *git.Worktree, path string) []croft.ConflictHunk {
	text, err := tree.ConflictText(path)
	if err != nil || strings.Contains(text, "\x00") {
		return nil
	}
	hunks := merge.ParseMarkers(text)
	for i, h := range hunks { // the checkout's own side, which git writes first, is the workspace's
		hunks[i].Ours, hunks[i].Theirs = h.Theirs, h.Ours
	}
	return hunks
}

// resolveTries is how often the resolution is tried if an agent stages or writes
// something between the commit of its work and the merge of the target.
const resolveTries = 3

// commitAndBringIn commits the work of a workspace and merges the target into it. It
// returns the commit of the work, and the paths in conflict.
func (svc *Resolver) commitAndBringIn(ctx context.Context, r *project.Project, rec journal.Record, to *croft.Resolution, merging func(head string) error) (head string, conflicts []string, err error) {
	for try := 1; ; try++ {
		if head, to.HeldBack, err = svc.Commits.Commit(ctx, r, rec, ""); err != nil {
			return "", nil, err
		}
		if err := merging(head); err != nil {
			return "", nil, err
		}
		conflicts, err = svc.bringIn(ctx, r, rec, to, head)
		unclean, ok := errors.AsType[*git.UncleanError](err)
		if !ok {
			return head, conflicts, err
		}
		if try == resolveTries {
			return "", nil, &croft.Error{
				Code: croft.WorkspaceDirty, Message: fmt.Sprintf("files that are not committed are in the way of what %s has", to.Target),
				Details: cmp.Or(strings.Join(unclean.Files, "\n"), err.Error()), Hint: "git -C " + shellword.Quote(rec.Workspace.Path) + " status",
			}
		}
	}
}

// bringIn merges a target's tip into a workspace whose work is in head, and returns the
// conflicting paths. If the target has a revert of the work, it merges the tip without that
// revert, as the lane does: otherwise the merge would revert the work here too.
func (svc *Resolver) bringIn(ctx context.Context, r *project.Project, rec journal.Record, to *croft.Resolution, head string) ([]string, error) {
	tree, branch := r.Trees.At(project.SpecOf(rec)), rec.Workspace.Branch
	id, err := svc.Identity(ctx, r)
	if err != nil {
		return nil, err
	}
	it := merge.Item{Kind: croft.KindMerge, Head: head}
	if it.Reverts, err = svc.Removals.RevertsOf(ctx, rec.Workspace.ID, to.Target); err != nil {
		return nil, err
	}
	if len(it.Reverts) == 0 {
		return tree.MergeIn(ctx, git.MergeSpec{Branch: branch, Commit: to.Commit, Name: to.Target, Identity: id})
	}
	attempts, err := r.Git.OpenMergeTree(writers.OnDisk)
	if err != nil {
		return nil, err
	}
	defer attempts.Close()
	stack := merge.Stacker{MergeTree: attempts, Identity: id, Now: svc.Clock}
	again, err := stack.UndoReverts(ctx, to.Commit, it)
	if err != nil {
		return nil, err
	}
	release, err := attempts.Keep(ctx, again.Commit)
	if err != nil {
		return nil, err
	}
	defer release()
	in := git.MergeSpec{Branch: branch, Commit: again.Commit, As: to.Commit, Name: to.Target, Identity: id}
	for _, c := range again.Conflicts {
		in.Marked = append(in.Marked, git.MarkedFile{Path: c.Path, Undone: c.Revert.Commit})
	}
	return tree.MergeIn(ctx, in)
}
