package croft

import "time"

// ReadSource says what answers are read from by a process that may not write the state, as
// in the sandbox of an agent.
type ReadSource string

// The sources of answers that are read only.
const (
	ReadLive ReadSource = "live" // the state as it is, also while others write it
	ReadFile ReadSource = "file" // the state as it was written last; nobody writes it
	ReadCopy ReadSource = "copy" // a copy of the state, which was made for the answer
	ReadGit  ReadSource = "git"  // what git knows; the state cannot be read
)

// ReadOnlyState says how answers are read where nothing can be recorded.
type ReadOnlyState struct {
	Source ReadSource `json:"source"`
	AsOf   time.Time  `json:"asOf,omitzero"` // of a file or a copy: when it was written
	// Verified says that the answer is from Croft's own record. What git knows can be written by
	// whoever can write the repository, and Croft does nothing on the strength of it.
	Verified bool `json:"verified"`
}
