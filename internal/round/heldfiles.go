package round

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/journal"
)

// archiveHeld copies the files that were held back from the commit of a round to a
// directory that only this user can read, and records their names before the checkout
// is removed. It can be called again, and adds to the names: a commit may have taken a
// file out of the index since.
func (svc *Rounds) archiveHeld(ctx context.Context, ses *journal.Session, t *journal.Round, rec journal.Record, seat *journal.RoundWorkspace, held []string) error {
	if len(held) == 0 {
		return nil
	}
	// The directory is beside the archives and not among them: archives are given to
	// all agents.
	to := filepath.Join(svc.Workspaces.SessionDir(ses.ID), "heldback", fmt.Sprint(t.Number), seat.Label, string(seat.Repo))
	n, err := copyPrivate(rec, held, to)
	if err != nil {
		return err
	}
	if n > 0 {
		seat.HeldIn = to
	}
	seat.HeldBack = append(seat.HeldBack, held...)
	slices.Sort(seat.HeldBack)
	seat.HeldBack = slices.Compact(seat.HeldBack)
	if err := svc.saveSession(ctx, ses, nil); err != nil {
		return err
	}
	return failpoint.Hit("round.held")
}

// copyPrivate copies files of a workspace to a directory of Croft's own, and returns how
// many it copied. Entries that are not regular files are left out: they go to the trash
// with the workspace.
func copyPrivate(rec journal.Record, names []string, to string) (int, error) {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return 0, err
	}
	own, err := fsx.OpenOwn(to)
	if err != nil {
		return 0, err
	}
	defer own.Close()
	top, err := fsx.OpenDirIs(rec.Workspace.Path, fsx.Identity(rec.Identity))
	if err != nil {
		return 0, err
	}
	defer top.Close()
	n := 0
	for _, name := range names {
		if strings.HasSuffix(name, "/") {
			continue
		}
		copied, err := copyPrivately(top, own, name)
		if err != nil {
			return n, err
		}
		if copied {
			n++
		}
	}
	return n, nil
}

func copyPrivately(top, own *fsx.Dir, name string) (bool, error) {
	in, err := openBelow(top, name)
	for _, left := range []error{os.ErrNotExist, os.ErrPermission, fsx.ErrLink, fsx.ErrNotRegular} {
		if errors.Is(err, left) {
			return false, nil
		}
	}
	if err != nil {
		return false, err
	}
	defer in.Close()
	open := own.OpenBelow
	if strings.Contains(name, "/") {
		open = func(dir string) (*fsx.Dir, error) { return own.MakeBelow(dir, 0o700) }
	}
	dir, err := open(filepath.FromSlash(path.Dir(name)))
	if err != nil {
		return false, err
	}
	defer dir.Close()
	if err := dir.Remove(path.Base(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	out, err := dir.Create(path.Base(name), 0o600)
	if err != nil {
		return false, err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	return true, errors.Join(err, out.Close())
}

// openBelow opens a file below a directory and follows no link.
func openBelow(top *fsx.Dir, name string) (*os.File, error) {
	dir, err := top.OpenBelow(filepath.FromSlash(path.Dir(name)))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Open(path.Base(name))
}
