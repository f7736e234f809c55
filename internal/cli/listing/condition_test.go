package listing

import (
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/screen"
)

// TestKindOfWhatWaits: what waits goes on by itself, unless somebody must act.
func TestKindOfWhatWaits(t *testing.T) {
	for _, status := range []croft.Condition{croft.ConditionQueued, croft.ConditionWaiting} {
		ws := croft.Workspace{Status: status}
		if kind := KindOf(&ws); kind != screen.Going {
			t.Errorf("%s: kind %v", status, kind)
		}
		ws.Next = &croft.Next{Command: "croft queue run"}
		if kind := KindOf(&ws); kind != screen.Look || kindWord(kind, &ws) != "to look at" {
			t.Errorf("%s, with a next step: kind %v, %q", status, kind, kindWord(kind, &ws))
		}
	}
}

// TestInside: one stands in the innermost of the workspaces around one, and not beside one whose name begins another's.
func TestInside(t *testing.T) {
	list := []croft.Workspace{{Path: "/p/a/in/b"}, {Path: "/p/a"}, {Path: "/p/abc"}}
	for dir, want := range map[string]string{"/p/a": "/p/a", "/p/a/x": "/p/a", "/p/a/in/b/c": "/p/a/in/b", "/p/ab": "", "/p/abcd": "", "/p": "", "/p/abc/x": "/p/abc"} {
		if s := Show(list, screen.Stream{}, At{Dir: dir}); s.inside != want {
			t.Errorf("in %s: %q, want %q", dir, s.inside, want)
		}
	}
}

// TestCommonTarget: a workspace without a target does not take that of the others out of the heading.
func TestCommonTarget(t *testing.T) {
	for _, c := range []struct {
		targets []string
		want    string
	}{
		{nil, ""},
		{[]string{"", ""}, ""},
		{[]string{"", "main", "", "main"}, "main"},
		{[]string{"main", "dev"}, ""},
		{[]string{"a-long-target"}, ""},
	} {
		var list []croft.Workspace
		for _, target := range c.targets {
			list = append(list, croft.Workspace{Target: target})
		}
		if got := commonTarget(list); got != c.want {
			t.Errorf("%q: %q, want %q", c.targets, got, c.want)
		}
	}
}

// TestTimedWhy: a reason is shown with the time that it lasts, and the reason itself has none.
func TestTimedWhy(t *testing.T) {
	now := time.Unix(100_000, 0)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for want, ws := range map[string]croft.Workspace{
		"claude, 12m":                   {Status: croft.ConditionWorking, Why: "claude", Run: &croft.Run{StartedAt: ago(12 * time.Minute)}},
		"its agent says so, 5s":         {Status: croft.ConditionWorking, Why: "its agent says so", Activity: &croft.Activity{State: croft.AgentWorking, Since: ago(5 * time.Second)}},
		"vi":                            {Status: croft.ConditionWorking, Why: "vi", Run: &croft.Run{State: croft.RunEnded, StartedAt: ago(time.Hour)}},
		"3s":                            {Status: croft.ConditionMaking, State: croft.Creating, CreatedAt: ago(3 * time.Second)},
		"interrupted 4m ago":            {Status: croft.ConditionUnfinished, State: croft.Creating, Why: "interrupted", CreatedAt: ago(4 * time.Minute)},
		"its removal was interrupted":   {Status: croft.ConditionUnfinished, Why: "its removal was interrupted", CreatedAt: ago(4 * time.Minute)},
		"check.sh --all, collides with": {Status: croft.ConditionChecking, Why: "/opt/ci/check.sh --all, collides with"},
	} {
		if got := TimedWhy(&ws, ws.Why, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if row := PipeRow(&ws, now); row[2] != "-" && row[2] != ws.Why {
			t.Errorf("on a pipe %q, want %q", row[2], ws.Why)
		}
	}
}
