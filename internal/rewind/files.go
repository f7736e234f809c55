package rewind

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/oplog"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/snapshot"
	"github.com/croft-sh/croft/internal/snapshot/restore"
)

// rewindFiles changes files, index and branch from one snapshot to another. An error that
// is restore.ErrAsWas says that nothing was changed, or that all was rolled back. kept is
// an error about files that were kept beside the workspace; the rewind is done, and the
// caller returns kept after it has recorded that.
func (svc *Rewinds) rewindFiles(ctx context.Context, r *project.Project, op *oplog.Op, rec journal.Record, how Spec) (kept, err error) {
	aside, err := makeAside(r, rec)
	if err != nil {
		return nil, errors.Join(restore.ErrAsWas, err)
	}
	defer removeAside(r, rec, aside)
	spec := project.SpecOf(rec)
	spec.Inherit = op.InheritedFiles()
	isBegun := false
	err = r.Trees.At(spec).ChangeHeld(ctx, func(tree *git.Worktree) error {
		if err := how.requireSaved(ctx, r, tree); err != nil {
			return err
		}
		if err := svc.putAsideBack(ctx, r, rec, how); err != nil { // files that an earlier attempt could not move back
			return err
		}
		rewinding := restore.Rewinding{
			Files: restore.Files{Worktree: tree, SecretsDir: svc.SecretsDir(r, how.To.ID), Workers: 1},
			Now:   how.From.Commit, To: how.To.Commit, Also: how.From.Commit, Aside: aside, Seen: how.seen,
			Last: func() error {
				if err := failpoint.Hit("rewind.branch"); err != nil {
					return err
				}
				return svc.moveBranch(ctx, r, rec, tree, how)
			},
		}
		if how.Saved != nil {
			rewinding.Now = how.Saved.Commit
		}
		isBegun = true
		return restore.Rewind(ctx, rewinding)
	})
	if isKept(err) && !errors.Is(err, restore.ErrAsWas) {
		return keptFilesError(rec, err), nil
	}
	if err != nil && !isBegun {
		err = errors.Join(restore.ErrAsWas, err)
	}
	if errors.Is(err, fsx.ErrMount) {
		return nil, explainMounted(rec, "croft restore "+string(how.To.ID), err)
	}
	return nil, explainWritten(how, err)
}

// explainWritten explains that a process wrote to files of the workspace while it was being
// rewound.
func explainWritten(how Spec, err error) error {
	e := &croft.Error{Code: croft.WorkspaceBusy, Hint: "croft restore " + string(how.To.ID), Err: errors.Join(project.ErrWorkedOn, err)}
	switch {
	case errors.Is(err, restore.ErrWritten):
		e.Message = "a file was written while the workspace was saved; it is left as it is"
	case errors.Is(err, restore.ErrInTheWay):
		e.Message = "something appeared where the snapshot has a file; the workspace is left as it is"
	default:
		return err
	}
	e.Details = err.Error()
	return e
}

// explainMounted explains that files cannot be moved out of or into a workspace because of
// a mount point. then is the command to run once it is unmounted.
func explainMounted(rec journal.Record, then string, err error) error {
	w := rec.Workspace
	at := mountAbove(w.Path, err)
	e := &croft.Error{Code: croft.NotWritable, Workspace: w.Name, Hint: "umount " + at + " && " + then, Err: err}
	const elsewhere = "Where it is not mounted, as outside of a container, the same command works."
	switch at {
	case "":
		e.Message, e.Hint = "something is mounted in the workspace, and files cannot be moved across", "look at what is mounted (mount), then run the command again"
	case w.Path:
		e.Message = "the workspace is itself a mount point, and files cannot be moved out of it"
	default:
		e.Message = "a directory of the workspace is a mount point, and files cannot be moved across"
	}
	e.Details = strings.TrimSpace(strings.Join([]string{at, elsewhere, err.Error()}, "\n"))
	return e
}

// mountAbove returns the mount point above a file of the workspace that could not be moved,
// or the empty string if there is none now.
func mountAbove(workspace string, err error) string {
	failed, is := errors.AsType[*os.LinkError](err)
	if !is {
		return ""
	}
	path := failed.Old
	if !project.IsWithin(path, workspace) {
		path = failed.New
	}
	for dir := filepath.Dir(path); project.IsWithin(dir, workspace); dir = filepath.Dir(dir) {
		if fsx.IsMountPoint(dir) {
			return dir
		}
	}
	return ""
}

// isKept reports whether a rewind left files beside the workspace that are in no snapshot.
func isKept(err error) bool {
	_, is := errors.AsType[*restore.KeptError](err)
	return is
}

func keptFilesError(rec journal.Record, err error) error {
	kept, _ := errors.AsType[*restore.KeptError](err)
	return &croft.Error{
		Code: croft.WorkspaceBusy, Workspace: rec.Workspace.Name, Message: "the workspace was brought back while a process wrote to its files; the written files are kept",
		Details: kept.Dir, Hint: "ls " + kept.Dir, Err: err,
	}
}

// makeAside makes the directory that a rewind moves files to: in the trash, on the file
// system of the workspace. It reuses the one that an earlier attempt left.
func makeAside(r *project.Project, rec journal.Record) (string, error) {
	if dir := findAside(r, rec); dir != "" {
		return dir, nil
	}
	place, err := project.ChooseTrashDir(r, rec)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(filepath.Dir(place), project.AsideName(rec))
	_, err = r.MakeTrashDir(dir)
	return dir, err
}

// findAside returns the directory to which an earlier attempt of this rewind moved files,
// or the empty string.
func findAside(r *project.Project, rec journal.Record) string {
	made := r.TrashDirLedger().Find(project.AsideName(rec))
	if made.Path == "" || !made.Identity.IsAt(made.Path) {
		return ""
	}
	return made.Path
}

// removeAside removes the directory that a rewind moved files to, if it is empty.
func removeAside(r *project.Project, rec journal.Record, dir string) {
	project.RemoveEmpty(dir)
	if !fsx.IsThere(dir) {
		_ = r.TrashDirLedger().Delete(project.AsideName(rec))
	}
	project.RemoveEmpty(filepath.Dir(dir))
}

// putAsideBack moves the files that an interrupted rewind had moved out of a workspace
// back into it.
func (svc *Rewinds) putAsideBack(ctx context.Context, r *project.Project, rec journal.Record, how Spec) error {
	aside := findAside(r, rec)
	if aside == "" || !fsx.IsThere(rec.Workspace.Path) {
		return nil
	}
	commits := []string{how.From.Commit, how.To.Commit}
	if how.Saved != nil {
		commits = append(commits, how.Saved.Commit)
	}
	err := restore.PutBack(ctx, r.Git, rec.Workspace.Path, aside, commits...)
	if kept, is := errors.AsType[*restore.KeptError](err); is {
		svc.NoticeKept(kept.Dir)
		return nil
	}
	if errors.Is(err, syscall.EXDEV) || errors.Is(err, fsx.ErrMount) {
		return explainMounted(rec, "croft doctor --fix", err)
	}
	return err
}

// NoticeKept tells the user of files that a rewind left beside a workspace.
func (svc *Rewinds) NoticeKept(dir string) {
	svc.Notice("files that were written during an interrupted restore of a snapshot, and are in no snapshot, are kept in %s", dir)
}

// KeptIn lists the files that rewinds kept in a directory.
func KeptIn(aside string) []string {
	dir, err := fsx.OpenDir(aside)
	if err != nil {
		return nil
	}
	defer dir.Close()
	var kept []string
	names, _ := dir.SomeNames(project.SeekWidth)
	for _, name := range names {
		if restore.IsKept(name) {
			kept = append(kept, filepath.Join(aside, name))
		}
	}
	return kept
}

// requireSaved fails if HEAD or the branch names a commit that none of the snapshots of the
// rewind keeps: it was made after the workspace was saved, and before its index was locked.
func (how Spec) requireSaved(ctx context.Context, r *project.Project, tree *git.Worktree) error {
	kept := map[string]bool{"": true}
	snaps := []croft.Snapshot{how.From, how.To}
	if how.Saved != nil {
		snaps = append(snaps, *how.Saved)
	}
	branch := "" // that is moved
	for _, s := range snaps {
		head, err := snapshot.HeadOf(ctx, r.Git, s.Commit)
		if err != nil {
			return err
		}
		kept[head.OID] = true
		if s.ID == how.To.ID {
			branch = head.Branch
		}
	}
	_, head, err := tree.Head(ctx)
	if err != nil {
		return err
	}
	tip := ""
	if branch != "" {
		tip, err = r.Git.ReadRef(ctx, "refs/heads/"+branch)
	}
	if err != nil && !errors.Is(err, refs.ErrNoRef) {
		return err
	}
	for _, oid := range []string{head, tip} {
		if !kept[oid] {
			return &croft.Error{
				Code: croft.WorkspaceBusy, Message: fmt.Sprintf("commit %.7s came while the workspace was saved; it is left as it is", oid),
				Details: oid, Hint: "croft restore " + string(how.To.ID), Err: project.ErrWorkedOn,
			}
		}
	}
	return nil
}

// endUndone ends a rewind that changed nothing, or was rolled back.
func (svc *Rewinds) endUndone(ctx context.Context, op *oplog.Op, how Spec, cause error) error {
	return svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		rec, err := tx.Record(how.To.Workspace)
		if err != nil {
			return err
		}
		rec.Workspace.State = croft.Ready
		return errors.Join(tx.PutRecord(rec), tx.End(op.ID, journal.OpUndone, cause.Error(), svc.Now()))
	})
}
