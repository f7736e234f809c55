// Package run says what can be told of the run of an agent without a journal: whether it lives, what it
// exited with, what it printed, and which processes are left of it.
package run

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/owner"
	"github.com/croft-sh/croft/internal/proc"
)

// VariableName is the name of a variable that all processes of a run have, unless they took it out.
const VariableName = "CROFT_RUN"

// Variable returns that variable with its value.
func Variable(run croft.ID) string { return VariableName + "=" + string(run) }

// The files of a run, in its directory, beside its output.
const (
	StatusFile    = "status"    // what the agent exited with
	ProcessesFile = "processes" // those that the supervisor has seen
)

// Program returns the name of the program that a run runs.
func Program(run *croft.Run) string {
	if len(run.Command) == 0 {
		return "an agent"
	}
	return filepath.Base(run.Command[0])
}

// Lives reports whether a run goes on, as far as can be seen: its first process lives, or, if that
// is not known yet, its supervisor does, or a process of the agent. One whose agent has ended, and that
// goes on only because somebody has stopped Croft's own processes, does not.
func Lives(run *croft.Run) bool {
	if run.State == croft.RunEnded {
		return false
	}
	if run.Process.PID != 0 {
		return owner.Life(run.Process) != proc.Dead && !isHeldUp(run)
	}
	return owner.Life(run.Supervisor) != proc.Dead || len(Left(run)) > 0
}

// isHeldUp reports whether nothing is left of a run but processes of Croft's that somebody has stopped: they would end, too.
func isHeldUp(run *croft.Run) bool {
	if !proc.IsStopped(leader(run)) {
		return false
	}
	supervisor := identity(run.Supervisor)
	return (proc.IsStopped(supervisor) || proc.LifeOf(supervisor) == proc.Dead) && len(Left(run)) == 0
}

// Wake lets the processes of Croft's go on that look after a run, if somebody has stopped them. It reports whether the supervisor was.
func Wake(run *croft.Run) bool {
	if first := leader(run); proc.IsStopped(first) {
		proc.Signal(first, proc.Continue)
	}
	supervisor := identity(run.Supervisor)
	if !proc.IsStopped(supervisor) {
		return false
	}
	proc.Signal(supervisor, proc.Continue)
	return true
}

// StatusOf returns what the agent of a run exited with, if that was written down.
func StatusOf(run *croft.Run) (int, bool) {
	text, err := fsx.ReadFile(filepath.Join(run.Dir, StatusFile), 16)
	if err != nil {
		return 0, false
	}
	status, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return status, err == nil && status >= 0 && status < 256
}

// EndOf says how a run ended that exited with a status.
func EndOf(run *croft.Run, status int) croft.RunEnd {
	switch {
	case !run.StoppedAt.IsZero() || status > 128 && status <= 128+64:
		return croft.RunKilled
	case status == 0:
		return croft.RunDone
	}
	return croft.RunFailed
}

// LastOf says how a run ended of which nothing is left, as far as that is known.
func LastOf(run *croft.Run) (how croft.RunEnd, status int) {
	if status, known := StatusOf(run); known {
		return EndOf(run, status), status
	}
	if !run.StoppedAt.IsZero() {
		return croft.RunKilled, 0
	}
	return croft.RunLost, 0
}

// Left returns the processes that are left of a run, without the first one, which is Croft's own.
func Left(run *croft.Run) []proc.Identity {
	var known []proc.Identity
	if text, err := fsx.ReadFile(filepath.Join(run.Dir, ProcessesFile), 1<<20); err == nil {
		_ = json.Unmarshal(text, &known)
	}
	return proc.Left(leader(run), known, Variable(run.ID))
}

func leader(run *croft.Run) proc.Identity { return identity(run.Process) }

func identity(o croft.Owner) proc.Identity {
	return proc.Identity{Host: o.Host, Boot: o.Boot, Space: o.Space, PID: o.PID, Start: o.Start}
}

// endTime is how long the first process of a run may take to end after the others.
const endTime = 3 * time.Second

// EndAll ends the processes of a run: it asks them to end, and kills them after a while. The first one
// ends by itself after the others, having written down the status, or is killed. It returns those that are left.
func EndAll(run *croft.Run, grace time.Duration) []proc.Identity {
	others := func() []proc.Identity { return Left(run) }
	left := proc.EndAll(others, grace)
	first := leader(run)
	for begun := time.Now(); first.PID > 0 && proc.LifeOf(first) == proc.Alive; time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > endTime {
			proc.Signal(first, proc.Kill)
			return proc.EndAll(others, 0)
		}
		if proc.IsStopped(first) {
			proc.Signal(first, proc.Continue)
		}
	}
	return left
}
