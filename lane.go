package croft

// Lane is the state of a target branch and of its lane.
type Lane struct {
	RepoID ID     `json:"repoId,omitempty"`
	Target string `json:"target"` // a branch
	Tip    string `json:"tip"`    // the commit that it is at
	// Known is the commit that the lane left the branch at, or that a person accepted.
	// If it is not Tip, the branch moved outside of its lane: by a person, or an agent
	// that can write the repository's refs.
	Known   string       `json:"known"`
	Added   int          `json:"added"`             // how many commits others added since
	Gone    int          `json:"gone"`              // how many commits of Known it does not have any more
	IsLost  bool         `json:"lost,omitempty"`    // Known is not in the repository any more, so that nothing can be counted
	Message string       `json:"message,omitempty"` // the same in a sentence; empty if only the lane moved it
	Commits []LaneCommit `json:"commits,omitempty"` // the last commits that others added, the last one first
	Protect bool         `json:"protect,omitempty"` // merge.protect: nothing is merged into it until that was accepted
	Reason  Code         `json:"reason,omitempty"`  // why the branch, or its croft.toml, could not be read; Message says it, too
	Hint    string       `json:"hint,omitempty"`    // what to do about that
}

// LaneCommit is a commit that did not come through a lane.
type LaneCommit struct {
	Commit  string `json:"commit"`
	Author  string `json:"author"`
	Subject string `json:"subject"`
}

// LanesRequest chooses lanes.
type LanesRequest struct {
	Repo   Ref    `json:"repo,omitempty"`
	Target string `json:"target,omitempty"` // default: every lane
	Page
}

// AcceptRequest accepts that a target moved outside of its lane.
type AcceptRequest struct {
	Key    string `json:"key,omitempty"` // the same call accepts the same commit, and no later one
	Repo   Ref    `json:"repo,omitempty"`
	Target string `json:"target"`         // a branch
	From   string `json:"from,omitempty"` // the directory that the person stands in; default: that of the Service
}
