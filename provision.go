package croft

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"
)

// ProvisionState says how far a workspace was set up: whether the files, dependencies and
// services that its configuration asks for are there.
type ProvisionState string

// The states of setting up.
const (
	ProvisionReady      ProvisionState = "ready"      // all that the configuration asks for is there
	ProvisionPending    ProvisionState = "pending"    // it was begun, and not all of it was done
	ProvisionUnapproved ProvisionState = "unapproved" // commands, or variables, wait for a person's approval
	ProvisionFailed     ProvisionState = "failed"     // a command failed, or did not leave what it has to make
)

// SkipReason says why a file of the project was not brought into a workspace.
type SkipReason string

// The reasons.
const (
	SkipExists     SkipReason = "exists"     // the workspace has something at its path
	SkipBlocked    SkipReason = "blocked"    // a part of its path is a link or a file in the workspace
	SkipRepository SkipReason = "repository" // it is a nested repository or a worktree
	SkipLink       SkipReason = "link"       // it is a link that is absolute, or leads out of the project or into its git directory
	SkipSpecial    SkipReason = "special"    // it is neither a file nor a link
	SkipTooLarge   SkipReason = "too-large"  // provision.max_bytes would be exceeded
	SkipTooMany    SkipReason = "too-many"   // provision.max_files would be exceeded
	SkipNoRoom     SkipReason = "no-room"    // less than provision.min_free would stay free
	SkipChanging   SkipReason = "changing"   // it was written, replaced or removed while it was copied
	SkipUnreadable SkipReason = "unreadable" // it may not be read
)

// ProvisionHow says how a path of the project comes into a workspace.
type ProvisionHow string

// The ways.
const (
	ProvisionCopy     ProvisionHow = "copy"     // its bytes are copied
	ProvisionClone    ProvisionHow = "clone"    // its files share blocks with the project's until one of both is written
	ProvisionLink     ProvisionHow = "link"     // a symbolic link leads to the project's: what is written there is written in the project
	ProvisionInstall  ProvisionHow = "install"  // a step makes it
	ProvisionSkip     ProvisionHow = "skip"     // it does not come in
	ProvisionCheckout ProvisionHow = "checkout" // the commit of a submodule is checked out, with a git directory of its own
)

// Skipped is a file of the project that was not brought into a workspace.
type Skipped struct {
	Path   string     `json:"path"`
	Reason SkipReason `json:"reason"`
}

// ProvisionedPath is what became of a path that the configuration, or .worktreeinclude, brings in.
type ProvisionedPath struct {
	Path   string       `json:"path"`            // as it was configured; .worktreeinclude stands for all that this file selects
	Wanted ProvisionHow `json:"wanted"`          // what was asked for
	How    ProvisionHow `json:"how"`             // what was done
	Why    string       `json:"why,omitempty"`   // why that is not what was asked for
	Files  int          `json:"files,omitempty"` // files and links that came in
	Bytes  int64        `json:"bytes,omitempty"` // their size
	// FromPool is how many of Files had been copied before, and came in by a rename; see [Pool].
	FromPool int       `json:"fromPool,omitempty"`
	Skipped  []Skipped `json:"skipped,omitempty"`
	Left     int       `json:"left,omitempty"` // how many more were skipped than Skipped names
}

// StepState says what became of a command that sets a workspace up.
type StepState string

// The states of steps.
const (
	StepPending    StepState = "pending"    // it has not run yet, or its key has changed since
	StepUnapproved StepState = "unapproved" // nobody has approved it
	StepRunning    StepState = "running"    // it runs now; where no process is at it, it was interrupted
	StepDone       StepState = "done"
	StepFailed     StepState = "failed" // its exit status, its time, or that something which it makes is missing
)

// ProvisionedStep is what became of a command that sets a workspace up, or of a probe.
type ProvisionedStep struct {
	Name  string    `json:"name"` // of a probe: probe-1 and so on
	Run   string    `json:"run"`
	State StepState `json:"state"`
	Why   string    `json:"why,omitempty"`  // why it failed
	Tail  string    `json:"tail,omitempty"` // the end of what it printed, if it failed
	Log   string    `json:"log,omitempty"`  // the file with all of it
	Key   string    `json:"key,omitempty"`  // the digest of its key files when it succeeded
	At    time.Time `json:"at,omitzero"`    // when it ended
	Took  Duration  `json:"took,omitempty"`
}

// Provision is what was done to make a workspace usable.
type Provision struct {
	State ProvisionState    `json:"state"`
	Why   string            `json:"why,omitempty"` // a few words about State, unless it is ready
	Paths []ProvisionedPath `json:"paths,omitempty"`
	Steps []ProvisionedStep `json:"steps,omitempty"`
	// Unapproved are the commands and variables that nobody has approved. Hash is theirs: Approve takes it.
	Unapproved []string `json:"unapproved,omitempty"`
	Hash       string   `json:"hash,omitempty"`
	// Brought is how many files the call brought in or renewed, and Ran how many commands it ran, in
	// the answer of Provision.
	Brought int `json:"brought,omitempty"`
	Ran     int `json:"ran,omitempty"`
	// Drift are the files that were brought in and differ by now, in the answers of Provision and
	// PlanProvision. DriftLeft is how many more there are than it names.
	Drift     []Drift `json:"drift,omitempty"`
	DriftLeft int     `json:"driftLeft,omitempty"`
}

// variablePrefix begins the entries of Unapproved that are variables.
const variablePrefix = "variable "

// WaitingVariables returns how many variables of croft.toml are not set because nobody has approved them.
func (p Provision) WaitingVariables() int {
	n := 0
	for _, text := range p.Unapproved {
		if strings.HasPrefix(text, variablePrefix) {
			n++
		}
	}
	return n
}

// WaitsForVariablesOnly reports whether variables wait for an approval, and nothing else does: the workspace is usable.
func (p Provision) WaitsForVariablesOnly() bool {
	n := p.WaitingVariables()
	return n > 0 && n == len(p.Unapproved)
}

// DriftState says how a file that was brought into a workspace differs from what came in.
type DriftState string

// The ways in which files differ.
const (
	DriftStale    DriftState = "stale"    // the project's was changed since
	DriftEdited   DriftState = "edited"   // the workspace's was changed
	DriftDiverged DriftState = "diverged" // both were
	DriftMissing  DriftState = "missing"  // the workspace has it no more
	DriftMoved    DriftState = "moved"    // it is a link that leads elsewhere
)

// Drift is a file that was brought into a workspace and differs by now.
type Drift struct {
	Path  string     `json:"path"`
	State DriftState `json:"state"`
}

// ProvisionMode says what Provision does.
type ProvisionMode string

// The modes.
const (
	ProvisionMissing ProvisionMode = ""         // brings in what is missing, and runs what is pending, failed, or has a changed key
	ProvisionAgain   ProvisionMode = "again"    // as ProvisionMissing, and runs all steps
	ProvisionRefresh ProvisionMode = "refresh"  // as ProvisionMissing, and renews copies that nobody has changed in the workspace
	ProvisionSteps   ProvisionMode = "commands" // only runs what is pending, failed, or has a changed key
)

// ProvisionRequest sets a workspace up.
type ProvisionRequest struct {
	Key       string        `json:"key,omitempty"`
	Repo      Ref           `json:"repo,omitempty"`
	Workspace Ref           `json:"workspace,omitempty"` // a name, an ID or a path; default: where Repo lies
	Steps     []string      `json:"steps,omitempty"`     // only these; default: all
	Mode      ProvisionMode `json:"mode,omitempty"`
}

// PlanProvisionRequest asks what would be done to make a workspace usable.
type PlanProvisionRequest struct {
	Repo      Ref `json:"repo,omitempty"`
	Workspace Ref `json:"workspace,omitempty"` // default: a workspace that would be made now
}

// ProvisionPlan says what would be done to make a workspace usable, and what asks for it.
type ProvisionPlan struct {
	Workspace string          `json:"workspace,omitempty"` // its name; empty for one that would be made now
	Commit    string          `json:"commit"`              // whose files were read
	Provision Provision       `json:"provision"`           // as it would be found: steps that would run are pending
	Items     []ProvisionItem `json:"items"`               // in the order in which they are done
	Remarks   []string        `json:"remarks,omitempty"`   // what has no effect, and why
}

// ProvisionItem is a part of a file that asks for something.
type ProvisionItem struct {
	Source string `json:"source"`        // the file, and the line: croft.toml:12
	What   string `json:"what"`          // such as path node_modules, or step deps
	Does   string `json:"does"`          // what it does here
	Why    string `json:"why,omitempty"` // why that is not what it asks for
}

// Provisioning is the part of Service that sets workspaces up.
type Provisioning interface {
	// PlanProvision says what Provision would do, and writes nothing.
	PlanProvision(ctx context.Context, req PlanProvisionRequest) (*ProvisionPlan, error)
	// Provision brings in the files that are missing, and runs the commands by which a workspace is
	// set up, as the croft.toml of the commit says that it began with. Commands that nobody has
	// approved are not run, but named. One that fails is no error: the answer says so, and the
	// workspace stays usable. What a workspace has is never overwritten, but for copies that
	// nobody has changed, if they are to be renewed.
	Provision(ctx context.Context, req ProvisionRequest) (*Provision, error)
}

// Variables returns the environment of a program that works in the workspace: Env, and what follows from
// its other fields.
func (w Workspace) Variables() map[string]string {
	all := map[string]string{
		"CROFT": "1", "CROFT_REPO": w.Repo, "CROFT_WORKSPACE": string(w.ID), "CROFT_WORKSPACE_ID": string(w.ID), "CROFT_WORKSPACE_NAME": w.Name,
		"CROFT_WORKSPACE_PATH": w.Path, "CROFT_WORKSPACE_BRANCH": w.Branch, "CROFT_WORKSPACE_TARGET": w.Target, "CROFT_WORKSPACE_BASE": w.Base,
	}
	if w.Round > 0 { // agents of a round must not tell by them which one they are
		delete(all, "CROFT_WORKSPACE_NAME")
		delete(all, "CROFT_WORKSPACE_BRANCH")
	}
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	maps.Copy(all, w.Env)
	return all
}

// Environ returns Variables as sorted KEY=value strings, as exec.Cmd wants them.
func (w Workspace) Environ() []string {
	all := w.Variables()
	env := make([]string, 0, len(all))
	for _, k := range slices.Sorted(maps.Keys(all)) {
		env = append(env, k+"="+all[k])
	}
	return env
}
