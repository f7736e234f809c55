package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

func newReviewCommand(a *app) *cobra.Command {
	req := croft.ReviewRequest{Applied: croft.AppliedHidden}
	var message string
	cmd := &cobra.Command{
		Use:   "review [NAME]",
		Short: "Go through a workspace's work and choose what to apply",
		Long: `Go through the work of a workspace file by file and hunk by hunk, and bring what
you choose to the target branch as one commit. What you see is frozen: the agent
may go on working.

On a terminal the keys are those of "git add -p", and b goes back. In the end what
was chosen is listed, and you are asked once. A no says how to apply it later.

Without a terminal the review is made and printed; "croft apply --review" takes
a part of it.`,
		Example: `  croft review fix-login
  croft review fix-login --json`,
		Args:              takesOptional("workspace"),
		ValidArgsFunction: a.completeOne,
		RunE: a.withService(func(ctx context.Context, svc croft.Service, args []string) error {
			req.Repo, req.Workspace = a.dir(), a.optionalRef(args)
			return a.runReview(ctx, svc, req, message)
		}),
	}
	flags := cmd.Flags()
	addIntoFlag(cmd, &req.Target, "another target")
	flags.StringVarP(&message, "message", "m", "", "the commit's `message`")
	addKeyFlag(cmd, &req.Key)
	return cmd
}

func (a *app) runReview(ctx context.Context, svc applier, asked croft.ReviewRequest, message string) error {
	work, err := svc.CreateReview(ctx, asked)
	if err != nil {
		return err
	}
	if a.json {
		a.emit(reviewResult{*work})
		return nil
	}
	a.noteHeldBack(work)
	if len(work.Files) == 0 {
		a.note("%s has no work that %s lacks", work.WorkspaceName, work.Target)
		return nil
	}
	if !a.canAsk() || a.env.Width == 0 {
		a.page()
		a.printLine("review " + string(work.ID))
		a.showFiles(work, false)
		a.showHunks(work.Files)
		a.remarkNext(fmt.Sprintf("croft apply %s --review %s PATH...", shellWord(work.WorkspaceName), work.ID))
		return nil
	}
	c := newChooser(a, work)
	if err := c.choose(ctx); err != nil {
		return err
	}
	req, lines := c.request()
	req.Repo, req.Message = asked.Repo, message
	if len(lines) == 0 {
		a.note("nothing was applied")
		return nil
	}
	for _, line := range lines {
		a.note("  %s", line)
	}
	yes, err := a.askToApply(ctx, fmt.Sprintf("Apply %s to %s? [y/n] ", countNoun(len(lines), "file"), work.Target))
	if !yes {
		a.note("nothing was applied")
		a.remarkNext(repeatCommand(work, req))
		return err
	}
	return a.applyChosen(ctx, svc, req)
}

// askToApply asks about all that was chosen, until the answer is one: a choice is not lost by a key next to the right
// one. The end of the input is no.
func (a *app) askToApply(ctx context.Context, question string) (bool, error) {
	for {
		text, err := a.askLine(ctx, question)
		switch {
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			return false, err
		case text == "y" || text == "yes":
			return true, nil
		case text == "n" || text == "no" || text == "q":
			return false, nil
		}
		a.note("y applies what is listed above, n applies nothing")
	}
}

// repeatCommand is the command that applies a choice. Hunks that were divided or edited have no number: they are to be
// chosen again.
func repeatCommand(work *croft.Review, req croft.ApplyRequest) string {
	name := shellWord(work.WorkspaceName)
	if len(req.Edits) > 0 {
		return "croft review " + name
	}
	words := []string{"croft apply", name, "--review", string(work.ID)}
	if req.Message != "" {
		words = append(words, "-m", shellWord(req.Message))
	}
	for _, path := range slices.Sorted(maps.Keys(req.Hunks)) {
		var ids []string
		for _, id := range req.Hunks[path] {
			ids = append(ids, strconv.Itoa(id))
		}
		words = append(words, "--hunks", shellWord(path+":"+strings.Join(ids, ",")))
	}
	for _, path := range req.Paths {
		words = append(words, shellWord(path))
	}
	return strings.Join(words, " ")
}

// showHunks prints where the hunks of a file are, as --hunks names them, if it has several.
func (a *app) showHunks(files []croft.ReviewFile) {
	var rows [][]cell
	for _, f := range files {
		if len(f.Hunks) < 2 {
			continue
		}
		for _, h := range f.Hunks {
			rows = append(rows, plainRow(fmt.Sprintf("%s:%d", patchPath("", f.Path), h.ID), visibleText(h.Header)))
		}
	}
	if len(rows) > 0 {
		a.printLine("hunks, for croft apply --hunks:")
		a.printTable(rows)
	}
}
