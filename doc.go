// Package croft is the vocabulary of Croft, the worktree layer for fleets of
// coding agents: the nouns, the requests, the errors and the Service
// interface. It holds no implementation and imports nothing but the standard
// library, so that every part of Croft, and every program that uses Croft, may
// speak it.
//
// To get a Service, use package connect:
//
//	svc, err := connect.Open(ctx, ".", nil)
//	if err != nil {
//		return err
//	}
//	defer svc.Close()
//	ws, err := svc.Create(ctx, croft.CreateRequest{Name: "fix-login"})
//
// # Workspaces
//
// A [Workspace] is an isolated directory and a branch of its own for one
// agent. [Workspaces.Create] makes one; [Workspaces.CreateAll] makes several,
// all or none. A workspace is handed out only after its files were compared
// with the commit that it starts from. Where it lies and what its branch is
// called is decided by a layout: a named preset ("default", "agents", "swarm",
// "sibling") or templates of your own. Base and target are recorded when the
// workspace is made, so that its work has somewhere to go back to.
//
// [Workspaces.Remove] moves a workspace to the trash: the directory is renamed
// and the tip of its branch is kept under refs/croft/archive/. Removing a
// workspace that is already gone succeeds.
//
// # Restoring and undoing
//
// [Trash.Restore] brings a removed workspace back whole: branch, registration,
// files, index and whatever was in progress, at the identical path.
// [Snapshots.Snapshot] saves a live one, and Restore goes back to it. Every call
// that changes something is in [History.History], and [History.Undo] does its
// inverse: what was made goes to the trash, what was removed is restored. An
// undo is such a call itself.
//
// # Liveness and protection
//
// A [Lease] says that a process is at work in a workspace. It expires unless it is renewed;
// [Hold] renews it. A holder whose exclusive lease was taken over cannot finish the work.
// A lock, set by [Locks.Lock], says that a person wants a workspace left
// alone; it has a reason and no expiry. Only a workspace whose lease has
// expired and whose owner is provably gone is an orphan, and only orphans are
// reaped unasked: without a lease there are no orphans, and a process that
// cannot be seen counts as alive.
//
// # Calling again
//
// Requests are plain data. Every one that changes something can carry a Key, and may
// then be sent again after a crash or later: the same key with the same request does
// nothing a second time and returns the same, whatever was made, moved or removed
// since. What an answer names as kept or failed is tried again. A key belongs to one
// method and one repository; with a different request it is refused as [KeyConflict].
// A dry run ignores it, a request that was refused leaves it free, and it is forgotten
// with the history. Requests that name several things answer for each of them; one
// failure does not hide the others.
//
// # What is never touched
//
// The main checkout, its index and its HEAD are written only by merges, applies and
// reverts on the branch that is checked out there, and by the undoing of these, which
// leave the user's changes alone; and by agents in legacy mode, who work there. The
// repository's git directory gets the branches and the registrations of workspaces, refs
// below refs/croft, ignore rules for the files that Croft puts into checkouts, and a line
// of configuration for those. Refs move only by
// compare-and-swap. Nothing is removed but what Croft recorded when it made it, no link is
// followed out of a workspace, and unknown files are kept. No file in a repository or a
// workspace decides about that: agents can write there.
//
// # Errors
//
// Every error that leaves this module is an [*Error] with a [Code]. Codes are
// errors themselves, so a caller asks
//
//	if errors.Is(err, croft.WorktreeExists) { ... }
//
// and gets the same answer from an engine in this process and from a daemon.
// An error says what happened, what state was left behind and what to run
// next.
package croft
