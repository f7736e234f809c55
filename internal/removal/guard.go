package removal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/owner"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/run"
	"github.com/croft-sh/croft/internal/shellword"
)

// Guard refuses to remove a workspace if the mode does not allow it: WorkspaceBusy
// (lease, process, being created), WorkspaceLocked, WorkspaceDirty or WorkspaceBroken.
// Before it refuses, it waits for a removal or rewind of the same workspace that is under
// way, and recovers it if its process died; if the workspace is gone after that, it fails
// with WorktreeNotFound. It does not look at waiting merges. It changes nothing itself.
func (svc *Removals) Guard(ctx context.Context, r *project.Project, rec journal.Record, mode croft.RemoveMode) error {
	return svc.guardOrAwait(ctx, rec, func() error { return svc.GuardNow(ctx, r, rec, mode) })
}

// guardOrAwait is Guard with what refuses to remove the workspace.
func (svc *Removals) guardOrAwait(ctx context.Context, rec journal.Record, guard func() error) error {
	err := guard()
	if err == nil || ctx.Err() != nil {
		return err
	}
	for {
		var other croft.ID
		gone := svc.Journal.Update(ctx, func(tx *journal.Tx) (err error) {
			other, err = findUnderway(tx, rec)
			return err
		})
		if gone != nil {
			return gone
		}
		if other == "" {
			return err
		}
		if _, err := svc.Ops.Await(ctx, other, svc.Recover); err != nil {
			return err
		}
	}
}

// findUnderway finds a removal or a rewind of the workspace that has not ended, and
// fails with WorktreeNotFound if it was removed.
func findUnderway(tx *journal.Tx, rec journal.Record) (croft.ID, error) {
	now, err := tx.Record(rec.Workspace.ID)
	if errors.Is(err, journal.ErrNotFound) || err == nil && now.Workspace.State == croft.Trashed {
		return "", project.WorkspaceNotFoundError("remove", rec.Workspace.Name)
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

// RemoveOccupied is croft.RemoveForce that also ignores processes in the workspace. They
// go on in the trash. Leases still refuse.
const RemoveOccupied croft.RemoveMode = "occupied"

// RemoveWithWork is croft.RemoveSafe that lets uncommitted work go, because a person was
// shown it. It also lets a broken workspace go whose directory is at its path. Processes,
// locks, leases and waiting merges still refuse.
const RemoveWithWork croft.RemoveMode = "with work"

// GuardNow is Guard without the wait for a concurrent removal or rewind. An operation
// that is itself in the journal uses it: Guard would wait for that very operation.
func (svc *Removals) GuardNow(ctx context.Context, r *project.Project, rec journal.Record, mode croft.RemoveMode) error {
	return svc.guardAmong(ctx, r, rec, mode, findOccupants)
}

// guardAmong is GuardNow with what finds the processes in a directory.
func (svc *Removals) guardAmong(ctx context.Context, r *project.Project, rec journal.Record, mode croft.RemoveMode, occupants func(ctx context.Context, dir string) []proc.Occupant) error {
	w := rec.Workspace
	if w.State == croft.Creating {
		return project.NotReadyError(croft.WorkspaceBusy, rec)
	}
	if err := svc.guardLeases(ctx, r, rec); err != nil {
		return err
	}
	if err := guardStarting(rec); err != nil || w.Mode == croft.ModeLegacy {
		return err
	}
	if mode == RemoveOccupied {
		return guardForeign(r, rec)
	}
	if found := occupants(ctx, w.Path); len(found) > 0 {
		return occupiedError(rec, found)
	}
	if err := guardForeign(r, rec); err != nil {
		return err
	}
	if mode == croft.RemoveForce {
		return nil
	}
	if err := r.GuardLock(rec); err != nil {
		return err
	}
	st, err := svc.Views.WorkOf(ctx, r, rec)
	if err == nil && st.Dirty() && mode != RemoveWithWork { // the error says how many commits there are besides
		st, err = svc.Views.StatusOf(ctx, r, rec)
	}
	if errors.Is(err, croft.WorkspaceBroken) {
		if mode == RemoveWithWork && !r.IsAway(rec) {
			return nil // the user was shown that its work cannot be judged
		}
		return svc.BrokenError(r, rec)
	}
	if err != nil {
		return err
	}
	if mode == RemoveWithWork {
		return nil
	}
	if st.Dirty() {
		return dirtyError(w, st)
	}
	return svc.guardSubmodules(ctx, r, rec)
}

// guardSubmodules refuses a workspace in whose submodules there are commits that nothing else
// has.
func (svc *Removals) guardSubmodules(ctx context.Context, r *project.Project, rec journal.Record) error {
	inside, err := r.Trees.At(project.SpecOf(rec)).SubmoduleWork(ctx)
	if err != nil {
		return svc.Views.VanishedError(ctx, rec, err)
	}
	if len(inside) == 0 {
		return nil
	}
	where := fmt.Sprintf("%d submodules", len(inside))
	if len(inside) == 1 {
		where = "the submodule " + inside[0]
	}
	return &croft.Error{
		Code: croft.WorkspaceDirty, Message: "commits in " + where + " are nowhere else", Details: shownPaths(inside),
		Hint: "croft remove --yes " + shellword.Quote(rec.Workspace.Name),
	}
}

// gitEnds is how long gits that are at work in a workspace may take to end.
const gitEnds = 3 * time.Second

// occupantsAmong finds the processes in several directories by one look at all processes, and
// returns what findOccupants returns for each of them: where there is one, it looks again.
func occupantsAmong(dirs []string) func(ctx context.Context, dir string) []proc.Occupant {
	found, known := proc.AllOccupantsOf(dirs)
	return func(ctx context.Context, dir string) []proc.Occupant {
		if known && slices.Contains(dirs, dir) && len(found[dir]) == 0 {
			return nil
		}
		return findOccupants(ctx, dir)
	}
}

// findOccupants lists the processes that are at work in a workspace. If all of them are
// gits it waits for a while: most end in a moment, and newer ones pack objects in the
// background after a commit.
func findOccupants(ctx context.Context, dir string) []proc.Occupant {
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

// processNames joins the names of the first few processes.
func processNames(found []proc.Occupant) string {
	const most = 3
	var names []string
	for _, o := range found[:min(len(found), most)] {
		names = append(names, owner.ProcessName(o.Name, o.PID))
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

// occupiedError returns the WorkspaceBusy error that names the processes at work in a
// workspace. Of a caller inside it names the shell, and leads out of the workspace.
func occupiedError(rec journal.Record, found []proc.Occupant) error {
	hint := "croft show " + shellword.Quote(rec.Workspace.Name)
	isSelf := func(o proc.Occupant) bool { return o.PID == os.Getpid() && o.File == "" }
	if slices.ContainsFunc(found, isSelf) {
		hint = "cd " + shellword.Quote(rec.Workspace.Repo)
		if len(found) > 1 {
			found = slices.DeleteFunc(slices.Clone(found), isSelf)
		}
	}
	is, has, it := "is", "has a file", "the process"
	if len(found) > 1 {
		is, has, it = "are", "have files", "the processes"
	}
	out := &croft.Error{
		Code: croft.WorkspaceBusy, Message: processNames(found) + " " + is + " at work inside", Hint: hint,
	}
	last := "leave the directory (cd), or end " + it
	if !slices.ContainsFunc(found, func(o proc.Occupant) bool { return o.File == "" }) {
		out.Message = processNames(found) + " " + has + " open for writing"
		last = "end " + it + ", or have the file closed"
	}
	var lines []string
	for _, o := range found {
		line := owner.ProcessName(o.Name, o.PID)
		if o.File != "" {
			line += ": " + o.File
		}
		lines = append(lines, line)
	}
	out.Details = strings.Join(append(lines, last), "\n")
	return out
}

// guardForeign refuses a path at which another checkout, or a copy of the workspace, lies.
func guardForeign(r *project.Project, rec journal.Record) error {
	w := rec.Workspace
	switch h := r.Trees.Health(project.SpecOf(rec)); h {
	case checkout.Replaced:
		return project.BrokenError(rec, h)
	case checkout.Foreign:
	default:
		return nil
	}
	real, err := filepath.EvalSymlinks(w.Path)
	if err != nil {
		return nil
	}
	if place, err := gitdir.Discover(real); err != nil || place.WorkDir != real && place.Root != real {
		return nil
	}
	return &croft.Error{
		Code: croft.WorkspaceBroken, Message: "another checkout lies at its path", Details: w.Path,
		Hint: moveAwayHint(w),
	}
}

// moveAwayHint is the hint for a workspace at whose path something else lies.
func moveAwayHint(w croft.Workspace) string {
	return "move it away, then croft remove --force " + shellword.Quote(w.Name) + ", which keeps what git has of it"
}

// BrokenError always returns a WorkspaceBroken error, with a hint that fits what is
// wrong. The caller has found that the workspace cannot be judged.
func (svc *Removals) BrokenError(r *project.Project, rec journal.Record) error {
	h := r.Trees.Health(project.SpecOf(rec))
	err := project.BrokenError(rec, h)
	if told, ok := errors.AsType[*croft.Error](err); ok && h == checkout.Missing {
		told.Details = strings.TrimSpace(told.Details + "\nIf it was moved, bring it back; if it was deleted, what git has of it is kept.")
		told.Hint = "croft remove --force " + shellword.Quote(rec.Workspace.Name)
	} else if ok && h == checkout.Foreign {
		told.Hint = moveAwayHint(rec.Workspace)
	}
	return err
}

func (svc *Removals) guardLeases(ctx context.Context, r *project.Project, rec journal.Record) error {
	leases, err := svc.Journal.Leases(ctx, r.ID)
	if err != nil {
		return err
	}
	me := owner.Self()
	for _, l := range leases[rec.Workspace.ID] {
		if project.IsActive(l, svc.Now()) && l.Owner != me {
			return project.LeasedError(rec, l)
		}
	}
	return nil
}

// guardStarting refuses a workspace in which an agent is being started: it has no lease yet, and no process
// is inside.
func guardStarting(rec journal.Record) error {
	if rec.Run == nil || rec.Run.State != croft.RunStarting || !run.Lives(rec.Run) {
		return nil
	}
	return &croft.Error{
		Code: croft.WorkspaceBusy, Workspace: rec.Workspace.Name, Message: run.Program(rec.Run) + " is being started in it",
		Hint: "croft stop " + shellword.Quote(rec.Workspace.Name),
	}
}

// guardLate refuses a workspace whose HEAD, or whose branch with the commit tip, is at another
// commit than known, the last one that is known to be safe. It accepts a HEAD or tip that is
// empty.
func (svc *Removals) guardLate(ctx context.Context, r *project.Project, rec journal.Record, known, tip string) error {
	_, head, err := r.Trees.At(project.SpecOf(rec)).Head(ctx)
	if err != nil {
		return err
	}
	for _, now := range []string{head, tip} {
		if now == known || now == "" {
			continue
		}
		n, _, err := r.Git.AheadBehind(ctx, now, known)
		if err != nil {
			return err
		}
		return &croft.Error{
			Code: croft.WorkspaceDirty, Message: project.Count(n, "commit") + " came after what was merged", Details: now,
			Hint: "croft merge " + shellword.Quote(rec.Workspace.Name),
		}
	}
	return nil
}

func dirtyError(w croft.Workspace, st *croft.Status) error {
	message := fmt.Sprintf("%d files are not committed", len(st.Paths))
	if len(st.Paths) == 1 {
		message = "1 file is not committed"
	}
	if st.Ahead > 0 {
		verb := "are"
		if st.Ahead == 1 {
			verb = "is"
		}
		message += fmt.Sprintf(", %s %s not in %s", project.Count(st.Ahead, "commit"), verb, w.Target)
	}
	return &croft.Error{
		Code: croft.WorkspaceDirty, Message: message, Details: shownPaths(st.Paths), Hint: "croft remove --yes " + shellword.Quote(w.Name),
	}
}

// shownPaths joins the first paths as lines.
func shownPaths(paths []string) string {
	const most = 20
	shown := paths
	if len(shown) > most {
		shown = append(slices.Clone(shown[:most]), fmt.Sprintf("and %d more", len(paths)-most))
	}
	return strings.Join(shown, "\n")
}
