package telling

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
)

// rows are records for tests.
type rows struct {
	workspaces map[croft.ID]Workspace
	leases     []croft.Lease
}

func (r rows) Workspace(id croft.ID) (Workspace, error) {
	w, ok := r.workspaces[id]
	if !ok {
		return w, ErrNotFound
	}
	return w, nil
}

func (rows) Merge(croft.ID) (Merge, error)                { return Merge{}, ErrNotFound }
func (r rows) Leases(croft.ID) ([]croft.Lease, error)     { return r.leases, nil }
func (rows) ActOf(croft.ID) (croft.ID, []croft.ID, error) { return "act", []croft.ID{"w"}, nil }

func workspace(state croft.State) Workspace {
	return Workspace{Repo: "r", Workspace: croft.Workspace{ID: "w", Name: "name", State: state}}
}

func merged(state croft.MergeState, isHeld bool) Merge {
	return Merge{Repo: "r", Act: "submit", Merge: croft.Merge{ID: "m", Workspace: "w", WorkspaceName: "name", Target: "main", State: state, IsHeld: isHeld}}
}

// TestUntold: what a transaction wrote is told of, once, unless it is as it was read or an
// event of the caller tells of it.
func TestUntold(t *testing.T) {
	short := croft.Lease{ID: "short", ExpiresAt: time.Unix(1, 0)}
	long := croft.Lease{ID: "long", ExpiresAt: time.Unix(2, 0)}
	r := rows{map[croft.ID]Workspace{"w": workspace(croft.Ready)}, []croft.Lease{short, long}}
	for name, c := range map[string]struct {
		do   func(s *Story)
		want string
	}{
		"nothing": {func(*Story) {}, ""},
		"written": {func(s *Story) { s.WroteWorkspace(workspace(croft.Ready)); s.WroteWorkspace(workspace(croft.Ready)) }, "workspace.changed"},
		"as it was": {func(s *Story) {
			s.Read("w", workspace(croft.Ready).Workspace)
			s.WroteWorkspace(workspace(croft.Ready))
		}, ""},
		"told": {func(s *Story) {
			s.WroteWorkspace(workspace(croft.Ready))
			s.Emit(croft.Event{Kind: "x", Subjects: croft.Subjects{Workspace: "w"}})
		}, "x"},
		"deleted":  {func(s *Story) { s.WroteWorkspace(workspace(croft.Ready)); s.Deleted(workspace(croft.Ready)) }, "workspace.forgotten"},
		"lease":    {func(s *Story) { s.WroteLease("w") }, "workspace.changed"},
		"no lease": {func(s *Story) { s.WroteLease("other") }, ""},
		"started": {func(s *Story) {
			s.Read("m", merged(croft.MergeQueued, false).Merge)
			s.WroteMerge(merged(croft.MergeMerging, false))
		}, "merge.started"},
		"checking": {func(s *Story) {
			s.Read("m", merged(croft.MergeQueued, false).Merge)
			s.WroteMerge(merged(croft.MergeChecking, false))
		}, "merge.started merge.checking"},
		"requeued": {func(s *Story) {
			s.Read("m", merged(croft.MergeChecking, false).Merge)
			s.WroteMerge(merged(croft.MergeQueued, false))
		}, "merge.queued"},
		"held": {func(s *Story) {
			s.Read("m", merged(croft.MergeQueued, false).Merge)
			s.WroteMerge(merged(croft.MergeQueued, true))
		}, "merge.held"},
		"released": {func(s *Story) {
			s.Read("m", merged(croft.MergeQueued, true).Merge)
			s.WroteMerge(merged(croft.MergeQueued, false))
		}, "merge.released"},
		"unread": {func(s *Story) { s.WroteMerge(merged(croft.MergeDone, false)) }, "merge.changed"},
	} {
		s := New()
		c.do(s)
		s.Ended("op")
		list, err := s.Events(r, time.Unix(3, 0))
		var kinds []string
		for _, e := range list {
			kinds = append(kinds, e.Kind)
			switch {
			case e.Kind == croft.EventWorkspaceForgotten && (e.WorkspaceName != "name" || e.After != nil || e.Repo != "r"):
				t.Errorf("%s: %+v", name, e)
			case e.Merge != "" && (e.After.Merge == nil || e.Operation != "submit" || e.Target != "main" || e.WorkspaceName != "name"):
				t.Errorf("%s: %+v", name, e)
			case e.Merge == "" && e.Kind != croft.EventWorkspaceForgotten && (e.After.Workspace.Lease.ID != "long" || e.Operation != "act" || e.WorkspaceName != "name"):
				t.Errorf("%s: %+v", name, e)
			}
		}
		if got := strings.Join(kinds, " "); got != c.want || err != nil {
			t.Errorf("%s: %q, want %q; %v", name, got, c.want, err)
		}
	}
}

// TestData: an event is read as it was written, and what earlier versions wrote as far as
// it says.
func TestData(t *testing.T) {
	sent := croft.Event{
		Kind: "workspace.saved", Actor: "user", ActorWorkspace: "x", Subjects: croft.Subjects{Repo: "r", Workspace: "w", WorkspaceName: "n", Snapshot: "s"},
		After: &croft.Nouns{Snapshot: &croft.Snapshot{ID: "s"}},
	}
	data, err := Encode(sent)
	got := croft.Event{Kind: "workspace.saved", Subjects: croft.Subjects{Repo: "r", Workspace: "w"}}
	if Decode(data, &got); err != nil || !cmp.Equal(sent, got) {
		t.Errorf("%v:\n%s", err, cmp.Diff(sent, got))
	}
	at := croft.Subjects{Repo: "r", Workspace: "w"}
	named, merge, lane, round := at, at, at, at
	named.WorkspaceName, merge.WorkspaceName, merge.Merge, merge.Target, lane.Target, round.Round = "n", "n", "m", "main", "main", "t"
	for _, old := range []struct {
		kind, data string
		want       croft.Event
	}{
		{"workspace.created", `{"name":"n","branch":"b","path":"/p"}`, croft.Event{Subjects: named}},
		{
			"merge.merged", `{"id":"m","kind":"merge","workspace":"n","workspaceId":"w","target":"main"}`,
			croft.Event{Subjects: merge, After: &croft.Nouns{Merge: &croft.Merge{ID: "m", Kind: "merge", Workspace: "w", WorkspaceName: "n", Target: "main"}}},
		},
		{"target.moved", `{"target":"main","tip":"t"}`, croft.Event{Subjects: lane, After: &croft.Nouns{Lane: &croft.Lane{Target: "main", Tip: "t"}}}},
		{"round.started", `{"round":"t"}`, croft.Event{Subjects: round}},
		{"operation.undone", ``, croft.Event{Subjects: at}},
		{"merge.merged", `{"id":`, croft.Event{Subjects: at}},
	} {
		got := croft.Event{Kind: old.kind, Subjects: at}
		old.want.Kind = old.kind
		if Decode(old.data, &got); !cmp.Equal(old.want, got) {
			t.Errorf("%s:\n%s", old.kind, cmp.Diff(old.want, got))
		}
	}
}
