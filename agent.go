package croft

import (
	"context"
	"time"
)

// Agents is what agents say of themselves, and what they bring along.
type Agents interface {
	// ReportAgent records what the agent of a workspace does, and tells of it as
	// workspace.reported. It is no new revision of the workspace, and no act of the history.
	ReportAgent(ctx context.Context, req ReportRequest) (*Activity, error)

	// Adopt makes workspaces of worktrees that somebody else made. Nothing in them is
	// written, and their branches are never deleted. One that is a workspace already is
	// answered as it is. A worktree is left, with the reason, if it and its registration do
	// not name each other.
	Adopt(ctx context.Context, req AdoptRequest) (*AdoptResult, error)
}

// RoleSubagent is the role of workspaces for agents that another agent has started. Upkeep removes such a workspace once the
// other agent has ended, if nothing of its work would be lost.
const RoleSubagent = "subagent"

// AdoptRequest makes workspaces of worktrees that somebody else made. Without Paths and All it
// is the worktree that Repo lies in.
type AdoptRequest struct {
	Key   string            `json:"key,omitempty"`
	Repo  Ref               `json:"repo,omitempty"`
	Paths []string          `json:"paths,omitempty"` // absolute
	All   Scope             `json:"all,omitempty"`   // ScopeAll: all worktrees of the project that are no workspaces yet
	Name  string            `json:"name,omitempty"`  // of one; default: by its directory
	Agent string            `json:"agent,omitempty"`
	Meta  map[string]string `json:"meta,omitempty"`
}

// AdoptResult answers for every worktree that was asked for.
type AdoptResult struct {
	Workspaces []Workspace `json:"workspaces"`
	Left       []Unadopted `json:"left,omitempty"`
}

// Unadopted is a worktree that was not adopted.
type Unadopted struct {
	Path   string `json:"path"`
	Reason *Error `json:"reason"`
}

// Question is what an agent asked and waits for. Its text is the agent's: show it as text.
type Question struct {
	Text  string    `json:"text"`
	Since time.Time `json:"since"`
}

// AgentState says what the agent of a workspace does.
type AgentState string

// The states of agents.
const (
	AgentStarting AgentState = "starting" // it was started and has not begun to work
	AgentWorking  AgentState = "working"
	AgentWaiting  AgentState = "waiting" // it does not go on without what it waits for
	AgentIdle     AgentState = "idle"    // its turn is over; that does not say that its task is done
	AgentEnded    AgentState = "ended"
	AgentUnknown  AgentState = "unknown" // there were no news for long, and no process of it is known
)

// AgentNeed is what an agent waits for.
type AgentNeed string

// What agents wait for.
const (
	NeedAnswer      AgentNeed = "answer"      // a person answers a question
	NeedPermission  AgentNeed = "permission"  // a person allows something
	NeedCredentials AgentNeed = "credentials" // a person logs in
	NeedResource    AgentNeed = "resource"    // something on the machine or in the network
	NeedLimit       AgentNeed = "limit"       // the limit of a service is over
)

// Activity is what the agent of a workspace does, by the last news of it.
type Activity struct {
	State        AgentState `json:"state"`
	WaitingFor   AgentNeed  `json:"waitingFor,omitempty"`   // with AgentWaiting
	Note         string     `json:"note,omitempty"`         // the agent's words: show them as text
	Source       string     `json:"source,omitempty"`       // what told of it: "report", or the name of an agent's hooks
	Since        time.Time  `json:"since"`                  // when the state began
	At           time.Time  `json:"at"`                     // when the last news of it came; news that change nothing count once a minute
	AgentSession string     `json:"agentSession,omitempty"` // of the agent, as the agent calls it
	Process      Owner      `json:"process,omitzero"`       // of the agent, if that is known: when it has ended, so has the agent
}

// ReportRequest tells what the agent of a workspace does.
type ReportRequest struct {
	Repo       Ref        `json:"repo,omitempty"`
	Workspace  Ref        `json:"workspace,omitempty"`  // a name, an ID or a path; default: where Repo lies
	State      AgentState `json:"state"`                // required; not AgentUnknown
	WaitingFor AgentNeed  `json:"waitingFor,omitempty"` // with AgentWaiting; default: NeedAnswer
	Note       string     `json:"note,omitempty"`       // at most MaxNote bytes
	Source     string     `json:"source,omitempty"`     // default: "report"

	// AgentSession is the agent's own name for its session, of at most 128 bytes. News of a session
	// that came before the present one are dropped, unless the present one has ended.
	AgentSession string `json:"agentSession,omitempty"`
	// Turn says whether the session begins with the report, or leaves the workspace with it.
	Turn SessionTurn `json:"turn,omitempty"`
	// Process is the agent's: once it has ended, so has the agent, whatever it said last. Only PID is required, if it runs
	// where the Service does.
	Process Owner `json:"process,omitzero"`
	// At is when it was so, if the report comes late; default: now. News from before the last
	// ones are dropped.
	At time.Time `json:"at,omitzero"`
}

// SessionTurn says where in an agent's session a report is.
type SessionTurn string

// The turns.
const (
	SessionGoesOn SessionTurn = ""       // it goes on
	SessionBegins SessionTurn = "begins" // it begins, or is taken up again: it is the present one from now on
	SessionLeaves SessionTurn = "leaves" // it has left the workspace, which is kept: workspace.left tells of it
)

// MaxNote is how long the note of a report may be, in bytes.
const MaxNote = 500

// Port is a TCP port that is a workspace's own.
type Port struct {
	Name string `json:"name,omitempty"` // what for, by the configuration
	Port int    `json:"port"`
}

// PortsMode says what becomes of a workspace's ports.
type PortsMode string

// The modes.
const (
	PortsKeep PortsMode = ""     // they stay
	PortsMove PortsMode = "move" // it gets others in their place; its variables, and the file that has them, are written anew
)

// Access says what the holder of a token may do. It decides before a call is made: a Service
// itself knows no tokens, and who calls is its [Actor].
type Access string

// The kinds of access.
const (
	// AccessRead may make the calls that list, show, plan and wait, in all projects, and
	// Doctor if it only looks.
	AccessRead Access = "read"
	// AccessWorkspace is an agent's: it acts as the Actor of one workspace, and finds nothing
	// but that workspace, its merges, snapshots, reviews, leases and events. Anything else is
	// not found, as if it did not exist; calls that reach further, locks and sessions are
	// AccessDenied.
	AccessWorkspace Access = "workspace"
	// AccessAll may make all calls, also those by which a person decides: Approve,
	// AcceptTarget and AcceptGitConfig.
	AccessAll Access = "all"
)

// Token is the right to call a Service from elsewhere. The secret is shown once, when the
// token is made, and is not in it. No Service has tokens: those who serve one have them.
type Token struct {
	ID        ID        `json:"id"`
	Name      string    `json:"name"`
	Access    Access    `json:"access"`
	Workspace ID        `json:"workspace,omitempty"` // with AccessWorkspace
	CreatedAt time.Time `json:"createdAt"`
	UsedAt    time.Time `json:"usedAt,omitzero"` // absent: never
}

// Asks says whom an agent asks.
type Asks string

// AsksPerson: a person has to answer, to permit something or to log in, as Workspace.Question says.
const AsksPerson Asks = "person"
