package croft

import "time"

// Question is what an agent asked and waits for. Its text is the agent's: show it as text.
type Question struct {
	Text  string    `json:"text"`
	Since time.Time `json:"since"`
}

// Port is a TCP port that is a workspace's own.
type Port struct {
	Name string `json:"name,omitempty"` // what for, by the configuration
	Port int    `json:"port"`
}

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
