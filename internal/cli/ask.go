package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/croft-sh/croft"
)

// canAsk says whether there is a person to ask. A caller that wants JSON is a
// program.
func (a *app) canAsk() bool {
	return a.env.Terminal == TerminalInteractive && !a.json
}

// ask asks a question on the terminal; anything but yes is no. The context
// ends the waiting for an answer, which a read from a terminal would not.
func (a *app) ask(ctx context.Context, question string) (bool, error) {
	fmt.Fprintf(a.env.Stderr, "%s [y/N] ", printable(question))
	answer := make(chan string, 1)
	go func() {
		text, _ := a.stdin.ReadString('\n') // the end of the input is no answer, which is no
		answer <- text
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.env.Stderr)
		return false, croft.AsError("ask", ctx.Err())
	case text := <-answer:
		if !strings.HasSuffix(text, "\n") {
			fmt.Fprintln(a.env.Stderr)
		}
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "y", "yes":
			return true, nil
		}
		return false, nil
	}
}
