package croft

import (
	"context"
	"time"
)

// Owner identifies the process that holds a lease, also if another process gets its
// number later.
type Owner struct {
	Host  string `json:"host"`            // the machine
	Boot  string `json:"boot,omitempty"`  // its start, so that a reboot is noticed
	Space string `json:"space,omitempty"` // the process namespace, so that a container is noticed
	PID   int    `json:"pid"`
	Start string `json:"start,omitempty"` // the process's start, as the kernel tells it
}

// LeaseTerm says how long a lease lasts.
type LeaseTerm string

const (
	// TermRenewed: the lease ends when it expires, unless it is renewed. It is the
	// default.
	TermRenewed LeaseTerm = ""
	// TermProcess: the lease lasts, also after it has expired, as long as its owner is
	// seen to live. It is not renewed.
	TermProcess LeaseTerm = "process"
)

// Lease says that a process is at work in a workspace. It expires unless it
// is renewed.
type Lease struct {
	ID        ID        `json:"id"`
	Workspace ID        `json:"workspace"`
	Owner     Owner     `json:"owner"`
	Term      LeaseTerm `json:"term,omitempty"`
	ExpiresAt time.Time `json:"expiresAt"`

	// Process is the name of the owner's program, where that can be seen. A program can
	// choose its name.
	Process string `json:"process,omitempty"`
}

// LeaseRequest asks for a lease in the name of another process.
type LeaseRequest struct {
	Repo      string `json:"repo,omitempty"`
	Workspace string `json:"workspace,omitempty"` // a name, an ID or a path; default: where Repo lies
	PID       int    `json:"pid"`                 // required: a process of this machine
}

// HoldRequest asks for a lease in the name of this process.
type HoldRequest struct {
	Workspace ID `json:"workspace"`
}

// RenewRequest names a lease to prolong.
type RenewRequest struct {
	Lease ID `json:"lease"`
}

// ReleaseRequest names a lease to end.
type ReleaseRequest struct {
	Lease ID `json:"lease"`
}

// Released names a lease that has ended.
type Released struct {
	Lease ID `json:"lease"`
}

// Leases is the part of Service that knows which workspaces are in use.
type Leases interface {
	// Hold takes a lease in the name of this process and renews it until it is
	// released, the Service is closed or the process ends. Several may be held
	// on one workspace. A workspace that is not there is WorktreeNotFound, one
	// that is not ready WorkspaceBroken.
	Hold(ctx context.Context, req HoldRequest) (*Lease, error)

	// HoldFor takes a lease in the name of another process, for as long as that process
	// lives. The lease need not be renewed. The same process gets the same lease again.
	// Leases of processes that are gone end with it. A process that cannot be seen is
	// refused as InvalidRequest.
	HoldFor(ctx context.Context, req LeaseRequest) (*Lease, error)

	// Renew prolongs a lease. One that expired and was reaped is LeaseLost.
	Renew(ctx context.Context, req RenewRequest) (*Lease, error)

	// Release ends a lease. Releasing it again succeeds. An ID that no lease can have
	// is LeaseLost.
	Release(ctx context.Context, req ReleaseRequest) (*Released, error)
}

// LockRequest asks to lock or unlock a workspace.
type LockRequest struct {
	Key       string `json:"key,omitempty"` // the same call does not lock what was unlocked since
	Repo      string `json:"repo,omitempty"`
	Workspace string `json:"workspace"` // required: a name, an ID or a path
	Reason    string `json:"reason,omitempty"`
}

// Locks is the part of Service that protects workspaces from removal. A lock
// is git's own: `git worktree lock` sets it as well, and git honours it.
type Locks interface {
	// Lock protects a workspace from removal. Locking it again replaces the reason.
	Lock(ctx context.Context, req LockRequest) (*Workspace, error)
	// Unlock removes the lock of a workspace. Unlocking it again succeeds.
	Unlock(ctx context.Context, req LockRequest) (*Workspace, error)
}
