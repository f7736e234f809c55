package lane

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/project"
)

// errTargetMoves says that others moved a target while something was merged with
// where it was.
var errTargetMoves = errors.New("the target has moved meanwhile")

// A lane gives up a target that others moved during so many tries in a row, over so
// long a time. It is more than a series of patches that somebody applies there takes.
const (
	movedTries = 5
	movedTime  = 30 * time.Second
)

// movedPause is how long a lane waits after each such try, times their number; at
// most movedPauses times.
const (
	movedPause  = 20 * time.Millisecond
	movedPauses = 25
)

// laneTries counts the tries in a row during which others moved the target.
type laneTries struct {
	n     int
	since time.Time
}

// afterBatch decides what follows a turn of a lane that ended with err. Where others move
// the target all the time, what waits for it is turned away.
func (svc *Lanes) afterBatch(ctx context.Context, r *project.Project, target string, tries *laneTries, err error) error {
	if !errors.Is(err, errTargetMoves) {
		*tries = laneTries{}
		return err
	}
	if tries.n++; tries.n == 1 {
		tries.since = svc.Now()
	}
	if over := svc.Now().Sub(tries.since); tries.n >= movedTries && over >= movedTime {
		return svc.rejectAll(ctx, r, target, targetMoves(target, tries.n, over))
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(movedPause * time.Duration(min(tries.n, movedPauses))):
		return nil
	}
}

func targetMoves(target string, tries int, over time.Duration) error {
	return &croft.Error{
		Code:    croft.TargetMoved,
		Message: fmt.Sprintf("%s keeps moving: others committed to it during each of %d tries in %v", target, tries, over.Round(time.Second)),
		Details: "Nothing landed. The work is as it was submitted.",
		Hint:    "croft queue run, when nobody commits to " + target,
	}
}
