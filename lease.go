package croft

import (
	"context"
	"time"
)

// Owner identifies the process that holds a lease, also once its number is another's.
type Owner struct {
	Host  string `json:"host"`            // the machine
	Boot  string `json:"boot,omitempty"`  // its start, so that a reboot is noticed
	Space string `json:"space,omitempty"` // the process namespace, so that a container is noticed
	PID   int    `json:"pid"`             // the number of the process
	Start string `json:"start,omitempty"` // the process's start, as the kernel tells it
}

// LeaseTerm says how long a lease lasts.
type LeaseTerm string

// The terms.
const (
	TermRenewed LeaseTerm = ""        // until it expires, unless it is renewed; the default
	TermProcess LeaseTerm = "process" // as long as its owner is seen to live, also after it has expired
)

// LeaseMode says whether a workspace may have other leases beside a lease.
type LeaseMode string

// The modes.
const (
	LeaseShared    LeaseMode = ""          // it may; the default
	LeaseExclusive LeaseMode = "exclusive" // it may not, until the lease ends or expires
)

// Lease says that a process is at work in a workspace. It expires unless it is renewed.
type Lease struct {
	ID        ID        `json:"id"`
	Workspace ID        `json:"workspace"`
	Owner     Owner     `json:"owner"`          // the process that is at work
	Term      LeaseTerm `json:"term,omitempty"` // "process": as long as its owner lives, whatever ExpiresAt says
	Mode      LeaseMode `json:"mode,omitempty"` // "exclusive": the workspace has no other lease beside it
	// Epoch counts the exclusive leases that the workspace has had. One before the last is lost.
	Epoch     int       `json:"epoch,omitempty"`
	TTL       Duration  `json:"ttl,omitempty"`     // from its taking or a renewal to ExpiresAt
	ExpiresAt time.Time `json:"expiresAt"`         // unless it is renewed
	Process   string    `json:"process,omitempty"` // the name of the owner's program, which chose it, where that can be seen
}

// LeaseRequest asks for a lease.
type LeaseRequest struct {
	Key       string `json:"key,omitempty"` // the same call after a crash returns the same lease
	Repo      Ref    `json:"repo,omitempty"`
	Workspace Ref    `json:"workspace,omitempty"` // a name, an ID or a path; default: where Repo lies
	// Owner will hold the lease. Default: the process of the Service. A PID without a Host is one
	// that the Service can see; with a Host it may be elsewhere: then the TTL alone counts.
	Owner Owner     `json:"owner,omitzero"`
	TTL   Duration  `json:"ttl,omitempty"` // at least a second. Default and maximum: lease.ttl, lease.max_ttl
	Mode  LeaseMode `json:"mode,omitempty"`
	Term  LeaseTerm `json:"term,omitempty"`
}

// RenewRequest names a lease to prolong.
type RenewRequest struct {
	Lease ID `json:"lease"`
}

type (
	// ReleaseRequest names a lease to end.
	ReleaseRequest RenewRequest
	// Released names a lease that has ended.
	Released RenewRequest
)

// Leases is the part of Service that knows which workspaces are in use; [Hold] renews.
type Leases interface {
	// TakeLease takes a lease. Several may be held on one workspace; an exclusive one is
	// WorkspaceBusy while another is live, and while it is held so is every other. Its owner
	// gets the same one again, and so does a process with TermProcess. A workspace that is
	// not ready is WorkspaceBroken, an owner that must be seen and is not InvalidRequest.
	TakeLease(ctx context.Context, req LeaseRequest) (*Lease, error)

	// Renew prolongs a lease. One that was reaped or taken over is LeaseLost.
	Renew(ctx context.Context, req RenewRequest) (*Lease, error)

	// Release ends a lease, also again. An ID that no lease can have is LeaseLost.
	Release(ctx context.Context, req ReleaseRequest) (*Released, error)
}

// LockRequest asks to lock or unlock a workspace.
type LockRequest struct {
	Key       string `json:"key,omitempty"` // the same call does not lock what was unlocked since
	Repo      Ref    `json:"repo,omitempty"`
	Workspace Ref    `json:"workspace"` // required: a name, an ID or a path
	Reason    string `json:"reason,omitempty"`

	IfRevision int `json:"ifRevision,omitempty"` // fails with RevisionChanged if the workspace is at another revision
}

// Locks is the part of Service that protects workspaces from removal. A lock
// is git's own: `git worktree lock` sets it as well, and git honours it.
type Locks interface {
	// Lock protects a workspace from removal. Locking it again replaces the reason.
	Lock(ctx context.Context, req LockRequest) (*Workspace, error)
	// Unlock removes the lock of a workspace. Unlocking it again succeeds.
	Unlock(ctx context.Context, req LockRequest) (*Workspace, error)
}
