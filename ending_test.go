package croft_test

import (
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

// TestEnding: the end of a run is told by its cause, and not as stopped whatever it was.
func TestEnding(t *testing.T) {
	killed := func(status int) croft.Run { return croft.Run{How: croft.RunKilled, Status: status} }
	stopped := killed(143)
	stopped.StoppedAt = time.Now()
	for _, c := range []struct {
		run  croft.Run
		want string
	}{
		{croft.Run{}, ""},
		{croft.Run{How: croft.RunDone}, "ended"},
		{croft.Run{How: croft.RunFailed, Status: 3}, "failed with status 3"},
		{croft.Run{How: croft.RunLost}, "is gone, and nobody knows how it ended"},
		{stopped, "was stopped by croft stop"},
		{killed(0), "was stopped"},
		{killed(129), "ended with its terminal (SIGHUP)"},
		{killed(130), "was interrupted by ctrl-c"},
		{killed(134), "crashed with SIGABRT"},
		{killed(137), "was killed by SIGKILL, not by Croft: out of memory?"},
		{killed(139), "crashed with SIGSEGV"},
		{killed(141), "was killed by SIGPIPE"},
		{killed(143), "was asked to end by SIGTERM"},
		{killed(128 + 40), "was killed by signal 40"},
	} {
		if got := c.run.Ending(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.run, got, c.want)
		}
	}
}
