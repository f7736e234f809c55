package rules

import (
	"testing"

	"github.com/croft-sh/croft"
)

// TestTrustIn: the command that is shown approves the checks of that target, whatever the
// project's directory and the branch are called, and does nothing else.
func TestTrustIn(t *testing.T) {
	for _, tt := range []struct {
		dir    string
		of     croft.CommandSet
		target string
		want   string
	}{
		{"/home/ann/app", croft.OfSetup, "main", "cd /home/ann/app && croft config trust --setup --target main"},
		{"/home/ann/app", croft.OfChecks, "main", "cd /home/ann/app && croft config trust --target main"},
		{"/home/ann/app", croft.OfChecks, "", "cd /home/ann/app && croft config trust"},
		{"/home/ann/my app", croft.OfChecks, "a;touch$IFS-x", "cd '/home/ann/my app' && croft config trust --target 'a;touch$IFS-x'"},
	} {
		if got := trustIn(tt.dir, tt.of, tt.target); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}
