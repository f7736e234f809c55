package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/results"
	"github.com/croft-sh/croft/internal/screen"
	"github.com/spf13/cobra"
)

// One rule says when Croft asks: when an act reaches further than the words that
// were typed. It does so if it takes what was not named, or if it takes uncommitted
// work along and the command does not speak of work. What it takes is shown, then
// Croft asks once. What was named is done without a question.
//
// --yes agrees beforehand, and so does --force, which overrides a protection
// besides. --dry-run shows and ends with 0. Where there is no person to ask, nothing is
// done, and the refusal says --yes. Approving what runs (config trust) has rules of
// its own: there --yes counts at a terminal only.

// consent says how the user agrees to what an act takes.
type consent int

const (
	consentAsk    consent = iota // show it and ask
	consentGiven                 // named, or --yes
	consentDryRun                // --dry-run: only show it
	consentNone                  // there is no person to ask
)

// reach says how far an act goes.
type reach int

const (
	reachNamed   reach = iota // what the command line names
	reachFurther              // more than that
)

// agreement has the flags of a command that decide whether it asks.
type agreement struct {
	isYes, isDryRun bool
}

func (g *agreement) addFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&g.isYes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVarP(&g.isDryRun, "dry-run", "n", false, "only tell")
}

// requireYes refuses a key where a person is asked: the repeated call could not show what
// the first one has done.
func (g *agreement) requireYes(cmd *cobra.Command, key string) error {
	if key == "" || g.isYes || g.isDryRun {
		return nil
	}
	return usageError(cmd, "with --key say --yes")
}

// consentFor decides by the flags and the reach of an act whether a command asks. It
// fails with NotConfirmed if the command had to ask and there is no person.
func (a *app) consentFor(cmd *cobra.Command, g agreement, r reach) (consent, error) {
	switch {
	case g.isDryRun:
		return consentDryRun, nil
	case g.isYes || r == reachNamed:
		return consentGiven, nil
	case a.canAsk():
		return consentAsk, nil
	}
	return consentNone, &croft.Error{
		Code: croft.NotConfirmed, Op: cmd.Name(),
		Message: "there is no terminal to ask on: add --yes, or --dry-run to see what would be done", Hint: a.withFlag(cmd, "--yes"),
	}
}

// serveAgreed finds out whether the user has agreed to the act, opens the Service, and
// calls use with the Service and the consent.
func (a *app) serveAgreed(cmd *cobra.Command, g agreement, r reach, use func(ctx context.Context, svc croft.Service, agreed consent) error) error {
	agreed, err := a.consentFor(cmd, g, r)
	if err != nil {
		return err
	}
	return a.serve(cmd, func(ctx context.Context, svc croft.Service) error { return use(ctx, svc, agreed) })
}

// withFlag returns the command line that was typed, with one more flag: at the end, or
// before a "--", behind which a flag would be a name.
func (a *app) withFlag(cmd *cobra.Command, flag string) string {
	words := a.typedWords(cmd)
	end := len(words)
	if n := cmd.ArgsLenAtDash(); n >= 0 {
		end = len(words) - (len(cmd.Flags().Args()) - n) - 1
	}
	return strings.Join(slices.Insert(words, end, flag), " ")
}

// typed returns the command line that was typed.
func (a *app) typed(cmd *cobra.Command) string { return strings.Join(a.typedWords(cmd), " ") }

func (a *app) typedWords(cmd *cobra.Command) []string {
	words := []string{cmd.Root().Name()}
	for _, arg := range a.env.Args {
		words = append(words, shellWord(arg))
	}
	return words
}

// hasAgreed reports whether the user agrees to an act, and asks if how is consentAsk.
func (a *app) hasAgreed(ctx context.Context, how consent, question string) (bool, error) {
	if how == consentAsk {
		return a.ask(ctx, question)
	}
	return how == consentGiven, nil
}

// noteRows shows rows on stderr, before a question.
func (a *app) noteRows(rows [][]cell) {
	for _, line := range results.Rows(a.stderr(), textsOf(rows)) {
		a.remark(screen.Span{Text: line})
	}
}

func textsOf(rows [][]cell) (texts [][]string) {
	for _, row := range rows {
		var line []string
		for _, c := range row {
			line = append(line, c.line())
		}
		texts = append(texts, line)
	}
	return texts
}

// canAsk reports whether there is a person to ask. A caller that wants JSON is a
// program.
func (a *app) canAsk() bool {
	return a.env.Terminal == TerminalInteractive && !a.json
}

// ask asks a question on the terminal; anything but yes is no.
func (a *app) ask(ctx context.Context, question string) (bool, error) {
	text, err := a.askLine(ctx, question+" [y/N] ")
	if errors.Is(err, io.EOF) {
		return false, nil // the end of the input is no answer, which is no
	}
	return text == "y" || text == "yes", err
}

// askLine prompts for one line and returns it in small letters, or io.EOF at the
// end of the input. The context ends the waiting for an answer, which a read
// from a terminal would not.
func (a *app) askLine(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(a.env.Stderr, strings.Join(wrapSentence(a.stderr(), "", strings.TrimRight(printable(prompt), " ")), "\n")+" ")
	answer := make(chan string, 1)
	go func() {
		text, _ := a.stdin.ReadString('\n')
		answer <- text
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.env.Stderr)
		return "", &croft.Error{Code: croft.Canceled, Op: "ask", Message: "the question was left unanswered, and nothing was done", Err: ctx.Err()}
	case text := <-answer:
		if !strings.HasSuffix(text, "\n") {
			fmt.Fprintln(a.env.Stderr)
		}
		if text == "" {
			return "", io.EOF
		}
		return strings.ToLower(strings.TrimSpace(text)), nil
	}
}
