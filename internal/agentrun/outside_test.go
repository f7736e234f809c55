package agentrun

import (
	"fmt"
	"testing"

	"github.com/croft-sh/croft"
)

// TestIntrusionsHideNone: many throw-away branches do not hide that a known branch was moved, or that a
// file was changed.
func TestIntrusionsHideNone(t *testing.T) {
	var run croft.Run
	for i := range 100 {
		addIntrusions(&run, []croft.Intrusion{{What: croft.IntrusionBranch, Name: fmt.Sprintf("refs/heads/junk-%d", i), After: "1"}})
	}
	addIntrusions(&run, []croft.Intrusion{
		{What: croft.IntrusionBranch, Name: "refs/heads/main", Before: "1", After: "2"},
		{What: croft.IntrusionFile, Name: "a.txt"},
		{What: croft.IntrusionHead, Name: "HEAD"},
	})
	if n := len(run.Intrusions); n != croft.MaxIntrusions+3 || run.MoreIntrusions != 100-croft.MaxIntrusions {
		t.Errorf("%d are recorded, and %d more", n, run.MoreIntrusions)
	}
	if run.Intrusions[croft.MaxIntrusions].Name != "refs/heads/main" {
		t.Errorf("%+v", run.Intrusions)
	}
}
