package croft

// Maker says who made a workspace.
type Maker string

// MakerCaller: the actor of the call made or adopted it, as Workspace.Actor says.
const MakerCaller Maker = "caller"

// WorkspacesRequest chooses workspaces. The zero value means all live ones of the
// repository that the Service was opened in.
type WorkspacesRequest struct {
	Repo    Ref               `json:"repo,omitempty"`
	Repos   Scope             `json:"repos,omitempty"` // ScopeAll: of all projects; Repo is not looked at
	Session string            `json:"session,omitempty"`
	Role    string            `json:"role,omitempty"`
	Agent   string            `json:"agent,omitempty"`
	Branch  string            `json:"branch,omitempty"`
	Target  string            `json:"target,omitempty"`
	Meta    map[string]string `json:"meta,omitempty"`   // all of these entries
	States  []State           `json:"states,omitempty"` // default: all but trashed

	// MergeStatuses are what became of the work. If States are not given, those
	// that are gone are meant too.
	MergeStatuses []MergeStatus `json:"mergeStatuses,omitempty"`

	// Conditions are what the workspaces are like. Those that are gone are meant too if
	// one of the conditions is theirs.
	Conditions []Condition `json:"conditions,omitempty"`

	// Asks is whom their agents ask; default: anybody, or nobody.
	Asks Asks `json:"asks,omitempty"`

	// Maker is who made them; default: anybody.
	Maker Maker `json:"maker,omitempty"`

	// Look is the time for looking at commits, files and processes, those that were active
	// last first. Without it a condition is decided by the record and the refs alone, and
	// all workspaces that could have been looked at are unseen.
	Look Duration `json:"look,omitempty"`

	Page
}
