package gitcmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/croft-sh/croft/internal/proc"
)

// Error says that a git command failed.
type Error struct {
	Args     []string
	Dir      string
	ExitCode int // -1: the process was not started, or was killed
	Stderr   string
	Kind     Kind
	Err      error
}

func (e *Error) Error() string {
	verb := "git"
	for i, a := range e.Args {
		isValue := i > 0 && e.Args[i-1] == "-c"
		if !isValue && !strings.HasPrefix(a, "-") {
			verb = "git " + a
			break
		}
	}
	if line := lastLine(e.Stderr); line != "" {
		return verb + ": " + line
	}
	return fmt.Sprintf("%s: %v", verb, e.Err)
}

// Unwrap returns the cause, such as the end of a context.
func (e *Error) Unwrap() error { return e.Err }

// Is lets errors.Is match kinds such as KindLocked.
func (e *Error) Is(target error) bool {
	k, ok := target.(Kind)
	return ok && k == e.Kind
}

// Wrap turns a failure to run git into an [Error].
func (g *Git) Wrap(args []string, dir string, err error) error {
	e := &Error{Args: args, Dir: dir, ExitCode: -1, Err: err}
	if exit, ok := errors.AsType[*proc.ExitError](err); ok {
		e.ExitCode = exit.Code
		e.Stderr = strings.TrimSpace(string(exit.Stderr))
		e.Kind = classify(e.Stderr)
	}
	return e
}

// WasKilled reports whether a process ended by a signal, so that it could not
// clean up.
func WasKilled(err error) bool {
	exit, ok := errors.AsType[*proc.ExitError](err)
	return err != nil && (!ok || exit.Code < 0)
}

// ExitCode returns the exit status of a command that failed, or -1.
func ExitCode(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.ExitCode
	}
	return -1
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.LastIndexByte(s, '\n'); i >= 0 {
		s = s[i+1:]
	}
	return s
}
