package croft

import "time"

// TryState says how far a check, or an attempt, has come.
type TryState string

// The states of checks and attempts.
const (
	TryRunning TryState = "running"
	TryPassed  TryState = "passed"
	TryFailed  TryState = "failed"
	TryStopped TryState = "stopped" // its driver ended first: it says nothing, and is run again
)

// Attempt is a tree that a lane made of a merge and had checked. A lane stacks several merges,
// a batch, on its target, and checks the tree of all of them. If that fails it bisects: it
// checks the trees of the first few, until the merge is found that breaks the checks.
type Attempt struct {
	Batch    ID  `json:"batch"`
	Size     int `json:"size"`     // how many merges the batch has
	Position int `json:"position"` // of this merge in the batch; the lowest is 1
	Step     int `json:"step"`     // 0: the first try of the batch; n: the nth step of its bisection
	Merges   int `json:"merges"`   // how many merges of the batch, from the lowest, the tree has; 0: it is the target's own

	Commit    string    `json:"commit"`
	Tree      string    `json:"tree"`
	State     TryState  `json:"state"`
	Commands  []string  `json:"commands,omitempty"` // all that are to be run, in their order; the first that fails is the last
	Checks    []Check   `json:"checks,omitempty"`   // those that have begun, without Tail; a command that was run again has two
	StartedAt time.Time `json:"startedAt"`
	EndedAt   time.Time `json:"endedAt,omitzero"` // absent while it runs, and if its driver died
}

// Check is one run of a command on the merged result.
type Check struct {
	ID      ID       `json:"id,omitempty"`
	Command string   `json:"command"`
	Tree    string   `json:"tree"`            // the tree that it ran on
	State   TryState `json:"state,omitempty"` // absent if an earlier version of Croft ran it
	Passed  bool     `json:"passed"`
	IsFlaky bool     `json:"flaky,omitempty"` // it failed first and passed when it was run again
	Took    Duration `json:"took"`
	Usual   Duration `json:"usual,omitempty"`    // the median of the last times that the command passed
	Log     string   `json:"log,omitempty"`      // the file with its output
	Tail    string   `json:"tail,omitempty"`     // the end of the output of a failure
	Last    string   `json:"lastLine,omitempty"` // the last line of the output that is not empty, cut if it is long

	StartedAt time.Time `json:"startedAt,omitzero"`
}

// CheckOutput is output of a check that runs.
type CheckOutput struct {
	Text string `json:"text"` // whole lines; long ones are cut
	// Left is how many bytes were left out before Text: events carry at most 64 KB of the
	// output of one check. The file that Check.Log names has more.
	Left int64 `json:"left,omitempty"`
}

// CheckLogRequest names a part of the output of a check.
type CheckLogRequest struct {
	Merge ID `json:"merge"`
	// Check is one of Merge.Checks or of an attempt. Default: the one that runs, else one
	// that failed, else the last one.
	Check  ID    `json:"check,omitempty"`
	Offset int64 `json:"offset,omitempty"` // in bytes
	Limit  int   `json:"limit,omitempty"`  // bytes; default and most: 1 MiB
}

// CheckLog is a part of the output of a check. Of a long output the beginning and the end are
// kept.
type CheckLog struct {
	Merge         ID     `json:"merge"`
	Workspace     ID     `json:"workspace,omitempty"`
	WorkspaceName string `json:"workspaceName,omitempty"`
	Check         Check  `json:"check"`
	Data          []byte `json:"data,omitempty"` // as it was printed: the output of a program is not to be trusted
	Offset        int64  `json:"offset"`         // where Data begins
	Next          int64  `json:"next"`           // where the next part begins
	Size          int64  `json:"size"`           // of all so far; a check that runs prints more
}
