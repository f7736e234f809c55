package croft

import (
	"context"
	"time"
)

// ChecksRequest names the checks of a target, or the commands that set workspaces up.
type ChecksRequest struct {
	Repo   Ref    `json:"repo,omitempty"`
	Target string `json:"target,omitempty"` // a branch; default: that of the workspace, or of one that would be made
	// Workspace, with OfSetup, means the commands of this workspace, which began at another commit
	// than the tip of its target. It is a name, an ID or a path.
	Workspace Ref        `json:"workspace,omitempty"`
	Of        CommandSet `json:"of,omitempty"`
}

// CommandSet says which commands of a croft.toml are meant.
type CommandSet string

// The sets of commands.
const (
	OfChecks CommandSet = ""      // those that run on a merged result
	OfSetup  CommandSet = "setup" // those that set workspaces up, look whether they are, and run at their removal; and the links that other tools' files ask for
)

// ApproveMode says whether checks may run from now on.
type ApproveMode string

// The modes of approving.
const (
	ApproveGive     ApproveMode = ""         // they may
	ApproveWithdraw ApproveMode = "withdraw" // they may no longer, until they are approved again
)

// ApproveRequest allows the checks of a target to run, or withdraws that.
type ApproveRequest struct {
	Key    string `json:"key,omitempty"`
	Repo   Ref    `json:"repo,omitempty"`
	Target string `json:"target,omitempty"`
	// Workspace is that of the ChecksRequest.
	Workspace Ref `json:"workspace,omitempty"`
	// Hash is the hash of the checks that the person has seen. It is required, so that
	// only these are approved.
	Hash string      `json:"hash"`
	Of   CommandSet  `json:"of,omitempty"`
	Mode ApproveMode `json:"mode,omitempty"`
	// From is the working directory of the person who approves. It is checked in
	// addition to that of the Service.
	From string `json:"from,omitempty"`
}

// CheckPlan lists the commands that a target asks to be run on a merged result before
// it is published.
type CheckPlan struct {
	Target     string     `json:"target"` // a branch
	Commit     string     `json:"commit"` // its tip, which the checks were read from
	Of         CommandSet `json:"of,omitempty"`
	Checks     []string   `json:"checks"` // commands for the shell; of a set-up each with the table that it is of
	Hash       string     `json:"hash"`   // of the checks; empty if there are none
	IsApproved bool       `json:"approved"`
	// ApprovedBy and ApprovedAt are by whom and when they were approved, if a person did.
	ApprovedBy string    `json:"approvedBy,omitempty"`
	ApprovedAt time.Time `json:"approvedAt,omitzero"`
	IsNamed    bool      `json:"named,omitempty"` // CROFT_TRUST of the Service names the hash, which approves them for what this process submits and lands, unless the Service stands in a workspace
	// Refusal is why they cannot be approved from where the Service stands.
	Refusal *Error `json:"refusal,omitempty"`
}

// ApprovalKind says what a person allowed.
type ApprovalKind string

// The kinds of approvals.
const (
	ApprovalChecks    ApprovalKind = "checks"     // the checks of a target may run: Approve
	ApprovalTarget    ApprovalKind = "target"     // a target may be where it is: AcceptTarget
	ApprovalGitConfig ApprovalKind = "git-config" // a repository's git configuration is used: AcceptGitConfig
)

// Approval is what a person allowed, or withdrew. The event that has it names the person.
type Approval struct {
	Kind   ApprovalKind `json:"kind"`
	Target string       `json:"target,omitempty"` // of checks and a target: the branch
	Commit string       `json:"commit,omitempty"` // of checks and a target: the commit that the branch was at
	Hash   string       `json:"hash,omitempty"`   // of checks and a git configuration: that of the request
	Checks []string     `json:"checks,omitempty"` // of checks: the commands
	Keys   []string     `json:"keys,omitempty"`   // of a git configuration: the settings that differed, the first 100; without values, which may be secret
}

// Trust is the part of Service by which a person says that the checks of a
// target may run. They come out of the repository, so that an author who can commit
// to the target chooses them; so none runs before a person has seen it.
type Trust interface {
	// Checks shows the checks that a target's tip asks for.
	Checks(ctx context.Context, req ChecksRequest) (*CheckPlan, error)

	// Approve allows these commands to run in this repository, in this order,
	// whatever commit asks for them. A command runs what it finds in the merged
	// files: a user who approves "make test" approves whatever a candidate puts
	// behind it. It fails with ChecksUntrusted if the target asks for other ones
	// by now, and where it is asked for from inside a workspace: that is where
	// agents are. With ApproveWithdraw they may not run any more: a merge that
	// comes to them is refused with ChecksUntrusted, unless CROFT_TRUST names them; one
	// that is being checked goes on. That is no failure if they were not approved.
	Approve(ctx context.Context, req ApproveRequest) (*CheckPlan, error)
}
