package work

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/project"
)

// saving is what Save found before it committed anything. It is kept with the key of the
// request, so that a repeated one recognises the commit of the first.
type saving struct {
	Head  string `json:"head"`
	Files int    `json:"files"`
}

// SaveWork commits the uncommitted work of a workspace, or the part of it that the request
// names, and records that. Without work it changes nothing.
func (svc *Commits) SaveWork(ctx context.Context, s project.Location, rec journal.Record, req croft.SaveRequest) (*croft.Saved, error) {
	paths, err := cleanPaths(req.Paths)
	if err != nil {
		return nil, err
	}
	if strings.ContainsRune(req.Message, 0) {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: "the message has a byte 0", Fields: map[string]string{"field": "message"}}
	}
	w := rec.Workspace
	if w.Mode == croft.ModeLegacy {
		return nil, &croft.Error{Code: croft.Unsupported, Message: "a workspace without isolation has no branch of its own"}
	}
	found, err := svc.examine(ctx, s.Project, rec, CommitSpec{Conflicts: WrittenIsResolved})
	if err != nil {
		return nil, err
	}
	tree := s.Trees.At(project.SpecOf(rec))
	_, head, err := tree.Head(ctx)
	if err != nil {
		return nil, err
	}
	chosen, left, err := found.only(paths, tree.Progress())
	if err != nil {
		return nil, err
	}
	saved := &croft.Saved{RepoID: s.ID, Workspace: w.ID, WorkspaceName: w.Name, Branch: w.Branch, HeldBack: chosen.HeldBack}
	was, err := once.Pin(ctx, "save", func() (saving, error) { return saving{Head: head, Files: chosen.files()}, nil })
	if err != nil {
		return nil, err
	}
	as := CommitSpec{message: req.Message, When: svc.Clock()}
	if head != was.Head && svc.isSaved(ctx, s.Project, rec, head, was.Head, as) {
		saved.Commit, saved.Files = head, was.Files
	} else {
		made, err := svc.commitWork(ctx, s.Project, rec, chosen, as)
		if err != nil {
			return nil, err
		}
		if made == head {
			return saved, nil
		}
		saved.Commit, saved.Files = made, chosen.files()
	}
	if err := failpoint.Hit("save.committed"); err != nil {
		return nil, err
	}
	if rec.Resolving != nil {
		if err := svc.noteResolved(ctx, w.ID); err != nil {
			return nil, err
		}
	}
	return saved, svc.recordSaved(ctx, s.ID, saved, left)
}

// recordSaved records the commit of a workspace, and how many paths it left uncommitted.
func (svc *Commits) recordSaved(ctx context.Context, repo croft.ID, saved *croft.Saved, left int) error {
	return svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		rec, err := tx.Record(saved.Workspace)
		if err != nil {
			return err
		}
		rec.SawCommit(saved.Commit, left)
		return errors.Join(tx.PutRecord(rec), svc.Note(tx, "save", repo, rec), once.Answer(ctx, tx, saved))
	})
}

// isSaved reports whether head is the commit that a killed call with the same key made: it
// follows the head that the call found, and has its message.
func (svc *Commits) isSaved(ctx context.Context, r *project.Project, rec journal.Record, head, was string, as CommitSpec) bool {
	c, err := r.Git.ReadCommit(ctx, head)
	return err == nil && len(c.Parents) > 0 && c.Parents[0] == was && c.Message == messageOf(r, rec, as)
}

// cleanPaths refuses paths that do not lie in a workspace by their letters. An empty result
// stands for the whole workspace.
func cleanPaths(paths []string) ([]string, error) {
	var out []string
	for _, p := range paths {
		if p == "" || strings.ContainsRune(p, 0) || slices.Contains(strings.Split(p, "/"), "..") || path.IsAbs(p) || !filepath.IsLocal(filepath.FromSlash(p)) {
			return nil, &croft.Error{
				Code: croft.InvalidRequest, Message: fmt.Sprintf("%q is not a path inside of the workspace", p), Details: "Nothing was committed.",
				Fields: map[string]string{"field": "paths"},
			}
		}
		if p = path.Clean(p); p == "." {
			return nil, nil
		}
		out = append(out, p)
	}
	return out, nil
}

// files counts the files that a commit of the work changes.
func (w Uncommitted) files() int {
	all := slices.Concat(w.paths, w.gone, w.staged)
	all = slices.DeleteFunc(all, func(p string) bool { return slices.Contains(w.unstage, p) })
	slices.Sort(all)
	return len(slices.Compact(all))
}

// only returns the part of the work at or below some paths, all of it if there are none, and
// how many paths stay uncommitted. What is staged elsewhere, and a merge in progress, cannot
// be left out of a commit and are refused.
func (w Uncommitted) only(paths []string, progress string) (chosen Uncommitted, left int, err error) {
	if len(paths) == 0 {
		return w, len(w.HeldBack), nil
	}
	if progress != "" {
		return w, 0, &croft.Error{
			Code: croft.InProgress, Message: fmt.Sprintf("a %s is in progress, and its commit has all files", progress), Details: "Nothing was committed.",
			Hint: "save without paths",
		}
	}
	isChosen := func(p string) bool {
		p = strings.TrimSuffix(p, "/")
		return slices.ContainsFunc(paths, func(top string) bool { return p == top || strings.HasPrefix(p, top+"/") })
	}
	keep := func(all []string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(p string) bool { return !isChosen(p) })
	}
	if staged := keep(w.staged); len(staged) < len(w.staged) {
		other := w.staged[slices.IndexFunc(w.staged, func(p string) bool { return !isChosen(p) })]
		return w, 0, &croft.Error{
			Code: croft.InProgress, Message: fmt.Sprintf("%q is staged, and is not among the paths", other), Details: "A commit has all that is staged. Nothing was committed.",
			Hint: "git restore --staged, or save without paths",
		}
	}
	chosen = Uncommitted{paths: keep(w.paths), gone: keep(w.gone), unstage: keep(w.unstage), HeldBack: keep(w.HeldBack), staged: w.staged, isStaged: w.isStaged}
	return chosen, len(w.paths) + len(w.gone) + len(w.HeldBack) - len(chosen.paths) - len(chosen.gone), nil
}
