package cli

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/croft-sh/croft"
)

// mergesNow is a Service that has merges.
type mergesNow map[string]croft.Merge

func (s mergesNow) Merge(_ context.Context, req croft.GetRequest) (*croft.Merge, error) {
	m := s[string(req.Ref)]
	return &m, nil
}

func (mergesNow) CheckLog(context.Context, croft.CheckLogRequest) (*croft.CheckLog, error) {
	return nil, croft.CheckNotFound
}

// TestLeavingMerges: who stops to wait for merges reads who goes on with them, and which of them can be canceled.
func TestLeavingMerges(t *testing.T) {
	queued, checking := croft.Merge{State: croft.MergeQueued}, croft.Merge{State: croft.MergeChecking}
	const shows = ": croft queue shows how far; what is being checked cannot be canceled\n"
	for _, c := range []struct {
		name      string
		a, b      croft.Merge
		noDaemon  error
		wantNotes string
	}{
		{"nobody", queued, queued, croft.DaemonUnreachable, "no longer waiting; a, b stay queued, and the next merge takes them along: croft queue run, or croft queue cancel a b\n"},
		{"nobody, one is left", croft.Merge{State: croft.MergeDone}, queued, croft.DaemonUnreachable, "no longer waiting; b stays queued, and the next merge takes it along: croft queue run, or croft queue cancel b\n"},
		{"ended", croft.Merge{State: croft.MergeDone}, croft.Merge{State: croft.MergeDone}, nil, "no longer waiting; nothing is queued any more: croft list\n"},
		{"a process", checking, checking, croft.DaemonUnreachable, "no longer waiting; another croft process goes on with a, b" + shows},
		{"a process, and one behind", checking, queued, croft.DaemonUnreachable, "no longer waiting; another croft process goes on with a" + shows + "no longer waiting; b stays queued, and the next merge takes it along: croft queue run, or croft queue cancel b\n"},
		{"the daemon", checking, checking, nil, "no longer waiting; the daemon goes on with a, b" + shows},
		{"the daemon, later", queued, queued, nil, "no longer waiting; the daemon goes on with a, b: croft queue cancel a b takes them out\n"},
		{"the daemon, and one behind", checking, queued, nil, "no longer waiting; the daemon goes on with a, b: croft queue cancel b takes out what is not being checked\n"},
		{"the daemon, and a held one", queued, croft.Merge{State: croft.MergeQueued, IsHeld: true}, nil, "no longer waiting; the daemon goes on with a: croft queue cancel a takes it out\nno longer waiting; b is held: croft queue release b\n"},
	} {
		var w bytes.Buffer
		a := &app{env: Env{Stderr: &w}}
		a.env.Daemon.Status = func(context.Context) (DaemonStatus, error) { return DaemonStatus{}, c.noDaemon }
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		waited := []croft.Merge{{ID: "1", WorkspaceName: "a"}, {ID: "2", WorkspaceName: "b"}}
		c.a.WorkspaceName, c.b.WorkspaceName = "a", "b"
		err := a.leaveMerges(ctx, mergesNow{"1": c.a, "2": c.b}, waited, context.Canceled)
		if w.String() != c.wantNotes || !errors.Is(err, statusError(croft.ExitCanceled)) {
			t.Errorf("%s: %v, %q; want %q", c.name, err, w.String(), c.wantNotes)
		}
	}
}
