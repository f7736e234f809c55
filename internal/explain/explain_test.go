package explain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/worktree"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/snapshot"
)

// TestCodes: every kind of failure has its code, however deep it is wrapped, and a hint
// where there is a remedy.
func TestCodes(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want croft.Code
		hint bool
	}{
		{context.Canceled, croft.Canceled, false},
		{context.DeadlineExceeded, croft.Canceled, false},
		{fsx.ErrNotRegular, croft.FileIrregular, true},
		{object.ErrForged, croft.ObjectForged, true},
		{object.ErrMissing, croft.ObjectMissing, true},
		{gitcmd.KindUnrelated, croft.UnrelatedHistories, true},
		{syscall.ENOSPC, croft.NoSpace, true},
		{syscall.EIO, croft.DiskError, true},
		{os.ErrPermission, croft.NotWritable, false},
		{syscall.EBUSY, croft.NotWritable, true},
		{&gitcmd.TimeoutError{}, croft.GitTimeout, true},
		{gitdir.ErrNotFound, croft.GitNotFound, true},
		{gitdir.ErrNoRepository, croft.NotARepo, true},
		{gitdir.ErrDeadWorktree, croft.NotARepo, true},
		{worktree.ErrIndexLocked, croft.WorkspaceBusy, true},
		{gitcmd.ErrForeignAdmin, croft.WorkspaceBroken, true},
		{mergetree.ErrSigning, croft.SigningFailed, true},
		{gitcmd.ErrNoIdentity, croft.IdentityUnknown, true},
		{gitcmd.KindFilter, croft.FilterRefused, true},
		{&gitcmd.ConfigChangedError{}, croft.ConfigChanged, true},
		{gitcmd.ErrUnsafeGit, croft.GitUnsafe, true},
		{checkout.ErrExists, croft.WorktreeExists, false},
		{checkout.ErrOther, croft.WorkspaceBroken, true},
		{fsx.ErrMount, croft.NotWritable, true},
		{fsx.ErrLink, croft.NotWritable, true},
		{snapshot.ErrChanging, croft.WorkspaceBusy, true},
		{journal.ErrCorrupt, croft.StateUnavailable, true},
		{&journal.RowError{Table: "merges", Key: "k"}, croft.StateUnavailable, true},
		{journal.ErrClosed, croft.Closed, true},
		{errors.New("something new"), croft.Internal, false},
	} {
		err := Error("merge", "a", fmt.Errorf("deep: %w", tt.err))
		got, ok := errors.AsType[*croft.Error](err)
		if !ok || got.Code != tt.want || got.Op != "merge" || got.Message == "" || (got.Hint != "") != tt.hint {
			t.Errorf("%v: %+v", tt.err, got)
		}
	}
}

// TestKnown: an error that is explained already keeps its message, and gets the call and
// the workspace only if it has none.
func TestKnown(t *testing.T) {
	refused := &croft.Error{Code: croft.WorkspaceDirty, Message: "no"}
	for name, tt := range map[string]struct {
		err           error
		op, workspace string
	}{
		"bare":           {refused, "merge", "a"},
		"about another":  {WithWorkspace("b", refused), "merge", "b"},
		"of another":     {&croft.Error{Code: croft.WorkspaceDirty, Message: "no", Op: "remove", Workspace: "c"}, "remove", "c"},
		"about, wrapped": {fmt.Errorf("so: %w", WithWorkspace("b", fmt.Errorf("so: %w", refused))), "merge", "b"},
	} {
		got := croft.AsError("", Error("merge", "a", tt.err))
		if got.Code != croft.WorkspaceDirty || got.Message != "no" || got.Op != tt.op || got.Workspace != tt.workspace {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if refused.Op != "" {
		t.Error("the error itself was changed")
	}
	if Error("merge", "a", nil) != nil || WithWorkspace("a", nil) != nil {
		t.Error("no error is explained")
	}
	if !IsSystem(fmt.Errorf("write: %w", syscall.ENOSPC)) || IsSystem(errors.New("else")) {
		t.Error("what the system is the reason of")
	}
}
