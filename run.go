package croft

import (
	"context"
	"time"
)

// Run is one run of an agent that Croft started in a workspace: a command, the process that it
// became, and how that ended. A workspace has one at a time.
type Run struct {
	ID        ID       `json:"id"`
	Workspace ID       `json:"workspace"`
	Command   []string `json:"command"` // the program and its arguments, cut where they are long
	State     RunState `json:"state"`
	// How and Status say how it ended, and Ending in words. A status of 128 and more may stand for a signal: the one that
	// ended it, or by which its supervisor was asked to end it.
	How    RunEnd `json:"how,omitempty"`
	Status int    `json:"status,omitempty"`

	Process    Owner `json:"process,omitzero"`    // the first of its processes; it leads their session
	Supervisor Owner `json:"supervisor,omitzero"` // the process of Croft that waits for it
	Lease      ID    `json:"lease,omitempty"`     // by which the workspace is in use meanwhile

	// Finish and Policy say what becomes of the work at the end.
	Finish RunFinish   `json:"finish,omitempty"`
	Policy MergePolicy `json:"policy,omitempty"`

	StartedAt time.Time `json:"startedAt"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
	StoppedAt time.Time `json:"stoppedAt,omitzero"` // when somebody asked for its end
	// FinishedAt is when its work was finished, or that had failed; absent if that is still to be
	// done, or is not to be done.
	FinishedAt time.Time `json:"finishedAt,omitzero"`
	// Unfinished is why its work could not be finished.
	Unfinished string `json:"unfinished,omitempty"`

	// Intrusions are the changes outside of the workspace that were seen while it ran, at most
	// MaxIntrusions of each kind. They say what changed, and not who did it: no process is watched.
	Intrusions []Intrusion `json:"intrusions,omitempty"`
	// MoreIntrusions is how many others were seen.
	MoreIntrusions int `json:"moreIntrusions,omitempty"`

	// Dir is the directory on the host with its output and its status.
	Dir string `json:"dir,omitempty"`
}

// RunState says how far a run has come.
type RunState string

// The states of runs.
const (
	RunStarting RunState = "starting" // its process is not known yet
	RunRunning  RunState = "running"
	RunEnded    RunState = "ended"
)

// RunEnd says how a run ended.
type RunEnd string

// The ends of runs.
const (
	RunDone   RunEnd = "done"   // with the status 0
	RunFailed RunEnd = "failed" // with another status
	RunKilled RunEnd = "killed" // StopRun ended it, or a signal
	RunLost   RunEnd = "lost"   // its processes are gone, and nobody knows how they ended
)

// Outcome returns what the end of a run says of its work; false if that is nothing.
func (e RunEnd) Outcome() (Outcome, bool) {
	switch e {
	case RunDone:
		return Succeeded, true
	case RunFailed:
		return Failed, true
	case RunKilled:
		return Killed, true
	}
	return "", false
}

// RunFinish says whether the work is finished when a run ends.
type RunFinish string

// The values of RunFinish.
const (
	FinishByStatus RunFinish = ""      // as Finish does it, with the outcome that the status says
	FinishNever    RunFinish = "never" // nothing is committed and nothing merged
)

// Intrusion is a change outside of a workspace while its agent ran.
type Intrusion struct {
	What    IntrusionKind `json:"what"`
	Name    string        `json:"name,omitempty"` // the ref, or the path in the project's own checkout
	Before  string        `json:"before,omitempty"`
	After   string        `json:"after,omitempty"`
	Message string        `json:"message"` // in words
	At      time.Time     `json:"at"`      // when it was seen
}

// IntrusionKind is what was changed.
type IntrusionKind string

// The kinds of intrusions. All are of the project's own checkout and its repository.
const (
	IntrusionHead   IntrusionKind = "head"   // HEAD is at another branch, or detached
	IntrusionBranch IntrusionKind = "branch" // a branch was moved, made or deleted, and neither Croft nor the agent of a workspace of that branch did it
	IntrusionFile   IntrusionKind = "file"   // a file was changed, added or deleted, in the checkout or its index
)

// MaxIntrusions is how many intrusions of one kind are recorded of a run. Branches that were made are a kind
// of their own: throw-away ones hide no other.
const MaxIntrusions = 20

// BeginRunRequest asks to begin a run.
type BeginRunRequest struct {
	Key       string      `json:"key,omitempty"`
	Repo      Ref         `json:"repo,omitempty"`
	Workspace Ref         `json:"workspace"` // required: a name, an ID or a path
	Command   []string    `json:"command"`   // required
	Finish    RunFinish   `json:"finish,omitempty"`
	Policy    MergePolicy `json:"policy,omitempty"`
	// Supervisor is the process that will wait for the agent; default: that of the Service.
	Supervisor Owner `json:"supervisor,omitzero"`
}

// RecordRunRequest tells of a run: of its process, that it goes on, or of its end.
type RecordRunRequest struct {
	Repo      Ref `json:"repo,omitempty"`
	Workspace Ref `json:"workspace"` // required
	Run       ID  `json:"run"`       // required
	// Process is the first process of the agent, of which a PID is enough. It takes the lease.
	Process Owner `json:"process,omitzero"`
	// Supervisor is the process that waits for the agent from now on.
	Supervisor Owner `json:"supervisor,omitzero"`
	// End ends the run, with Status unless it is RunLost.
	End    RunEnd `json:"end,omitempty"`
	Status int    `json:"status,omitempty"`
	// Work says what became of the work of a run that has ended, and Why, with WorkFailed, why it
	// could not be finished.
	Work RunWork `json:"work,omitempty"`
	Why  string  `json:"why,omitempty"`
}

// RunWork says what became of the work of a run.
type RunWork string

// The values of RunWork.
const (
	WorkAsItIs   RunWork = "" // nothing is said of it
	WorkFinished RunWork = "finished"
	WorkFailed   RunWork = "failed" // it could not be finished: a person has to look at it
)

// StopRunRequest ends the agent that runs in a workspace.
type StopRunRequest struct {
	Repo      Ref      `json:"repo,omitempty"`
	Workspace Ref      `json:"workspace,omitempty"` // a name, an ID or a path; default: where Repo lies
	Grace     Duration `json:"grace,omitempty"`     // from the request to end until its processes are killed; default: 10 seconds
}

// RunLogRequest names a part of what the last agent of a workspace printed.
type RunLogRequest struct {
	Repo      Ref   `json:"repo,omitempty"`
	Workspace Ref   `json:"workspace,omitempty"` // a name, an ID or a path; default: where Repo lies
	Offset    int64 `json:"offset,omitempty"`    // in bytes; negative: from the end
	Limit     int   `json:"limit,omitempty"`     // bytes; default and most: 1 MiB
}

// RunLog is a part of what an agent printed. Of a long output the beginning and the end are
// kept, so that Offset may be after the one that was asked for.
type RunLog struct {
	Run    Run    `json:"run"`
	Data   []byte `json:"data,omitempty"` // as it was printed: the output of a program is not to be trusted
	Offset int64  `json:"offset"`         // where Data begins
	Next   int64  `json:"next"`           // where the next part begins
	Size   int64  `json:"size"`           // of all so far
}

// Runs is the part of Service that knows the agents that Croft started. A Service starts no
// agent: a supervisor does, which is a process of its own, and tells the Service of it.
type Runs interface {
	// BeginRun records that an agent is about to be started in a workspace. While another one
	// runs there it is WorkspaceBusy. One whose processes are gone is recorded as lost first.
	BeginRun(ctx context.Context, req BeginRunRequest) (*Run, error)

	// RecordRun records the process of a run, which takes a lease, that it goes on, which renews
	// the lease, or its end, which releases it. Each looks for changes outside of the workspace,
	// and tells of those as run.intruded. Of a run that has ended it changes nothing; one that is
	// not the last of its workspace is RunNotFound.
	RecordRun(ctx context.Context, req RecordRunRequest) (*Run, error)

	// StopRun asks the processes of the agent to end, kills those that do not, and returns when
	// all are gone and the end is recorded. If none runs, the last one is returned as it ended;
	// a workspace that had none is RunNotFound.
	StopRun(ctx context.Context, req StopRunRequest) (*Run, error)

	// RunLog returns a part of what the last agent of a workspace printed, also of one that was removed. A workspace that had
	// none, or whose output is not kept any more, is RunNotFound.
	RunLog(ctx context.Context, req RunLogRequest) (*RunLog, error)
}
