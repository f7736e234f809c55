package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/help"
	"github.com/spf13/cobra"
)

// statusError is an exit status without a message: the command has printed everything.
type statusError int

func (statusError) Error() string { return "exit status" }

// Main runs one command and returns the exit status.
func Main(ctx context.Context, env Env) int {
	env.Program = cmp.Or(env.Program, "croft")
	if env.Now == nil {
		env.Now = time.Now
	}
	app := &app{
		env:   env,
		stdin: bufio.NewReader(env.Stdin),
		out:   &output{w: env.Stdout},
		json:  hasJSONFlag(env.Args),
	}
	err := app.execute(ctx)
	app.showPage(ctx)
	if err == nil && app.out.err != nil {
		err = &croft.Error{Code: croft.Internal, Op: "print", Message: "the output could not be written", Err: app.out.err}
	}
	return app.reportError(err)
}

func (a *app) execute(ctx context.Context) error {
	root := newRootCommand(a)
	if word := firstWord(a.env.Args); word != "" && !help.HasCommand(root, word) {
		return unknownCommandError(root, word)
	}
	root.SetArgs(a.env.Args)
	root.SetIn(a.stdin)
	root.SetOut(a.out)
	root.SetErr(a.env.Stderr)
	return root.ExecuteContext(ctx)
}

// reportError prints an error and returns the exit status for it.
func (a *app) reportError(err error) int {
	if err == nil {
		return croft.ExitOK
	}
	if status, ok := errors.AsType[statusError](err); ok {
		return int(status)
	}
	e := asUsageError(err)
	if a.silent {
		return e.Code.ExitCode()
	}
	if a.json && !a.hasAnswered { // one object is printed: an answer says itself what failed in a part of it
		a.emit(errorResult{*e})
	}
	a.printError(e)
	return e.Code.ExitCode()
}

// asUsageError takes an error that no command made for one about the way the
// program was called: the flag parser returns plain errors.
func asUsageError(err error) *croft.Error {
	if e, ok := errors.AsType[*croft.Error](err); ok {
		return e
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return croft.AsError("run", err)
	}
	return &croft.Error{Code: croft.InvalidRequest, Op: "parse", Message: err.Error()}
}

// hasJSONFlag reports whether the arguments have --json, before the flags are parsed,
// so that an error in the flags is printed as JSON as well.
func hasJSONFlag(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

// firstWord is the command's name: the first argument that is neither a
// global flag nor the value of one.
func firstWord(args []string) string {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			return ""
		case slices.Contains([]string{"--repo", "-C", "--set", "--color"}, arg):
			i++
		case strings.HasPrefix(arg, "-"):
		default:
			return arg
		}
	}
	return ""
}

func unknownCommandError(parent *cobra.Command, word string) *croft.Error {
	e := &croft.Error{
		Code:    croft.InvalidRequest,
		Op:      "parse",
		Message: "unknown command " + quoted(word),
		Hint:    parent.CommandPath() + " --help",
	}
	if word == "log" && !parent.HasParent() { // one letter apart from one of those that may be meant
		e.Details, e.Hint = parent.CommandPath()+" logs NAME shows what a check or an agent printed", parent.CommandPath()+" history"
		return e
	}
	if word == "watch" && !parent.HasParent() {
		e.Hint = parent.CommandPath() + " list --watch"
	} else if near := nearestCommand(parent, word); near != "" {
		e.Hint = parent.CommandPath() + " " + near
	}
	return e
}
