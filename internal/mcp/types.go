package mcp

// The arguments and answers of the tools. Their schemas are made of these types and their tags.

type statusIn struct {
	Workspace string `json:"workspace" desc:"Workspace name or id. Left out: the server's own."`
}

type statusOut struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	Path      string            `json:"path,omitempty"`
	Branch    string            `json:"branch,omitempty"`
	Target    string            `json:"target,omitempty"`
	State     string            `json:"state"`
	Agent     string            `json:"agent,omitempty"`
	Next      string            `json:"next,omitempty"`
	Dirty     []string          `json:"dirty,omitempty"`
	Ahead     int               `json:"ahead,omitempty"`
	Behind    int               `json:"behind,omitempty"`
	Overlaps  int               `json:"overlaps,omitempty"`
	Ports     map[string]int    `json:"ports,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	Provision []map[string]any  `json:"provision,omitempty"`
}

type diffIn struct {
	Workspace string `json:"workspace" desc:"Workspace name or id. Left out: the server's own."`
	Path      string `json:"path"`
	Limit     int    `json:"limit" min:"1" max:"200"`
	After     string `json:"after" desc:"next of the answer before"`
}

type diffOut struct {
	Files []map[string]any `json:"files,omitempty"`
	Patch string           `json:"patch,omitempty"`
	Next  string           `json:"next,omitempty"`
}

type saveIn struct {
	Message string   `json:"message" required:"yes" minLength:"1" maxLength:"4000"`
	Paths   []string `json:"paths"`
	Key     string   `json:"key" desc:"Repeat with the same key after a lost answer."`
}

type saveOut struct {
	Commit   string   `json:"commit,omitempty"`
	Files    int      `json:"files,omitempty"`
	HeldBack []string `json:"heldBack,omitempty"`
}

type conflictsIn struct {
	Workspace string   `json:"workspace" desc:"Workspace name or id. Left out: the server's own."`
	Paths     []string `json:"paths"`
}

type conflictsOut struct {
	Pairs []map[string]any `json:"pairs,omitempty"`
}

type reportIn struct {
	State      string `json:"state" required:"yes" enum:"working|waiting|idle"`
	WaitingFor string `json:"waitingFor" enum:"permission|answer|credentials|resource"`
	Note       string `json:"note" maxLength:"500"`
}

type reportOut struct {
	State string `json:"state,omitempty"`
}

type provisionIn struct {
	Steps  []string `json:"steps"`
	DryRun bool     `json:"dryRun"`
}

type provisionOut struct {
	Steps      []map[string]any `json:"steps,omitempty"`
	Unapproved []string         `json:"unapproved,omitempty"`
}

type submitIn struct {
	Summary string `json:"summary" maxLength:"4000"`
	Outcome string `json:"outcome" required:"yes" enum:"done|failed|partial"`
	Key     string `json:"key"`
}

type submitOut struct {
	Merge *submitted `json:"merge,omitempty"`
	Next  string     `json:"next,omitempty"`
}

type submitted struct {
	ID     string   `json:"id,omitempty"`
	Status string   `json:"status,omitempty" enum:"queued|checking|merged|conflict|check_failed|held|pending"`
	Commit string   `json:"commit,omitempty"`
	Files  []string `json:"files,omitempty"`
	Log    string   `json:"log,omitempty"`
}

type listIn struct {
	State   string `json:"state"`
	Agent   string `json:"agent"`
	Session string `json:"session"`
	Asks    string `json:"asks" enum:"person" desc:"whose agents wait for one"`
	Limit   int    `json:"limit" min:"1" max:"200"`
	After   string `json:"after" desc:"next of the answer before"`
}

type listOut struct {
	Workspaces []brief `json:"workspaces,omitempty"`
	Next       string  `json:"next,omitempty"`
	Cursor     string  `json:"cursor,omitempty"`
}

// brief is a workspace in a list.
type brief struct {
	ID     string `json:"id,omitempty"`
	Name   string `json:"name,omitempty"`
	Path   string `json:"path,omitempty"`
	Branch string `json:"branch,omitempty"`
	Target string `json:"target,omitempty"`
	State  string `json:"state,omitempty"`
	Agent  string `json:"agent,omitempty"`
	Next   string `json:"next,omitempty"`
}

type createIn struct {
	Names     []string `json:"names" required:"yes" minItems:"1" maxItems:"50" pattern:"^[a-z0-9][a-z0-9-]{0,62}$"`
	Base      string   `json:"base"`
	Target    string   `json:"target"`
	Role      string   `json:"role"`
	Mode      string   `json:"mode" enum:"worktree|isolated"`
	Provision string   `json:"provision" enum:"wait|background|none"`
	Key       string   `json:"key"`
}

type createOut struct {
	Workspaces []brief `json:"workspaces,omitempty"`
}

type mergeIn struct {
	Workspace string `json:"workspace" required:"yes"`
	Head      string `json:"head"`
	Wait      int    `json:"wait" min:"0" max:"600" desc:"seconds"`
	Key       string `json:"key"`
}

type mergeOut struct {
	ID     string   `json:"id"`
	Status string   `json:"status" enum:"queued|checking|merged|conflict|check_failed|held|pending"`
	Commit string   `json:"commit,omitempty"`
	Files  []string `json:"files,omitempty"`
	Log    string   `json:"log,omitempty"`
}

type closeIn struct {
	Workspaces []string `json:"workspaces" required:"yes" minItems:"1"`
	Outcome    string   `json:"outcome" required:"yes" enum:"finished|discard"`
	Key        string   `json:"key"`
}

type closeOut struct {
	Removed []string         `json:"removed,omitempty"`
	Kept    []map[string]any `json:"kept,omitempty"`
}

type waitIn struct {
	Cursor    string   `json:"cursor"`
	Kinds     []string `json:"kinds"`
	Workspace string   `json:"workspace"`
	Seconds   int      `json:"seconds" min:"0" max:"300"`
}

type waitOut struct {
	Events []map[string]any `json:"events,omitempty"`
	Cursor string           `json:"cursor,omitempty"`
}
