package cli

import (
	"context"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/google/go-cmp/cmp"
)

// undoing shows one act, whatever is asked for, and keeps what is to be undone.
type undoing struct {
	acting
	asked []croft.UndoRequest
}

func (s *undoing) PlanUndo(context.Context, croft.UndoRequest) (*croft.UndoPlan, error) {
	return &croft.UndoPlan{Operation: croft.Operation{ID: "op1", Kind: "remove"}, Stamps: map[croft.ID]string{"a1": "seen"}}, nil
}

func (s *undoing) Undo(_ context.Context, req croft.UndoRequest) (*croft.Operation, error) {
	s.asked = append(s.asked, req)
	return &croft.Operation{}, nil
}

// TestUndoIsOfWhatWasShown: the act that was shown is undone, whatever was done since, and a person agrees to the work that was shown.
func TestUndoIsOfWhatWasShown(t *testing.T) {
	svc, r := &undoing{}, newRun(nil)
	r.env.Open = func(context.Context, string, map[string]string) (croft.Service, error) { return svc, nil }
	r.env.Terminal, r.stdin = TerminalInteractive, "y\n"
	r.call(t, "undo")
	r.call(t, "undo", "--yes")
	want := []croft.UndoRequest{
		{Repo: project, Operation: "op1", Stamps: map[croft.ID]string{"a1": "seen"}},
		{Repo: project, Operation: "op1"},
	}
	if diff := cmp.Diff(want, svc.asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s\n%s", diff, r.stderr.String())
	}
}
