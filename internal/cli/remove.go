package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// remover is the part of croft.Service that `croft remove` calls.
type remover interface {
	sweeper
	namer
	Remove(ctx context.Context, req croft.RemoveRequest) (*croft.RemoveResult, error)
}

// removeResult is what became of every workspace that was named.
type removeResult struct {
	Removed []croft.Removed `json:"removed"`
	Kept    []croft.Kept    `json:"kept"`
	Unknown []string        `json:"unknown,omitempty"` // names that were not there, which is exit status 3 without --missing-ok
}

func newRemoveCommand(a *app) *cobra.Command {
	var req croft.RemoveRequest
	var isAll, isForced, isMissingOK bool
	var agreement agreement
	cmd := &cobra.Command{
		Use:   "remove NAME...",
		Short: "Move workspaces to the trash",
		Long: `Move workspaces to the trash and delete their branches; the tips of the
branches are kept.

A workspace with uncommitted work is removed only if you say so: on a terminal
you are asked, elsewhere --yes says it. With --all you are asked in any case. A
workspace in which a process is at work is never removed.`,
		ValidArgsFunction: a.completeMany,
		RunE: func(cmd *cobra.Command, args []string) error {
			scope, reach, err := namesOrAll(cmd, args, isAll, "--all")
			if err != nil {
				return err
			}
			req.Repo, req.Workspaces, req.All = a.dir(), a.workspaceRefs(args), scope
			if isForced {
				req.Mode, agreement.isYes = croft.RemoveForce, true
			}
			if req.Key != "" && !isForced && (isAll || agreement.isYes) {
				return usageError(cmd, "with --key name the workspaces, and say --force for those with uncommitted work")
			}
			return a.serveAgreed(cmd, agreement, reach, func(ctx context.Context, svc croft.Service, agreed consent) error {
				if agreed != consentGiven {
					return a.runShownRemove(ctx, svc, req, agreed, isMissingOK)
				}
				withWork := consentAsk // whether uncommitted work goes along
				if agreement.isYes {
					withWork = consentGiven
				} else if !a.canAsk() || req.Key != "" {
					withWork = consentNone
				}
				return a.runRemove(ctx, svc, req, withWork, isMissingOK)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&isAll, "all", false, "all workspaces of the repository")
	flags.BoolVarP(&isForced, "force", "f", false, "also with uncommitted work or a lock; does not ask")
	agreement.addFlags(cmd)
	addWordFlag(cmd, &req.Branch, croft.BranchKeep, "keep-branch", "", "leave the branches")
	flags.BoolVar(&isMissingOK, "missing-ok", false, "a workspace that is not there is removed already")
	addKeyFlag(cmd, &req.Key)
	return cmd
}

func (a *app) runRemove(ctx context.Context, svc remover, req croft.RemoveRequest, withWork consent, isMissingOK bool) error {
	result, isDeclined, err := a.removeNamed(ctx, svc, req, withWork)
	if err != nil {
		return err
	}
	a.showRemoved(ctx, svc, *result)
	unknownErr := a.tellUnknown(ctx, svc, result.Unknown, isMissingOK)
	for _, k := range result.Kept {
		if isDeclined && errors.Is(k.Reason, croft.WorkspaceDirty) {
			a.note("kept %s", k.Name) // the user has just seen why
			continue
		}
		a.printKeptErrors([]croft.Kept{k})
	}
	if err := keptExitStatus(result.Kept); err != nil {
		return err
	}
	return unknownErr
}

// runShownRemove shows the workspaces that a removal would take, and removes them if
// the user agrees.
func (a *app) runShownRemove(ctx context.Context, svc remover, req croft.RemoveRequest, how consent, isMissingOK bool) error {
	plan, err := a.planRemove(ctx, svc, req)
	if err != nil {
		return err
	}
	yes, err := a.hasAgreedToTrash(ctx, how, plan, "no workspaces")
	if err != nil {
		return err
	}
	if how == consentDryRun {
		return a.tellUnknown(ctx, svc, plan.unknown, isMissingOK)
	}
	if !yes {
		if len(plan.list) == 0 { // there was nothing to ask about
			return keptExitStatus(plan.kept)
		}
		return nil
	}
	req.Agreed = plan.agreed()
	result, err := svc.Remove(ctx, req)
	if err != nil {
		return err
	}
	kept := result.Kept
	result.Kept = append(plan.kept, kept...)
	a.showRemoved(ctx, svc, *result)
	a.printKeptErrors(kept) // the others were told before the question
	return keptExitStatus(result.Kept)
}

// showRemoved prints the workspaces that were removed.
func (a *app) showRemoved(ctx context.Context, svc repoFinder, result croft.RemoveResult) {
	if a.json {
		a.emit(removeResult{result.Removed, result.Kept, result.Unknown})
	} else {
		if a.isShown() {
			a.printRemoved(ctx, svc, result.Removed)
		} else {
			a.printTable(removedRows(result.Removed))
		}
		a.noteTeardown(result.Removed)
	}
	if len(result.Removed) > 0 {
		a.startUpkeepAfter(ctx, svc)
	}
}

// tellUnknown says which names are not there, and makes them visible in the exit status. One that is in the trash was
// probably meant to be restored, or is removed already; another one may be mistyped.
func (a *app) tellUnknown(ctx context.Context, svc remover, names []string, isMissingOK bool) error {
	for _, name := range names {
		if isMissingOK {
			a.note("no workspace %s, nothing to remove", quoted(name))
			continue
		}
		e := &croft.Error{Code: croft.WorktreeNotFound, Message: "there is no workspace " + quoted(name), Hint: "croft list"}
		_, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: a.dir(), Ref: name})
		if found, ok := errors.AsType[*croft.Error](err); ok && found.Code == croft.WorktreeNotFound && found.Message != "" {
			e = found
		}
		if near := a.nearestName(ctx, svc, e); near != "" {
			e.Hint = "croft remove " + shellWord(near)
		}
		a.printError(e)
	}
	if len(names) == 0 || isMissingOK {
		return nil
	}
	return statusError(croft.WorktreeNotFound.ExitCode())
}

// planRemove finds out what a removal takes. Workspaces with uncommitted work are
// part of it, because the user may agree to that; others that are protected are kept.
func (a *app) planRemove(ctx context.Context, svc remover, req croft.RemoveRequest) (takePlan, error) {
	req.DryRun = croft.DryRunOn
	result, err := svc.Remove(ctx, req)
	if err != nil {
		return takePlan{}, err
	}
	plan := takePlan{unknown: result.Unknown}
	for _, r := range result.Removed {
		a.addToPlan(ctx, svc, &plan, croft.Removed{ID: r.ID, Name: r.Name})
	}
	for _, k := range result.Kept {
		if errors.Is(k.Reason, croft.WorkspaceDirty) {
			a.addWorkToPlan(ctx, svc, &plan, k)
		} else {
			plan.kept = append(plan.kept, k)
		}
	}
	return plan, nil
}

func isClean(s croft.Status) bool {
	return s.Staged+s.Modified+s.Untracked+s.Conflicted+len(s.Paths)+s.Ahead == 0
}

// removeNamed removes the workspaces of a request as one act, which one undo takes back. Those with uncommitted work go along if the user
// agrees to that; isDeclined is true if the user was asked and does not, and nothing is removed then.
func (a *app) removeNamed(ctx context.Context, svc remover, req croft.RemoveRequest, how consent) (result *croft.RemoveResult, isDeclined bool, err error) {
	first, asks := req, how != consentNone && req.Mode == croft.RemoveSafe
	isSeveral := len(req.Workspaces) > 1 || req.All == croft.ScopeAll
	if asks && isSeveral { // two calls that remove would be two acts
		first.DryRun = croft.DryRunOn
	}
	if result, err = svc.Remove(ctx, first); err != nil || !asks {
		return result, false, err
	}
	var plan takePlan
	var dirty, still []croft.Kept
	for _, kept := range result.Kept {
		if errors.Is(kept.Reason, croft.WorkspaceDirty) {
			a.addWorkToPlan(ctx, svc, &plan, kept)
			dirty = append(dirty, kept)
		} else {
			still = append(still, kept)
		}
	}
	if len(dirty) == 0 {
		if isSeveral {
			result, err = svc.Remove(ctx, req)
		}
		return result, false, err
	}
	for _, r := range result.Removed {
		if how == consentAsk {
			a.addToPlan(ctx, svc, &plan, croft.Removed{ID: r.ID, Name: r.Name})
		} else {
			plan.list = append(plan.list, taken{Removed: r})
		}
	}
	if how == consentAsk {
		yes, err := a.hasAgreedToTrash(ctx, how, plan, "")
		if err != nil || !yes {
			return declined(*result, dirty[0].Reason), true, err
		}
	}
	req.Agreed = plan.agreed()
	for _, kept := range still { // the Service says again why they stay
		req.Agreed.Workspaces = append(req.Agreed.Workspaces, kept.ID)
	}
	result, err = svc.Remove(ctx, req)
	return result, false, err
}

// declined is the plan of a removal as its result, if the user does not agree: all that is there stays, for the reason about which
// the user was asked.
func declined(plan croft.RemoveResult, reason *croft.Error) *croft.RemoveResult {
	for _, r := range plan.Removed {
		plan.Kept = append(plan.Kept, croft.Kept{ID: r.ID, Name: r.Name, Reason: reason})
	}
	plan.Removed = nil
	return &plan
}

// lossText says what a removal takes away and for how long it can be had back.
func (a *app) lossText(ws croft.Workspace, status croft.Status) string {
	files := len(status.Paths)
	if files == 0 {
		files = status.Staged + status.Modified + status.Untracked + status.Conflicted
	}
	var parts []string
	if files > 0 {
		parts = append(parts, countNoun(files, "file")+" not committed")
	}
	if status.Ahead > 0 && ws.Target != "" {
		parts = append(parts, countNoun(status.Ahead, "commit")+" not in "+ws.Target)
	}
	if len(parts) == 0 {
		parts = []string{"uncommitted work"}
	}
	return a.toTrash(ws, strings.Join(parts, ", "))
}

// toTrash says that what is named goes to the trash, and for how long.
func (a *app) toTrash(ws croft.Workspace, what string) string {
	text := what + " → trash"
	if kept := a.retentionText(ws.Repo); kept != "" {
		text += ", " + kept
	}
	return a.stderr().Signs().Spell(text)
}

// retentionKey is the setting that says how long the trash is kept.
const retentionKey = "trash.retention"

func (a *app) retentionText(root string) string {
	if a.env.Config == nil {
		return ""
	}
	view, err := a.configView(root)
	if err != nil {
		return "" // the question can be asked without it
	}
	text := view.value(retentionKey)
	if kept, err := parseAge(text); err == nil && kept.Hours() >= 24 {
		return countNoun(int(kept.Hours()/24), "day")
	}
	return text
}

// noteTeardown says what was left undone at removals.
func (a *app) noteTeardown(removed []croft.Removed) {
	for _, r := range removed {
		for _, note := range r.Notes {
			a.note("%s: %s", printable(r.Name), printable(note))
		}
	}
}

func removedRows(removed []croft.Removed) [][]cell {
	var rows [][]cell
	for _, r := range removed {
		row := plainRow(r.Name, "nothing to keep")
		if r.Trash != "" {
			row[1] = plainCell("trash " + string(r.Trash))
		}
		if r.Branch != "" {
			row = append(row, plainCell("deleted "+r.Branch))
		}
		rows = append(rows, row)
	}
	return rows
}

// printKeptErrors prints why workspaces were kept, in the form of errors.
func (a *app) printKeptErrors(kept []croft.Kept) {
	for _, k := range kept {
		reason := *k.Reason
		if reason.Workspace == "" {
			reason.Workspace = k.Name
		}
		a.printError(&reason)
	}
}

// keptExitStatus makes a workspace that was kept against the wish of the caller
// visible in the exit status.
func keptExitStatus(kept []croft.Kept) error {
	if len(kept) == 0 {
		return nil
	}
	return statusError(kept[0].Reason.Code.ExitCode())
}
