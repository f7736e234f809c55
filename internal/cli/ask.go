package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/croft-sh/croft"
)

// canAsk says whether there is a person to ask. A caller that wants JSON is a
// program.
func (a *app) canAsk() bool {
	return a.env.Terminal == TerminalInteractive && !a.json
}

// ask asks a question on the terminal; anything but yes is no.
func (a *app) ask(ctx context.Context, question string) (bool, error) {
	text, err := a.answer(ctx, question+" [y/N] ")
	if errors.Is(err, io.EOF) {
		return false, nil // the end of the input is no answer, which is no
	}
	return text == "y" || text == "yes", err
}

// answer prompts for one line and returns it in small letters, or io.EOF at the
// end of the input. The context ends the waiting for an answer, which a read
// from a terminal would not.
func (a *app) answer(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(a.env.Stderr, printable(prompt))
	answer := make(chan string, 1)
	go func() {
		text, _ := a.stdin.ReadString('\n')
		answer <- text
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.env.Stderr)
		return "", croft.AsError("ask", ctx.Err())
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
