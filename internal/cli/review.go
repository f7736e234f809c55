package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

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

func (a *app) runReview(ctx context.Context, svc applier, req croft.ReviewRequest, message string) error {
	work, err := svc.CreateReview(ctx, req)
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
		a.printLine("review " + string(work.ID))
		a.showFiles(work)
		a.showHunks(work.Files)
		a.note("hint: croft apply %s --review %s PATH...", shellWord(work.WorkspaceName), work.ID)
		return nil
	}
	c := chooser{app: a, req: croft.ApplyRequest{Repo: req.Repo, Review: work.ID, Message: message}}
	if err := c.choose(ctx, work.Files); err != nil {
		return err
	}
	if c.hasQuit || len(c.chosen) == 0 {
		a.note("nothing was applied")
		return nil
	}
	for _, line := range c.chosen {
		a.note("  %s", line)
	}
	yes, err := a.ask(ctx, fmt.Sprintf("Apply %s to %s?", countNoun(len(c.chosen), "file"), work.Target))
	if err != nil {
		return err
	}
	if !yes {
		a.note("nothing was applied")
		return nil
	}
	return a.applyChosen(ctx, svc, c.req)
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

// chooser goes through a review with a person.
type chooser struct {
	*app
	req     croft.ApplyRequest
	chosen  []string // what was, in words
	isDone  bool     // no more questions
	hasQuit bool     // and nothing is to be applied
}

// reviewHelp explains the answers.
const reviewHelp = `y - apply it
n - leave it
a - apply it and all that follows in this file
d - done: leave everything that follows
q - quit: apply nothing
? - this`

func (c *chooser) choose(ctx context.Context, files []croft.ReviewFile) error {
	for i, f := range files {
		if c.isDone {
			return nil
		}
		fmt.Fprint(c.out, c.patchLine(fmt.Sprintf("%s (%s)", patchPath("", f.Path), fileSummary(f)), styleBold))
		if err := c.chooseFile(ctx, f, fmt.Sprintf("file %d of %d", i+1, len(files))); err != nil {
			return err
		}
	}
	return nil
}

// chooseFile asks about a file that changes as a whole, or about its hunks.
func (c *chooser) chooseFile(ctx context.Context, f croft.ReviewFile, which string) error {
	if len(f.Hunks) == 0 {
		letter, err := c.askLetter(ctx, which)
		if letter == "y" || letter == "a" {
			c.addChoice(f, nil)
		}
		return err
	}
	var taken []int
	rest := false
	for _, h := range f.Hunks {
		if rest {
			taken = append(taken, h.ID)
			continue
		}
		if c.isDone {
			break
		}
		if _, err := io.WriteString(c.out, c.hunkText(h)); err != nil {
			return err
		}
		letter, err := c.askLetter(ctx, fmt.Sprintf("%s, hunk %d of %d", which, h.ID, len(f.Hunks)))
		if err != nil {
			return err
		}
		rest = letter == "a"
		if letter == "y" || rest {
			taken = append(taken, h.ID)
		}
	}
	if len(taken) > 0 {
		c.addChoice(f, taken)
	}
	return nil
}

// addChoice adds a file, or the chosen hunks of it, to the request.
func (c *chooser) addChoice(f croft.ReviewFile, hunks []int) {
	name := patchPath("", f.Path)
	if len(hunks) == len(f.Hunks) {
		c.req.Paths = append(c.req.Paths, f.Path)
		c.chosen = append(c.chosen, name)
		return
	}
	if c.req.Hunks == nil {
		c.req.Hunks = map[string][]int{}
	}
	c.req.Hunks[f.Path] = hunks
	c.chosen = append(c.chosen, fmt.Sprintf("%s (%d of %s)", name, len(hunks), countNoun(len(f.Hunks), "hunk")))
}

// askLetter asks until there is an answer. The end of the input quits.
func (c *chooser) askLetter(ctx context.Context, about string) (string, error) {
	for {
		text, err := c.askLine(ctx, about+": apply? [y,n,a,d,q,?] ")
		if errors.Is(err, io.EOF) {
			text, err = "q", nil
		}
		if err != nil {
			return "", err
		}
		switch text {
		case "y", "n", "a":
			return text, nil
		case "d", "q":
			c.isDone, c.hasQuit = true, text == "q"
			return text, nil
		}
		fmt.Fprintln(c.env.Stderr, reviewHelp)
	}
}
