package project

import (
	"runtime"
	"strconv"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/owner"
	"github.com/croft-sh/croft/internal/proc"
)

// Now returns the time, in UTC.
func (p *Projects) Now() time.Time { return p.Clock().UTC() }

// LeasedError returns the WorkspaceBusy error that names the holder of a lease. It does not
// check whether the lease is active.
func LeasedError(l croft.Lease) error {
	e := &croft.Error{
		Code: croft.WorkspaceBusy, Message: owner.ProcessName(owner.Name(l.Owner), l.Owner.PID),
		Fields: map[string]string{"lease": string(l.ID), "pid": strconv.Itoa(l.Owner.PID), "host": l.Owner.Host},
	}
	if l.Owner.Host != proc.Here().Host && l.Owner.Host != "" {
		e.Message += " on " + l.Owner.Host
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
