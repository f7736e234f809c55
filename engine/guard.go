package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/proc"
)

// guard refuses what would take something away from somebody. What looks odd
// because another process is removing the workspace is WorktreeNotFound.
func (e *Engine) guard(ctx context.Context, r *repo, rec journal.Record, mode croft.RemoveMode) error {
	err := e.guardNow(ctx, r, rec, mode)
	if err == nil || ctx.Err() != nil {
		return err
	}
	for {
		var other croft.ID
		gone := e.journal.Update(ctx, func(tx *journal.Tx) (err error) {
			other, err = underway(tx, rec)
			return err
		})
		if gone != nil {
			return gone
		}
		if other == "" {
			return err
		}
		if _, err := e.ops.Await(ctx, other, e.recover); err != nil {
			return err
		}
	}
}

// underway finds a removal or a rewind of the workspace that has not ended, and
// fails with WorktreeNotFound if it was removed.
func underway(tx *journal.Tx, rec journal.Record) (croft.ID, error) {
	now, err := tx.Record(rec.Workspace.ID)
	if errors.Is(err, journal.ErrNotFound) || err == nil && now.Workspace.State == croft.Trashed {
		return "", notFound("remove", rec.Workspace.Name)
	}
	if err != nil {
		return "", err
	}
	for _, kind := range []string{"remove", "rewind"} {
		op, err := tx.RunningOn(kind, rec.Workspace.ID)
		if !errors.Is(err, journal.ErrNotFound) {
			return op.ID, err
		}
	}
	return "", nil
}

// removeOccupied also removes a workspace that processes are at work in. They go
// on in the trash.
const removeOccupied croft.RemoveMode = "occupied"

// removeWithWork removes a workspace that was shown with uncommitted work. Somebody
// agreed to that, and to nothing else that protects it.
const removeWithWork croft.RemoveMode = "with work"

func (e *Engine) guardNow(ctx context.Context, r *repo, rec journal.Record, mode croft.RemoveMode) error {
	w := rec.Workspace
	if w.State == croft.Creating {
		return notReady(croft.WorkspaceBusy, rec)
	}
	if err := e.guardLeases(ctx, r, w); err != nil || w.Mode == croft.ModeLegacy {
		return err
	}
	if mode == removeOccupied {
		return r.guardForeign(rec)
	}
	if found := occupants(ctx, w.Path); len(found) > 0 {
		return occupied(found)
	}
	if err := r.guardForeign(rec); err != nil {
		return err
	}
	if mode == croft.RemoveForce {
		return nil
	}
	if err := r.guardLock(rec); err != nil {
		return err
	}
	st, err := e.status(ctx, r, rec)
	if errors.Is(err, croft.WorkspaceBroken) {
		if mode == removeWithWork && !r.isAway(rec) {
			return nil // that was shown: its work cannot be judged
		}
		return e.guardBroken(r, rec)
	}
	if err != nil {
		return err
	}
	if st.Dirty() && mode != removeWithWork {
		return dirty(w, st)
	}
	return nil
}

// gitEnds is how long gits that are at work in a workspace may take to end.
const gitEnds = 3 * time.Second

// occupants lists the processes that are at work in a workspace. If all of them are
// gits it waits for a while: most end in a moment, and newer ones pack objects in the
// background after a commit.
func occupants(ctx context.Context, dir string) []proc.Occupant {
	for end := time.Now().Add(gitEnds); ; {
		found, _ := proc.Occupants(dir)
		isOther := func(o proc.Occupant) bool { return o.Name != "git" }
		if len(found) == 0 || slices.ContainsFunc(found, isOther) || time.Now().After(end) {
			return found
		}
		select {
		case <-ctx.Done():
			return found
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// processName is how a process is called: by its program, where that can be seen.
func processName(name string, pid int) string {
	if name == "" {
		return fmt.Sprintf("process %d", pid)
	}
	return fmt.Sprintf("%s (%d)", name, pid)
}

// processNames are the names of several, or of the first ones.
func processNames(found []proc.Occupant) string {
	const most = 3
	var names []string
	for _, o := range found[:min(len(found), most)] {
		names = append(names, processName(o.Name, o.PID))
	}
	if n := len(found) - most; n > 0 {
		names = append(names, fmt.Sprintf("%d more", n))
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// occupied says who is at work in a workspace.
func occupied(found []proc.Occupant) error {
	is, has, it := "is", "has a file", "the process"
	if len(found) > 1 {
		is, has, it = "are", "have files", "the processes"
	}
	out := &croft.Error{
		Code: croft.WorkspaceBusy, Message: processNames(found) + " " + is + " at work inside", Hint: "leave the directory (cd), or end " + it,
	}
	if !slices.ContainsFunc(found, func(o proc.Occupant) bool { return o.File == "" }) {
		out.Message = processNames(found) + " " + has + " open for writing"
		out.Hint = "end " + it + ", or have the file closed"
	}
	var lines []string
	for _, o := range found {
		line := processName(o.Name, o.PID)
		if o.File != "" {
			line += ": " + o.File
		}
		lines = append(lines, line)
	}
	out.Details = strings.Join(lines, "\n")
	return out
}

// guardForeign refuses a path where somebody put a checkout of their own.
func (r *repo) guardForeign(rec journal.Record) error {
	w := rec.Workspace
	switch h := r.trees.Health(specOf(rec)); h {
	case checkout.Replaced:
		return broken(rec, h)
	case checkout.Foreign:
	default:
		return nil
	}
	real, err := filepath.EvalSymlinks(w.Path)
	if err != nil {
		return nil
	}
	if place, err := git.Discover(real); err != nil || place.WorkDir != real && place.Root != real {
		return nil
	}
	return &croft.Error{
		Code: croft.WorkspaceBroken, Message: "another checkout lies at its path", Details: w.Path,
		Hint: moveAway(w),
	}
}

// moveAway is what ends a workspace at whose path something else lies.
func moveAway(w croft.Workspace) string {
	return "move it away, then croft remove --force " + w.Name + ", which keeps what git has of it"
}

// guardBroken refuses a workspace that cannot be judged. A directory that is not
// seen may come back.
func (e *Engine) guardBroken(r *repo, rec journal.Record) error {
	h := r.trees.Health(specOf(rec))
	err := broken(rec, h)
	if told, ok := errors.AsType[*croft.Error](err); ok && h == checkout.Missing {
		told.Hint = "bring it back; if it was deleted: croft remove --force " + rec.Workspace.Name + ", which keeps what git has of it"
	} else if ok && h == checkout.Foreign {
		told.Hint = moveAway(rec.Workspace)
	}
	return err
}

func (e *Engine) guardLeases(ctx context.Context, r *repo, w croft.Workspace) error {
	leases, err := e.journal.Leases(ctx, r.id)
	if err != nil {
		return err
	}
	me := self()
	for _, l := range leases[w.ID] {
		if held(l, e.now()) && l.Owner != me {
			return leased(l)
		}
	}
	return nil
}

func leased(l croft.Lease) error {
	who := processName(ownerName(l.Owner), l.Owner.PID)
	if l.Term == croft.TermProcess {
		return &croft.Error{
			Code: croft.WorkspaceBusy, Message: who + " holds a lease as long as it lives",
			Hint: "croft hold --release " + string(l.ID),
		}
	}
	return &croft.Error{
		Code: croft.WorkspaceBusy, Message: who + " holds a lease until " + l.ExpiresAt.Format(time.RFC3339),
		Hint: "end the process, or wait until the lease has expired",
	}
}

// guardLock refuses a workspace that a person locked.
func (r *repo) guardLock(rec journal.Record) error {
	if rec.Workspace.Mode == croft.ModeLegacy {
		return nil
	}
	reason, personal, err := isPersonal(r.trees.At(specOf(rec)))
	if err != nil || !personal {
		return err
	}
	return &croft.Error{
		Code: croft.WorkspaceLocked, Message: lockedMessage(reason), Hint: "croft unlock " + rec.Workspace.Name,
	}
}

func lockedMessage(reason string) string {
	if reason == "" {
		return "the workspace is locked"
	}
	return "the workspace is locked: " + reason
}

// guardLate refuses a workspace that has commits which came after what is known of
// it: on its branch, or under a HEAD that was moved elsewhere.
func (e *Engine) guardLate(ctx context.Context, r *repo, rec journal.Record, known, tip string) error {
	_, head, err := r.trees.At(specOf(rec)).Head(ctx)
	if err != nil {
		return err
	}
	for _, now := range []string{head, tip} {
		if now == known || now == "" {
			continue
		}
		n, _, err := r.git.AheadBehind(ctx, now, known)
		if err != nil {
			return err
		}
		return &croft.Error{
			Code: croft.WorkspaceDirty, Message: count(n, "commit") + " came after what was merged", Details: now,
			Hint: "croft merge " + rec.Workspace.Name,
		}
	}
	return nil
}

func dirty(w croft.Workspace, st *croft.Status) error {
	message := fmt.Sprintf("%d files are not committed", len(st.Paths))
	if len(st.Paths) == 1 {
		message = "1 file is not committed"
	}
	if st.Ahead > 0 {
		message += fmt.Sprintf(", %d commits are not in %s", st.Ahead, w.Target)
	}
	shown := st.Paths
	if len(shown) > 20 {
		shown = append(slices.Clone(shown[:20]), fmt.Sprintf("and %d more", len(st.Paths)-20))
	}
	return &croft.Error{
		Code: croft.WorkspaceDirty, Message: message, Details: strings.Join(shown, "\n"), Hint: "croft remove --yes " + w.Name,
	}
}
