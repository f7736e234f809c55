// Package access says what a process may do with Croft's state. In the sandbox of an agent it
// can usually be read and not written, or not even be seen: what only reads is answered all the
// same, and what has to write is refused before anything is done.
package access

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gitcmd"
)

// Access is how a process gets at the state.
type Access struct {
	// StateDir is the directory of the state.
	StateDir string
	// How is nil if the process can write the state.
	How *croft.ReadOnlyState
}

// Call is a call of the Service.
type Call struct {
	Op        string
	Workspace string
	Acts      bool // it may change something
}

// recordCalls are the calls whose answers only the state has.
var recordCalls = []string{
	"events", "history", "logs", "merge", "mounts", "prompt", "provision", "queue", "repos", "review", "revert", "round", "session", "snapshot", "trash", "trust", "undo",
}

// outside is the hint of a refusal. The command line gives it with the command that was typed.
const outside = "run it outside of the sandbox"

// Refuse returns the error of a call that this process cannot do, because it may not write the
// state, or cannot answer, because it cannot read it: that there is nothing would be a lie.
func (a Access) Refuse(c Call) error {
	switch {
	case a.How == nil:
		return nil
	case c.Acts:
		return a.readOnly(c)
	case a.How.Source == croft.ReadGit && slices.Contains(recordCalls, c.Op):
		return &croft.Error{
			Code: croft.StateUnavailable, Op: c.Op, Workspace: c.Workspace, Message: "this process cannot read Croft's record, and git does not know this",
			Details: a.StateDir, Hint: outside,
		}
	}
	return nil
}

// Explain returns the error of a call. If a call that usually only reads had to write and could
// not, the error says what Refuse says of others.
func (a Access) Explain(c Call, err error) error {
	if a.How != nil && isDenied(err) {
		return a.readOnly(c)
	}
	return err
}

func (a Access) readOnly(c Call) error {
	return &croft.Error{
		Code: croft.ReadOnly, Op: c.Op, Workspace: c.Workspace, Message: "this process cannot write Croft's record",
		Details: a.StateDir + "\nNothing was changed. If this is no sandbox, check the permissions of that directory, or set CROFT_STATE_DIR.", Hint: outside,
	}
}

// isDenied reports whether an error says that this process may not write.
func isDenied(err error) bool {
	return errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, gitcmd.KindDenied)
}

// Notice is what a user is told once about the answers, if the state cannot be written.
func (a Access) Notice() string {
	switch {
	case a.How == nil:
		return ""
	case a.How.Source == croft.ReadGit:
		return "read-only: answered from what git knows; nothing was recorded"
	case a.How.AsOf.IsZero():
		return "read-only: answered from the state as it is; nothing was recorded"
	}
	return fmt.Sprintf("read-only: answered from the state as of %s; nothing was recorded", a.How.AsOf.Local().Format("15:04:05"))
}
