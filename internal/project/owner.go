package project

import (
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/owner"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/shellword"
)

// Now returns the time, in UTC.
func (p *Projects) Now() time.Time { return p.Clock().UTC() }

// LeasedError returns the WorkspaceBusy error that names the holder of a lease of a workspace. It
// does not check whether the lease is active.
func LeasedError(rec journal.Record, l croft.Lease) error {
	e := &croft.Error{
		Code: croft.WorkspaceBusy, Message: owner.ProcessName(owner.Name(l.Owner), l.Owner.PID),
		Fields: map[string]string{"lease": string(l.ID), "pid": strconv.Itoa(l.Owner.PID), "host": l.Owner.Host},
	}
	if l.Owner.Host != proc.Here().Host && l.Owner.Host != "" {
		e.Message += " on " + l.Owner.Host
	}
	if run := rec.Run; run != nil && run.Lease == l.ID && len(run.Command) > 0 {
		e.Message = filepath.Base(run.Command[0]) + " runs in it"
		e.Hint = "croft stop " + shellword.Quote(rec.Workspace.Name)
		return e
	}
	what := " holds a lease"
	if l.Mode == croft.LeaseExclusive {
		what = " holds an exclusive lease"
	}
	if l.Term == croft.TermProcess {
		e.Message += what + " as long as it lives"
		e.Hint = "croft hold --release " + string(l.ID)
		return e
	}
	e.Message += what + " until " + l.ExpiresAt.Format(time.RFC3339)
	e.Hint = "end the process, or wait until the lease has expired"
	return e
}

// Parallel returns how many of n checkouts are written at once, and the number of
// workers for each. If configured is not positive, it goes by the number of cores.
func Parallel(n, configured int) (checkouts, workers int) {
	cores := configured
	if cores <= 0 {
		cores = runtime.NumCPU()
	}
	if n > 1 {
		return min(n, cores), 1
	}
	return 1, cores
}
