package croft

// Lane is a target branch as its lane knows it.
type Lane struct {
	Target string `json:"target"` // a branch
	Tip    string `json:"tip"`    // the commit that it is at
	// Known is the commit that the lane left it at, or that a person accepted.
	// If it is not Tip, the branch moved outside of its lane: by a person, or an agent
	// that can write the repository's refs.
	Known   string       `json:"known"`
	Added   int          `json:"added"`             // how many commits others added since
	Gone    int          `json:"gone"`              // how many commits of Known it does not have any more
	IsLost  bool         `json:"lost,omitempty"`    // Known is not in the repository any more, so that nothing can be counted
	Message string       `json:"message,omitempty"` // the same in a sentence; empty if only the lane moved it
	Commits []LaneCommit `json:"commits,omitempty"` // the last of those that others added, the last first
	Protect bool         `json:"protect,omitempty"` // merge.protect: nothing is merged into it until that was accepted
}

// LaneCommit is a commit that did not come through a lane.
type LaneCommit struct {
	Commit  string `json:"commit"`
	Author  string `json:"author"`
	Subject string `json:"subject"`
}

// AcceptRequest accepts that a target moved outside of its lane.
type AcceptRequest struct {
	Repo   string `json:"repo,omitempty"`
	Target string `json:"target"`         // a branch
	From   string `json:"from,omitempty"` // the directory that the person stands in; default: that of the Service
}
