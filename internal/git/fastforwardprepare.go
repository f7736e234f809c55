package git

import (
	"context"
	"errors"
	"io/fs"

	"github.com/croft-sh/croft/internal/git/exchange"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// The steps of prepare.

func (a *FastForward) lockIndex(ctx context.Context) error {
	err := a.takeLock(ctx, worktree.KeptAfter)
	if errors.Is(err, worktree.ErrIndexLocked) {
		return &HostDirtyError{Path: a.at.work, Cause: "another git is at work there (index.lock)"}
	}
	return err
}

// recoverMove ends or undoes the exchange of files of a process that died.
func (a *FastForward) recoverMove(context.Context) error {
	_, err := exchange.Recover(a.host.place())
	return err
}

// lookAtFiles lists the changes, and notes the files that they are about.
func (a *FastForward) lookAtFiles(ctx context.Context) (err error) {
	if a.changes, err = a.repo.Diff(ctx, a.old, a.now); err == nil {
		a.undo, err = a.repo.lookAtFiles(a.at.work, a.changes)
	}
	return err
}

// requireFiles fails if a path that changes has something else than a file, a link or a directory, which git cannot compare.
func (a *FastForward) requireFiles(context.Context) error {
	for _, f := range a.undo.files {
		if what := specialKind(f.was.Mode); what != "" {
			return a.dirtyPaths([]string{f.path}, what+" of yours would be overwritten", nil)
		}
	}
	return nil
}

// specialKind says what an entry is that is neither a file, a link nor a directory.
func specialKind(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return ""
}

// linkFiles keeps the files where git writes them. It comes before git compares them: a hard link changes the ctime of a file, too.
func (a *FastForward) linkFiles(context.Context) error {
	if a.move != nil {
		return nil
	}
	return a.undo.linkFiles()
}
