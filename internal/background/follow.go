package background

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Follower follows a session to its end.
type Follower struct {
	Session *Session
	Output  io.Writer                  // what happens is said there
	Tell    func(list json.RawMessage) // told of each change, with a list of the session alone, as Claude Code has listed it

	// Interval is how long it waits between two looks at the beginning; later it waits longer. Default: a second.
	Interval time.Duration
}

// What a run of a session exits with, in the words of shells.
const (
	statusDone    = 0
	statusFailed  = 1
	statusStopped = 128 + 15
)

const (
	// quick is how many looks there are before the pauses become longer: each starts Claude Code, which takes a third of a second of a processor.
	quick = 20
	// longer is by how much.
	longer = 5
	// missing is for how many looks in a row a session may not be listed, or have no process, or Claude Code fail to say.
	missing = 20
)

// Follow returns when the session has ended, with the status of a process that ended so.
func (f Follower) Follow(ctx context.Context) int {
	s := f.Session
	fmt.Fprintf(f.Output, "Claude Code runs it in the background: claude attach %s, claude logs %s\n", s.ID, s.ID)
	pause := f.Interval
	if pause == 0 {
		pause = time.Second
	}
	said, absent := "", 0
	for i := 0; ; i++ {
		now, err := s.look(ctx)
		switch {
		case ctx.Err() != nil:
			return statusStopped
		case err != nil || now == nil || now.PID == 0:
			absent++
		default:
			absent = 0
		}
		if now != nil {
			if text := now.String(); text != said {
				said = text
				fmt.Fprintln(f.Output, text)
				f.Tell(json.RawMessage("[" + string(now.text) + "]"))
			}
			if now.hasEnded() {
				return now.status()
			}
		}
		if absent > missing {
			fmt.Fprintf(f.Output, "Claude Code has no process for it any more, or does not say: %v\n", err)
			return statusFailed
		}
		if i == quick {
			pause *= longer
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

func (l *listed) String() string {
	if l.Status == "waiting" && l.WaitingFor != "" {
		return "waiting: " + l.WaitingFor
	}
	return l.State
}

// hasEnded reports whether the session has done what it will do unless it is asked for more.
func (l *listed) hasEnded() bool {
	switch l.State {
	case "done":
		return l.Status != "busy" && l.Status != "waiting" // it was taken up again
	case "failed", "stopped":
		return true
	}
	return false
}

// status returns what a process that ended as the session did would have exited with.
func (l *listed) status() int {
	switch l.State {
	case "done":
		return statusDone
	case "stopped":
		return statusStopped
	}
	return statusFailed
}
