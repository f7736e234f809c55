package view

import (
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

// TestActivityOverTime sees that an agent of which nothing is heard is not said to be at work
// for ever, unless a process holds a lease, and that one which waits goes on waiting.
func TestActivityOverTime(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		name     string
		reported croft.AgentState
		ago      time.Duration
		isLeased bool
		finished time.Duration // ago; zero: not
		want     croft.AgentState
	}{
		{"fresh", croft.AgentWorking, time.Minute, false, 0, croft.AgentWorking},
		{"silent", croft.AgentWorking, time.Hour, false, 0, croft.AgentUnknown},
		{"never began", croft.AgentStarting, time.Hour, false, 0, croft.AgentUnknown},
		{"silent, leased", croft.AgentWorking, time.Hour, true, 0, croft.AgentWorking},
		{"waits", croft.AgentWaiting, 48 * time.Hour, false, 0, croft.AgentWaiting},
		{"idle", croft.AgentIdle, 48 * time.Hour, false, 0, croft.AgentIdle},
		{"finished since", croft.AgentWaiting, time.Hour, false, time.Minute, croft.AgentEnded},
		{"works again", croft.AgentWorking, time.Minute, false, time.Hour, croft.AgentWorking},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v, w := &view{now: now}, &croft.Workspace{}
			if tt.isLeased {
				w.Lease = &croft.Lease{}
			}
			if tt.finished > 0 {
				w.Finished = &croft.Finished{At: now.Add(-tt.finished)}
			}
			v.setActivity(w, &croft.Activity{State: tt.reported, Since: now.Add(-tt.ago), At: now.Add(-tt.ago)})
			if w.Activity.State != tt.want || (w.Question != nil) != (tt.want == croft.AgentWaiting) {
				t.Errorf("%+v, question %+v, want %s", w.Activity, w.Question, tt.want)
			}
		})
	}
}
