package rules

import (
	"testing"

	"github.com/croft-sh/croft"
)

// TestTrustIn: the command that is shown approves the checks of that target, whatever the
// project's directory and the branch are called, and does nothing else.
func TestTrustIn(t *testing.T) {
	for _, tt := range []struct {
		dir  string
		c    approvable
		want string
	}{
		{"/home/ann/app", approvable{croft.OfSetup, "main", ""}, "cd /home/ann/app && croft config trust --setup --target main"},
		{"/home/ann/app", approvable{croft.OfChecks, "main", ""}, "cd /home/ann/app && croft config trust --target main"},
		{"/home/ann/app", approvable{}, "cd /home/ann/app && croft config trust"},
		{"/home/ann/my app", approvable{target: "a;touch$IFS-x"}, "cd '/home/ann/my app' && croft config trust --target 'a;touch$IFS-x'"},
		{"/home/ann/app", approvable{croft.OfSetup, "main", "fix login"}, "cd /home/ann/app && croft config trust --setup 'fix login'"},
		{"/home/ann/app", approvable{croft.OfChecks, "main", "fix"}, "cd /home/ann/app && croft config trust --target main"},
	} {
		if got := tt.c.trustIn(tt.dir); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}
