package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/scratch"
)

// ArchiveDir is the directory in a home with the archived scratch of all agents.
const ArchiveDir = ".scratch_archive"

// makeScratch makes the scratch directory of a new workspace. Git ignores it in all
// checkouts of the repository.
func (svc *Workspaces) makeScratch(ctx context.Context, r *project.Project, p *plan) error {
	dir := r.ScratchOf(p.record.Workspace)
	if dir == "" {
		return nil
	}
	top, err := fsx.OpenDirIs(p.record.Workspace.Path, fsx.Identity(p.record.Identity))
	if err != nil {
		return err
	}
	defer top.Close()
	if err := top.Mkdir(filepath.Base(dir), 0o777); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return svc.UnderLock(ctx, r, func() error {
		if err := r.Git.Exclude("/" + filepath.Base(dir) + "/"); err != nil {
			return err
		}
		return r.Trees.At(p.spec()).ShareExcludes()
	})
}

// SessionDir returns the directory for files that belong to a session and to none of
// its agents.
func (svc *Workspaces) SessionDir(id croft.ID) string {
	return filepath.Join(svc.Settings.Config().StateDir, "sessions", string(id))
}

// archiveOf returns the path of Croft's own copy of an archive.
func (svc *Workspaces) archiveOf(session croft.ID, a journal.Archived) string {
	return filepath.Join(svc.SessionDir(session), "archive", fmt.Sprint(a.Round), a.Label)
}

// ArchiveSeat copies the scratch directory of a seat to Croft's own archive. It can be
// repeated.
func (svc *Workspaces) ArchiveSeat(ses *journal.Session, t *journal.Round, rec journal.Record, r *project.Project, label string) error {
	from := r.ScratchOf(rec.Workspace)
	if from == "" {
		return nil
	}
	to := svc.archiveOf(ses.ID, journal.Archived{Round: t.Number, Label: label})
	if len(ses.Repos) > 1 {
		to = filepath.Join(to, filepath.Base(rec.Workspace.Path))
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	own, err := fsx.OpenOwn(filepath.Dir(to))
	if err != nil {
		return err
	}
	defer own.Close()
	_, err = replaceCopy(from, own, filepath.Base(to), t.EndedAt)
	return err
}

// replaceCopy copies a directory to the entry name of parent, whole or not at all, and
// replaces an existing entry. It returns how many files were copied; if there are none,
// it makes no entry.
func replaceCopy(from string, parent *fsx.Dir, name string, when time.Time) (int, error) {
	stage := ".new-" + project.Hex8()
	n, err := scratch.Copy(from, parent, stage, when)
	if err != nil {
		return 0, err
	}
	if err := parent.RemoveAll(name); err != nil {
		return 0, errors.Join(err, parent.RemoveAll(stage))
	}
	if n == 0 {
		return 0, nil
	}
	id, err := parent.IdentityOf(stage)
	if err == nil {
		err = parent.Move(stage, id, parent, name)
	}
	return n, err
}

// opening says whether a directory that does not exist is made.
type opening string

const (
	looking opening = ""
	making  opening = "make"
)

// openArchives opens the directory with the archives in a home. The path to the home is
// trusted, its contents are not: agents write there.
func openArchives(home *journal.Home, how opening) (*fsx.Dir, error) {
	dir, err := fsx.OpenOwn(home.Path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if id, err := dir.Identity(); err != nil || home.Made != "" && string(id) != home.Made {
		return nil, errors.Join(err, fsx.ErrOther)
	}
	if how == making {
		return dir.MakeBelow(ArchiveDir, 0o777)
	}
	return dir.OpenDir(ArchiveDir)
}

// noteHome sets the identity of a home that Croft made, if it is not known.
func noteHome(home *journal.Home) error {
	if home.Given || home.Made != "" {
		return nil
	}
	dir, err := fsx.OpenDir(home.Path)
	if err != nil {
		return err
	}
	defer dir.Close()
	id, err := dir.Identity()
	home.Made = string(id)
	return err
}

// ShareArchives copies the archives of ended seats to a home. The last archive of a
// label has the label as its name, earlier ones also the number of their round.
func (svc *Workspaces) ShareArchives(ses *journal.Session, home *journal.Home) error {
	if info, err := os.Lstat(home.Path); err != nil || !info.IsDir() {
		return nil // the home was removed, or is not made yet
	}
	if err := noteHome(home); err != nil {
		return err
	}
	for i := range ses.Rounds {
		t := &ses.Rounds[i]
		for _, label := range t.ArchivedLabels() {
			a := journal.Archived{Round: t.Number, Label: label}
			if home.Has(a) {
				continue
			}
			if _, err := os.Lstat(svc.archiveOf(ses.ID, a)); err != nil {
				continue // the scratch directory was empty
			}
			if err := svc.shareArchive(ses, home, a, t.EndedAt); err != nil {
				return err
			}
			home.Synced = append(home.Synced, a)
		}
	}
	return touchArchive(home, ses)
}

// shareArchive copies one archive to a home, under its label. It first renames the
// archive of an earlier round that has the label. A copy that was interrupted is
// replaced.
func (svc *Workspaces) shareArchive(ses *journal.Session, home *journal.Home, a journal.Archived, when time.Time) error {
	top, err := openArchives(home, making)
	if err != nil {
		return err
	}
	defer top.Close()
	if last := home.Last(a.Label); last > 0 {
		if id, err := top.IdentityOf(a.Label); err == nil {
			err = top.Move(a.Label, id, top, fmt.Sprintf("%s-round%d", a.Label, last))
			if err != nil && !errors.Is(err, os.ErrExist) && !errors.Is(err, fsx.ErrLink) {
				return err
			}
		}
	}
	own, err := filepath.EvalSymlinks(svc.archiveOf(ses.ID, a)) // the state directory may lie behind links
	if err == nil {
		_, err = replaceCopy(own, top, a.Label, when)
	}
	return err
}

// touchArchive deletes unfinished copies from the archives of a home, and sets the
// directory's time to the end of the last round, so that it tells nothing about the
// agents.
func touchArchive(home *journal.Home, ses *journal.Session) error {
	top, err := openArchives(home, looking)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer top.Close()
	names, err := top.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasPrefix(name, ".new-") {
			if err := top.RemoveAll(name); err != nil {
				return err
			}
		}
	}
	var last time.Time
	for _, t := range ses.Rounds {
		if t.EndedAt.After(last) {
			last = t.EndedAt
		}
	}
	if last.IsZero() {
		return nil
	}
	root, err := top.Root()
	if err != nil {
		return err
	}
	defer root.Close()
	return errors.Join(root.Chtimes(".", last, last), os.Chtimes(home.Path, last, last))
}

// ArchiveScratch copies the scratch directory of a workspace to the archive in each home
// of its session. For a workspace without a session the archive is in its own home or, if
// it has none, in the directory above it.
func (svc *Workspaces) ArchiveScratch(ctx context.Context, s project.Location, rec journal.Record, req croft.ArchiveRequest) (*croft.Archive, error) {
	w := rec.Workspace
	if s.ScratchOf(w) == "" {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: "the workspace has no scratch directory: the setting checkout.scratch names none", Hint: "croft config"}
	}
	_, suffix, _ := strings.Cut(w.Branch, "/")
	a := &croft.Archive{Label: cmp.Or(req.Label, w.Label, suffix, w.Branch), Paths: []string{}}
	if err := layout.CheckLabel(a.Label); err != nil {
		return nil, err
	}
	homes := []journal.Home{{Path: cmp.Or(rec.Home, filepath.Dir(w.Path))}}
	if w.Session != "" && rec.Home != "" {
		if ses, err := svc.Journal.Session(ctx, croft.ID(w.Session)); err == nil {
			homes = ses.Homes
		}
	}
	when := svc.Now().Truncate(time.Second)
	for _, home := range homes {
		n, err := archiveTo(&home, s.ScratchOf(w), a.Label, when)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			a.Paths = append(a.Paths, filepath.Join(home.Path, ArchiveDir, a.Label))
		}
	}
	return a, nil
}

func archiveTo(home *journal.Home, from, label string, when time.Time) (int, error) {
	top, err := openArchives(home, making)
	if err != nil {
		return 0, err
	}
	defer top.Close()
	return replaceCopy(from, top, label, when)
}
