package cli

import (
	"context"
	"testing"

	"github.com/croft-sh/croft"
)

// waitingIn is a Service whose queues have merges.
type waitingIn struct {
	acting
	merges []croft.Merge
	lanes  []croft.Lane
}

func (s *waitingIn) Merges(context.Context, croft.MergesRequest) (*croft.List[croft.Merge], error) {
	return &croft.List[croft.Merge]{Items: s.merges}, nil
}

func (s *waitingIn) Lanes(context.Context, croft.LanesRequest) (*croft.List[croft.Lane], error) {
	return &croft.List[croft.Lane]{Items: s.lanes}, nil
}

// TestWhoDrivesTheQueue: the command that drives a queue is said where no daemon does.
func TestWhoDrivesTheQueue(t *testing.T) {
	waits := croft.Merge{ID: "m", WorkspaceName: "a", Target: "main", State: croft.MergeQueued}
	held := waits
	held.IsHeld = true
	const driven, hint = "the daemon merges what waits\n", "  next: croft queue run\n"
	for _, c := range []struct {
		merge      croft.Merge
		daemon     error
		line, note string
	}{
		{waits, nil, "a  queued  → main  -\n", driven},
		{waits, croft.DaemonUnreachable, "a  queued  → main  -\n", hint},
		{held, nil, "a  held  → main  -\n", "  next: croft queue release a\n"},
	} {
		r := newRun(nil)
		r.env.Open = func(context.Context, string, map[string]string) (croft.Service, error) {
			return &waitingIn{merges: []croft.Merge{c.merge}}, nil
		}
		r.env.Daemon.Status = func(context.Context) (DaemonStatus, error) { return DaemonStatus{}, c.daemon }
		r.call(t, "queue").want(t, croft.ExitOK, c.line, c.note)
	}
}

// TestOwnCommitsOfATarget: a person is not told of commits of her own on a target, unless something is to be done about them.
func TestOwnCommitsOfATarget(t *testing.T) {
	own := croft.Lane{Target: "main", Added: 1, Message: "main has 1 commit that Croft did not merge"}
	protected, rewritten := own, own
	protected.Protect, rewritten.Gone = true, 1
	for _, c := range []struct {
		lane  croft.Lane
		width int
		note  string
	}{
		{own, 80, "nothing waits\n"},
		{own, 0, "nothing waits\n" + own.Message + "\n"},
		{protected, 80, "nothing waits\n" + own.Message + "\n  next: croft queue accept main\n"},
		{rewritten, 80, "nothing waits\n" + own.Message + "\n"},
	} {
		r := newRun(nil)
		r.env.Open = func(context.Context, string, map[string]string) (croft.Service, error) {
			return &waitingIn{lanes: []croft.Lane{c.lane}}, nil
		}
		r.env.Width = c.width
		r.call(t, "queue").want(t, croft.ExitOK, "", c.note)
	}
}
