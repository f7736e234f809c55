package cli

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

// agents is a Service that begins runs.
type agents struct{ *fake }

func (agents) BeginRun(_ context.Context, req croft.BeginRunRequest) (*croft.Run, error) {
	return &croft.Run{ID: "r1", Command: req.Command, StartedAt: noon}, nil
}

// TestRunEndsOnTerminals: who started an agent reads at last how it ended, what became of its work, and what to type next.
func TestRunEndsOnTerminals(t *testing.T) {
	ended := func(how croft.RunEnd, status int) croft.Run {
		return croft.Run{ID: "r1", Command: []string{"/usr/bin/claude"}, State: croft.RunEnded, How: how, Status: status, StartedAt: noon, EndedAt: noon.Add(12 * time.Minute)}
	}
	pending := fixLogin()
	pending.Status, pending.Head = croft.ConditionPending, "2b3c4d5e6f7a"
	pending.Work = &croft.Work{Seen: []croft.Aspect{croft.AspectCommits}, Added: 128, Deleted: 40, Changed: 6}
	failed := fixLogin()
	failed.Status, failed.Next = croft.ConditionFailed, &croft.Next{Command: "croft diff fix-login"}
	landed := pending
	landed.State, landed.Status, landed.KeptUntil = croft.Trashed, croft.ConditionMerged, noon.Add(7*24*time.Hour)
	merge := croft.Merge{ID: "m1", Workspace: "a1", WorkspaceName: "fix-login", Target: "main", State: croft.MergeDone, Head: pending.Head}
	waits, none, merged, conflict := merge, merge, merge, merge
	waits.Status, waits.HeldBack = croft.MergePending, []string{".env.local"}
	none.Head = fixLogin().Base
	merged.Status, merged.Commit = croft.MergeMerged, "2527144aaaaa"
	conflict.Status, conflict.Reason = croft.MergePending, croft.Conflict
	conflict.Conflicts, conflict.Hint = []croft.ConflictedPath{{Path: "src/f1.txt"}}, "croft merge --resolve fix-login"
	stuck := pending
	stuck.Status = croft.ConditionConflict

	for name, c := range map[string]struct {
		ws   croft.Workspace
		end  AgentEnd
		want string
	}{
		"done": {pending, AgentEnd{Run: ended(croft.RunDone, 0), Merge: &waits, HasOpenLine: true}, `
● fix-login  pending  claude ended after 12m: +128 −40 in 6 files
  not committed, because they look like secrets, are large or hidden: .env.local
  next: croft review fix-login, or croft merge fix-login
`},
		"failed": {failed, AgentEnd{Run: ended(croft.RunFailed, 3), Merge: &none}, `! fix-login  failed  claude failed with status 3 after 12m
  next: croft diff fix-login
  it has left no work; to try again: croft run fix-login -- COMMAND; to remove
  it: croft remove fix-login
`},
		"merged": {landed, AgentEnd{Run: ended(croft.RunDone, 0), Merge: &merged}, `claude ended after 12m
✓ fix-login  merged → main  2527144  +128 −40 in 6 files
  the workspace is in the trash for 7 days: croft restore fix-login
  to take the merge back: croft revert fix-login
`},
		"in conflict": {stuck, AgentEnd{Run: ended(croft.RunDone, 0), Merge: &conflict}, `✗ fix-login  conflict  claude ended after 12m: +128 −40 in 6 files
  src/f1.txt  contents
hint: croft merge --resolve fix-login
`},
	} {
		t.Run(name, func(t *testing.T) {
			svc := &fake{workspace: found(c.ws)}
			r := newRun(svc)
			r.svc = nil // closed by another one
			r.env.Open = func(context.Context, string, map[string]string) (croft.Service, error) { return agents{svc}, nil }
			r.env.Width, r.env.ErrWidth = 80, 80
			r.env.Agents = Agents{
				Check: func([]string) (By, error) { return ByCroft, nil },
				Run:   func(context.Context, AgentRun) (*AgentEnd, error) { return &c.end, nil },
			}
			var both strings.Builder // as on a terminal
			r.env.Args, r.env.Stdin, r.env.Stdout, r.env.Stderr = []string{"run", "fix-login", "--", "claude"}, strings.NewReader(""), &both, &both
			Main(t.Context(), r.env)
			_, got, _ := strings.Cut(both.String(), "\n") // where it runs
			if got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}
