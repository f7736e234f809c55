package croft

import "time"

// CommitsRequest names the workspace whose commits are to be listed. If no live workspace
// has the name or ID, it is the one that was removed last.
type CommitsRequest struct {
	Repo      Ref    `json:"repo,omitempty"`
	Workspace Ref    `json:"workspace,omitempty"` // a name, an ID or a path; default: where Repo lies
	Target    string `json:"target,omitempty"`    // default: the workspace's own
	Page
}

// Commits is one page of the commits of a workspace, the newest first: those that its target
// lacks, and before them those that merges of the workspace brought to the target. Commits that
// the workspace began with, or took from the target, are not its own.
type Commits struct {
	Workspace     ID        `json:"workspace"`
	WorkspaceName string    `json:"workspaceName"`
	Left          TrashLeft `json:"left,omitempty"`         // what is left of a workspace that was removed
	Target        string    `json:"target,omitempty"`       // a branch; absent: the workspace has none
	TargetCommit  string    `json:"targetCommit,omitempty"` // the commit that the target was at
	Base          string    `json:"base,omitempty"`         // the commit that the workspace began with
	Head          string    `json:"head,omitempty"`         // its last commit
	Items         []Commit  `json:"items"`
	Total         int       `json:"total"`          // of all pages
	Unmerged      int       `json:"unmerged"`       // those of them that the target lacks
	IsCut         bool      `json:"cut,omitempty"`  // there are more, which no page has: 5,000 are listed
	Next          string    `json:"next,omitempty"` // for Page.After; empty: there is no further page

	// Uncommitted is the work that no commit has; absent if there is none, if only commits are
	// left of the workspace, and on all pages but the first.
	Uncommitted *Uncommitted `json:"uncommitted,omitempty"`
}

// Commit is a commit of a workspace. Its texts and its times are its author's: any text, and
// any time.
type Commit struct {
	Commit  string   `json:"commit"`            // its name: 40 or 64 hexadecimal digits
	Parents []string `json:"parents,omitempty"` // two or more: it is a merge commit
	Title   string   `json:"title"`             // the first line of its message, up to 500 bytes
	Message string   `json:"message,omitempty"` // the rest of its message, up to 4,000 bytes
	IsCut   bool     `json:"cut,omitempty"`     // its message is longer, or was not read, because the commit has more than 1 MiB
	Author  Author   `json:"author"`            // up to 200 bytes each

	AuthoredAt  time.Time `json:"authoredAt,omitzero"` // absent if it is no time
	CommittedAt time.Time `json:"committedAt,omitzero"`

	// Changes counts what it changed. It is absent of merge commits, and if counting failed or
	// took more than five seconds for the page.
	Changes *Changes `json:"changes,omitempty"`

	// Merge brought it to the target, and MergeCommit is the commit that the target became.
	// MergeStatus is that of the merge: MergeReverted if it was taken back. They are absent of
	// commits that the target lacks.
	Merge       ID          `json:"merge,omitempty"`
	MergeCommit string      `json:"mergeCommit,omitempty"`
	MergeStatus MergeStatus `json:"mergeStatus,omitempty"`
}

// Uncommitted counts the work that no commit has, as a commit of all of it would have it.
type Uncommitted struct {
	Changes
	NewFiles     int      `json:"newFiles"`           // files that the last commit lacks
	DeletedFiles int      `json:"deletedFiles"`       // files that only the last commit has
	HeldBack     []string `json:"heldBack,omitempty"` // files that are not counted: see Review
}
