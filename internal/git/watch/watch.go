// Package watch knows of checkouts whether anything in them was touched since they were walked, as
// long as the process lives: the kernel tells it (inotify). An answer that was found by a walk holds
// until then, and need not be found again.
//
// The order is what makes it right. [Watches.Begin] watches the admin directory, the walk hands each
// directory to [Mark.Enter] before it reads it, and [Mark.Keep] keeps the answer only if nothing was
// told meanwhile. So every change that the walk did not see is told. [Watches.Answer] reads what was told
// up to now before it answers. Directories are watched by their open descriptors: there is no path
// that another could come to stand at. A checkout that was touched is not watched any more until it is
// walked again, so that a busy one costs nothing.
//
// Whatever is not certain is a miss, which costs a walk: a queue that ran over, a watch that the system
// refused, a file system that others write from elsewhere, a directory that was moved or mounted over. What no
// kernel tells is bounded by time: a write through mapped memory is told when the file is closed, and
// one through a hard link that was made elsewhere after the walk is not told at all. So an answer
// holds for a minute at most ([Options.Holds]).
//
// It is for showing. No act that something may be lost by believes it.
package watch

import "time"

// Checkout is what is watched.
type Checkout struct {
	Path  string // its files
	Admin string // the directory with its index
}

// Options are those of Watches.
type Options struct {
	// Most is how many directories are watched at once. Default: half of what the system lets the user have, so
	// that editors and builds keep theirs.
	Most int
	// Holds is how long an answer holds. Default: one minute.
	Holds time.Duration
	// Pause is how long what was told is collected before it is read, unless somebody asks. Default: 20 milliseconds.
	Pause time.Duration
}

// Limits of what is watched, and for how long.
const (
	usualHold  = time.Minute
	usualPause = 20 * time.Millisecond
	// ofOne is the part of the watches that one checkout may have.
	ofOne = 4
	// again is how long after the system had no watches left more are tried.
	again = 5 * time.Minute
)

// Reason says why not every checkout is watched.
type Reason string

// The reasons.
const (
	Complete    Reason = ""
	Unsupported Reason = "this system cannot tell"
	NoInstance  Reason = "the system lets this user watch nothing more (fs.inotify.max_user_instances, or open files)"
	NoWatch     Reason = "the user's watches are used up, by other programs as well (fs.inotify.max_user_watches)"
	OverShare   Reason = "there are more directories than half of the user's watches (fs.inotify.max_user_watches)"
	Broken      Reason = "what the system told could not be read"
)

// State is how far checkouts are watched now.
type State struct {
	Checkouts int // those with an answer
	Watches   int // the directories
	Most      int // the limit of Watches
	Overflows int // how often the system had more to tell than it keeps
	Touched   int // how many answers were ended by what was told
	Why       Reason
}
