package engine_test

import (
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestUnknownWords: a request with an unknown word is refused, and nothing is changed.
func TestUnknownWords(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	create(t, e, croft.CreateRequest{Name: "a"})
	ctx := t.Context()
	calls := map[string]func() error{
		"clean":  func() error { _, err := e.Clean(ctx, croft.CleanRequest{DryRun: "true"}); return err },
		"reap":   func() error { _, err := e.Reap(ctx, croft.ReapRequest{DryRun: "yes"}); return err },
		"remove": func() error { _, err := e.Remove(ctx, croft.RemoveRequest{All: "everything"}); return err },
		"force": func() error {
			_, err := e.Remove(ctx, croft.RemoveRequest{Workspaces: []string{"a"}, Mode: "safe"})
			return err
		},
		"several": func() error {
			_, err := e.CreateAll(ctx, croft.CreateAllRequest{Workspaces: []croft.CreateRequest{{}, {Fetch: "always"}}})
			return err
		},
		"queue":  func() error { _, err := e.ChangeQueue(ctx, croft.QueueRequest{Action: "stop"}); return err },
		"doctor": func() error { _, err := e.Doctor(ctx, croft.DoctorRequest{Fix: "some"}); return err },
		"list": func() error {
			_, err := e.Workspaces(ctx, croft.WorkspacesRequest{States: []croft.State{"gone"}})
			return err
		},
		"events": func() error {
			for _, err := range e.Events(ctx, croft.EventsRequest{Follow: "all"}) {
				return err
			}
			return nil
		},
	}
	for name, call := range calls {
		if got := croft.AsError("", call()); got == nil || got.Code != croft.InvalidRequest {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := names(t, e); len(got) != 1 {
		t.Errorf("workspaces %v", got)
	}
}
