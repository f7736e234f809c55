package croft

import "context"

// SaveRequest names the workspace whose uncommitted work is committed.
type SaveRequest struct {
	Key       string   `json:"key,omitempty"`
	Repo      Ref      `json:"repo,omitempty"`
	Workspace Ref      `json:"workspace,omitempty"` // a name, an ID or a path; default: where Repo lies
	Message   string   `json:"message,omitempty"`   // of the commit; default: by the configuration's template
	Paths     []string `json:"paths,omitempty"`     // files and directories of the workspace, relative, with slashes; default: all

	IfRevision int `json:"ifRevision,omitempty"` // fails with RevisionChanged if the workspace is at another revision
}

// Saved says what was committed of a workspace.
type Saved struct {
	RepoID        ID       `json:"repoId,omitempty"`
	Workspace     ID       `json:"workspace"`
	WorkspaceName string   `json:"workspaceName"`
	Branch        string   `json:"branch,omitempty"`   // the branch that has the commit
	Commit        string   `json:"commit,omitempty"`   // empty: there was nothing to commit
	Files         int      `json:"files"`              // files that the commit changes
	HeldBack      []string `json:"heldBack,omitempty"` // files that were not committed, because they look like secrets, are large, are repositories, or were hidden from git
}

// Saves is the part of Service that commits the work of an agent that goes on working.
type Saves interface {
	// Save commits the uncommitted work of a workspace to its branch, by the rules of
	// [Merges.Finish]: no program of the repository runs, no link is followed, and files
	// that look like secrets or are large stay uncommitted and are named. Without
	// uncommitted work it succeeds, and its answer has no commit.
	//
	// Paths choose a part of the work. Then nothing else may be staged, and no merge may
	// be in progress: both would go into the commit.
	Save(ctx context.Context, req SaveRequest) (*Saved, error)
}
