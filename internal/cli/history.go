package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/listing"
	"github.com/spf13/cobra"
)

func newHistoryCommand(a *app) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "history",
		Short: "List what was done, the last first",
		Args:  takesNothing,
		RunE: a.withService(func(ctx context.Context, svc croft.Service, _ []string) error {
			return a.runHistory(ctx, svc, croft.HistoryRequest{Repo: a.dir(), Page: croft.Page{Limit: limit}})
		}),
	}
	cmd.Flags().IntVarP(&limit, "limit", "L", 20, "show at most `N`")
	formerFlag(cmd, "limit", "number", "n")
	return cmd
}

func (a *app) runHistory(ctx context.Context, svc croft.History, req croft.HistoryRequest) error {
	operations, err := svc.History(ctx, req)
	if err != nil {
		return err
	}
	if a.json {
		a.emit(operationsResult{operations.Items})
		return nil
	}
	if len(operations.Items) == 0 {
		a.note("nothing was done yet")
		return nil
	}
	a.page()
	if a.isShown() {
		a.printHistory(operations.Items, takenBackBy(ctx, svc, req.Repo, operations.Items))
		return nil
	}
	now := a.env.Now()
	rows := [][]cell{headingRow("ID", "WHEN", "WHO", "WHAT", "WORKSPACES", "STATE", "UNDO")}
	for _, op := range operations.Items {
		undo := plainCell("-")
		if op.IsUndoable {
			undo = cell{command: "croft undo " + string(op.ID)}
		}
		rows = append(rows, append(plainRow(string(op.ID), ageText(now, op.StartedAt)+" ago", op.Actor, op.Kind, orDash(op.WorkspaceName), op.State), undo))
	}
	a.printYielding(rows, yield{"WORKSPACES", yieldName}, yield{"WHO", yieldWhole}, yield{"ID", yieldWhole}, yield{"STATE", yieldWhole}, yield{"WHEN", yieldWhole})
	return nil
}

// takenBackBy returns the acts that the undos of a list took back, as far as they are not in the list. One that cannot be
// read is left out: an undo is told without it.
func takenBackBy(ctx context.Context, svc croft.History, repo croft.Ref, list []croft.Operation) (more []croft.Operation) {
	known := map[croft.ID]bool{"": true}
	for _, op := range list {
		known[op.ID] = true
	}
	for todo := slices.Clone(list); len(todo) > 0; todo = todo[1:] { // an undo may take back another one
		id := todo[0].Undoes
		if known[id] {
			continue
		}
		known[id] = true
		if op, err := svc.Operation(ctx, croft.GetRequest{Repo: repo, Ref: string(id)}); err == nil {
			more, todo = append(more, *op), append(todo, *op)
		}
	}
	return more
}

// undoPlan is what an undo would do.
type undoPlan struct {
	DryRun bool `json:"dryRun"` // true
	croft.UndoPlan
}

func newUndoCommand(a *app) *cobra.Command {
	var isForced bool
	var key string
	var agreement agreement
	cmd := &cobra.Command{
		Use:   "undo [OP]",
		Short: "Take back what was done last",
		Long: `Take back your last act: what was made goes to the trash, what was removed is
restored. It says what it will do, and asks unless you name the act. Repeated, it
goes further back. An undo can be undone by its name; "croft history" shows all.`,
		Example: `  croft undo
  croft undo k3v9q2m7x4t1b8n5`,
		Args: takesOptional("act"),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := croft.UndoRequest{Key: key, Repo: a.dir()}
			reach := reachFurther
			if len(args) > 0 {
				req.Operation, reach = croft.ID(args[0]), reachNamed
			}
			if isForced {
				req.Mode, agreement.isYes = croft.RemoveForce, true
			}
			if key != "" && len(args) == 0 && !agreement.isYes && !agreement.isDryRun {
				return usageError(cmd, "with --key name the act, or say --yes")
			}
			return a.serveAgreed(cmd, agreement, reach, func(ctx context.Context, svc croft.Service, agreed consent) error {
				if cmd.CalledAs() == redoName && req.Operation == "" {
					var err error
					if req.Operation, err = lastUndo(ctx, svc, req.Repo); err != nil {
						return err
					}
				}
				if key != "" && agreed == consentGiven { // what the first call found, which is not shown again
					words := takingBack()
					if cmd.CalledAs() == redoName {
						words = doingAgain()
					}
					return a.undo(ctx, svc, req, words)
				}
				return a.runUndo(ctx, svc, req, agreed)
			})
		},
	}
	cmd.Flags().BoolVarP(&isForced, "force", "f", false, "also what holds uncommitted work; it goes to the trash; does not ask")
	agreement.addFlags(cmd)
	addKeyFlag(cmd, &key)
	return cmd
}

// shownStep is a step of a plan as a terminal shows it: the path at its end relative to the working directory.
func (a *app) shownStep(step string) string {
	const to = " from the trash to "
	what, path, isRestored := strings.Cut(step, to)
	if !isRestored || !a.isShown() {
		return step
	}
	return what + to + a.shownPath(path)
}

func (a *app) runUndo(ctx context.Context, svc croft.History, req croft.UndoRequest, agreed consent) error {
	plan, err := svc.PlanUndo(ctx, req)
	if err != nil {
		return err
	}
	words := takingBack()
	if plan.Operation.Kind == "undo" {
		words = doingAgain()
	}
	if a.isShown() {
		a.note("%s: %s, %s", words.plan, a.actText(ctx, svc, req.Repo, plan.Operation), whenText(a.env.Now(), plan.Operation.StartedAt))
	} else {
		a.note("%s of %s ago: %s", plan.Operation.Kind, ageText(a.env.Now(), plan.Operation.StartedAt), plan.Operation.WorkspaceName)
	}
	for _, step := range plan.Steps {
		a.note("  %s", a.shownStep(step))
	}
	a.noteUndoPlan(plan)
	if agreed == consentDryRun {
		if a.json {
			a.emit(undoPlan{true, *plan})
		}
		return nil
	}
	yes, err := a.hasAgreed(ctx, agreed, "Do that?")
	if err == nil && !yes {
		a.note("%s", words.declined)
	}
	if err != nil || !yes {
		return err
	}
	req.Operation = plan.Operation.ID // what was shown, whatever happened since
	if agreed == consentAsk {
		req.Stamps = plan.Stamps
	}
	return a.undo(ctx, svc, req, words)
}

// undoWords are how an undo is spoken of.
type undoWords struct{ plan, done, declined string }

func takingBack() undoWords { return undoWords{"take back", "undone", "nothing was taken back"} }

// doingAgain are the words for an undo that is taken back.
func doingAgain() undoWords { return undoWords{"do again", "redone", "nothing was done again"} }

// actText is an act as the history has it, of an undo the act that it took back.
func (a *app) actText(ctx context.Context, svc croft.History, repo croft.Ref, op croft.Operation) string {
	known := takenBackBy(ctx, svc, repo, []croft.Operation{op})
	if op.Kind == "undo" && op.Undoes != "" {
		return listing.AgainText(op, known)
	}
	return listing.ActText(op, known)
}

func (a *app) undo(ctx context.Context, svc croft.History, req croft.UndoRequest, words undoWords) error {
	done, err := svc.Undo(ctx, req)
	if err != nil {
		return err
	}
	if a.json {
		a.emit(operationResult{*done})
		return nil
	}
	for _, note := range done.Notes {
		a.note("%s", note)
	}
	if a.isShown() {
		a.printUndone(done, a.shortOperation(ctx, svc, done.ID), words.done)
		return nil
	}
	if done.IsUndoable {
		a.note("%s; croft undo %s takes that back", words.done, done.ID)
		return nil
	}
	a.note("%s; nothing had to be changed", words.done)
	return nil
}

// noteUndoPlan prints on stderr which step of an undo would be refused, and which later
// acts of other actors stay.
func (a *app) noteUndoPlan(plan *croft.UndoPlan) {
	if why := plan.Refused; why != nil {
		a.note("%s: this will be refused: %s", why.Workspace, why.Message)
		if why.Hint != "" {
			a.note("hint: %s", why.Hint)
		}
	}
	if len(plan.Later) == 0 {
		return
	}
	last, more := plan.Later[0], ""
	if n := len(plan.Later) - 1; n > 0 {
		more = fmt.Sprintf("; so do %d more: croft history", n)
	}
	a.note("%s of %s, later and by %s, stays; croft undo %s takes it back%s", last.Kind, last.WorkspaceName, last.Actor, last.ID, more)
}
