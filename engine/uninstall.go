package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
)

// keptBranches is what the branches begin with that Uninstall makes.
const keptBranches = "croft-kept/"

// Uninstall removes all that is Croft's own from a repository.
func (e *Engine) Uninstall(ctx context.Context, req croft.UninstallRequest) (*croft.UninstallResult, error) {
	ctx, leave, err := e.enter(ctx, "uninstall", req)
	if err != nil {
		return nil, err
	}
	defer leave()
	s, err := e.at(ctx, req.Repo)
	if err != nil {
		return nil, explain("uninstall", "", err)
	}
	if err := e.recover(ctx, s.id); err != nil {
		return nil, explain("uninstall", "", err)
	}
	res, pins, err := e.planUninstall(ctx, s.repo)
	if err == nil && req.DryRun != croft.DryRunOn {
		err = e.uninstall(ctx, s.repo, res, pins)
	}
	if err != nil {
		return nil, explain("uninstall", "", err)
	}
	return res, nil
}

// planUninstall finds out what goes and what stays, and refuses where something
// would be left that only Croft can use.
func (e *Engine) planUninstall(ctx context.Context, r *repo) (*croft.UninstallResult, []journal.Pin, error) {
	res := &croft.UninstallResult{Path: r.path, Refs: []string{}, Files: []string{}, Branches: []croft.KeptBranch{}, Workspaces: []string{}, Left: []string{}}
	records, err := e.journal.Records(ctx, r.id)
	if err != nil {
		return nil, nil, err
	}
	if err := e.refuseUninstall(ctx, r, records); err != nil {
		return nil, nil, err
	}
	names := map[croft.ID]string{}
	for _, rec := range records {
		w := rec.Workspace
		names[w.ID] = w.Name
		switch {
		case w.State != croft.Trashed && w.Mode != croft.ModeLegacy:
			res.Workspaces = append(res.Workspaces, w.Path)
		case w.State == croft.Trashed && rec.Trash != nil && !rec.Trash.Purged && fsx.IsThere(rec.Trash.Dir):
			res.Left = append(res.Left, rec.Trash.Dir)
		}
	}
	pins, err := e.ownRefs(ctx, r, names)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range pins {
		res.Refs = append(res.Refs, p.Ref)
	}
	if res.Branches, err = e.keptWork(ctx, r, pins, names); err != nil {
		return nil, nil, err
	}
	res.Files = append(r.git.OwnFiles(), r.dir)
	return res, pins, nil
}

// ownRefs are the refs that this state has made, with what they keep: its pins, and
// those that are named after its workspaces. Others who use the repository have
// refs of their own there.
func (e *Engine) ownRefs(ctx context.Context, r *repo, names map[croft.ID]string) ([]journal.Pin, error) {
	pins, err := e.journal.Pins(ctx, r.id, pinRefs)
	if err != nil {
		return nil, err
	}
	refs, err := r.git.Refs(ctx, pinRefs)
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		isPinned := slices.ContainsFunc(pins, func(p journal.Pin) bool { return p.Ref == ref.Name })
		_, rest, _ := strings.Cut(strings.TrimPrefix(ref.Name, pinRefs), "/")
		id, _, _ := strings.Cut(rest, "/")
		if _, isOurs := names[croft.ID(id)]; isOurs && !isPinned {
			pins = append(pins, journal.Pin{Ref: ref.Name, OID: ref.OID})
		}
	}
	return pins, nil
}

func (e *Engine) refuseUninstall(ctx context.Context, r *repo, records []journal.Record) error {
	var isolated []string
	for _, rec := range records {
		if w := rec.Workspace; w.State != croft.Trashed && w.Mode == croft.ModeIsolated {
			isolated = append(isolated, w.Name)
		}
	}
	if len(isolated) > 0 {
		return &croft.Error{
			Code: croft.WorkspaceBusy, Message: count(len(isolated), "isolated workspace") + " would be left without a git directory, which is Croft's",
			Details: strings.Join(isolated, "\n"), Hint: "croft merge " + isolated[0] + ", or croft remove " + isolated[0],
		}
	}
	waiting, err := e.journal.Waiting(ctx, r.id, "", -1)
	if err == nil && len(waiting) > 0 {
		err = &croft.Error{
			Code: croft.WorkspaceBusy, Workspace: waiting[0].Workspace, Message: count(len(waiting), "merge") + " still wait", Hint: "croft queue run, or croft queue cancel",
		}
	}
	return err
}

// keptWork are the commits that only pins keep, as branches that could keep them.
func (e *Engine) keptWork(ctx context.Context, r *repo, pins []journal.Pin, names map[croft.ID]string) ([]croft.KeptBranch, error) {
	kept := []croft.KeptBranch{}
	var commits []string
	owner := map[string]string{}
	for _, p := range pins {
		info, err := r.git.Info(ctx, p.OID)
		if errors.Is(err, git.ErrNoObject) || err == nil && info.Type != "commit" {
			continue
		}
		if err != nil {
			return nil, err
		}
		kind, rest, _ := strings.Cut(strings.TrimPrefix(p.Ref, pinRefs), "/")
		id, _, _ := strings.Cut(rest, "/")
		if _, known := owner[p.OID]; !known {
			commits = append(commits, p.OID)
			owner[p.OID] = names[croft.ID(id)] + "\x00" + kind
		}
	}
	alone, err := r.git.OnNoBranch(ctx, commits)
	if err != nil {
		return nil, err
	}
	for _, oid := range commits {
		if !alone[oid] {
			continue
		}
		name, kind, _ := strings.Cut(owner[oid], "\x00")
		branch := keptBranches + kind + "-" + oid[:12]
		if name != "" {
			branch = keptBranches + name + "-" + kind + "-" + oid[:12]
		}
		kept = append(kept, croft.KeptBranch{Branch: branch, Commit: oid, Name: name})
	}
	slices.SortFunc(kept, func(a, b croft.KeptBranch) int { return strings.Compare(a.Branch, b.Branch) })
	return kept, nil
}

// uninstall makes the branches first: whatever happens after that, nothing is
// lost, and the same call again goes on.
func (e *Engine) uninstall(ctx context.Context, r *repo, res *croft.UninstallResult, pins []journal.Pin) error {
	var updates []git.RefUpdate
	for _, b := range res.Branches {
		ref := "refs/heads/" + b.Branch
		switch now, err := r.git.ReadRef(ctx, ref); {
		case err == nil && now == b.Commit:
			continue
		case err == nil:
			return &croft.Error{Code: croft.BranchExists, Message: fmt.Sprintf("branch %q is there already", b.Branch), Hint: "git branch -m " + b.Branch + " OTHER"}
		case !errors.Is(err, git.ErrNoRef):
			return err
		}
		updates = append(updates, git.RefUpdate{Ref: ref, New: b.Commit})
	}
	if err := r.git.UpdateRefs(ctx, updates...); err != nil {
		return err
	}
	refs := make([]string, len(pins))
	for i, p := range pins {
		refs[i] = p.Ref
	}
	if err := r.dropPinRefs(ctx, refs); err != nil {
		return err
	}
	if err := r.git.DropOwnFiles(); err != nil {
		return err
	}
	if err := e.journal.Update(ctx, func(tx *journal.Tx) error { return tx.ForgetRepo(r.id) }); err != nil {
		return err
	}
	e.mu.Lock()
	delete(e.repos, r.common)
	e.mu.Unlock()
	_ = r.git.Close()
	return fsx.RemoveOwn(r.dir)
}
