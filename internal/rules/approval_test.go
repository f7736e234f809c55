package rules

import "testing"

// TestTrustIn: the command that is shown approves the checks of that target, whatever the
// project's directory and the branch are called, and does nothing else.
func TestTrustIn(t *testing.T) {
	for _, tt := range []struct{ dir, target, want string }{
		{"/home/ann/app", "main", "cd /home/ann/app && croft config trust --target main"},
		{"/home/ann/app", "", "cd /home/ann/app && croft config trust"},
		{"/home/ann/my app", "a;touch$IFS-x", "cd '/home/ann/my app' && croft config trust --target 'a;touch$IFS-x'"},
	} {
		if got := trustIn(tt.dir, tt.target); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}
