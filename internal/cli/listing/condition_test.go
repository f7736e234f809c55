package listing

import (
	"testing"

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
