package engine

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
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/scratch"
)

// archiveDir is the directory in a home that holds what is left of everybody's
// scratch.
const archiveDir = ".scratch_archive"

// scratchName is the name of the scratch directory in a layout's workspaces, or
// empty where they have none.
func (r *repo) scratchName(name string) string {
	l, err := layout.Preset(cmp.Or(name, r.cfg.Layout))
	if err != nil {
		return r.cfg.Checkout.Scratch
	}
	return cmp.Or(r.cfg.Checkout.Scratch, l.Scratch)
}

// scratchOf is the scratch directory of a workspace, or empty.
func (r *repo) scratchOf(w croft.Workspace) string {
	name := r.scratchName(w.Layout)
	if name == "" || w.Mode == croft.ModeLegacy {
		return ""
	}
	return filepath.Join(w.Path, name)
}

// makeScratch makes the scratch directory of a new workspace. Git ignores it in
// all checkouts of the repository.
func (e *Engine) makeScratch(ctx context.Context, r *repo, p *plan) error {
	dir := r.scratchOf(p.record.Workspace)
	if dir == "" {
		return nil
	}
	if err := os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return e.underLock(ctx, r, func() error {
		if err := r.git.Exclude("/" + filepath.Base(dir) + "/"); err != nil {
			return err
		}
		return r.trees.At(p.spec()).ShareExcludes()
	})
}

// sessionDir is where Croft keeps what belongs to a session and to none of its
// agents.
func (e *Engine) sessionDir(id croft.ID) string {
	return filepath.Join(e.set.Config().StateDir, "sessions", string(id))
}

// archiveOf is Croft's own copy of an archive.
func (e *Engine) archiveOf(session croft.ID, a journal.Archived) string {
	return filepath.Join(e.sessionDir(session), "archive", fmt.Sprint(a.Round), a.Label)
}

// archiveSeat copies the scratch of a seat to Croft's own archive. It may be
// called again.
func (e *Engine) archiveSeat(ses *journal.Session, t *journal.Turn, rec journal.Record, r *repo, label string) error {
	from := r.scratchOf(rec.Workspace)
	if from == "" {
		return nil
	}
	to := e.archiveOf(ses.ID, journal.Archived{Round: t.Number, Label: label})
	if len(ses.Repos) > 1 {
		to = filepath.Join(to, filepath.Base(rec.Workspace.Path))
	}
	return replaceCopy(from, to, t.EndedAt)
}

// replaceCopy copies a directory to a place, whole or not at all, instead of
// what is there.
func replaceCopy(from, to string, when time.Time) error {
	parent := filepath.Dir(to)
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return err
	}
	stage := filepath.Join(parent, ".new-"+hex8())
	n, err := scratch.Copy(from, stage, when)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(to); err != nil {
		return errors.Join(err, os.RemoveAll(stage))
	}
	if n == 0 {
		return nil
	}
	return os.Rename(stage, to)
}

// shareArchives brings the archives of ended seats to a home. The last archive
// of a label has the label's name, an earlier one its round's number besides.
func (e *Engine) shareArchives(ses *journal.Session, home *journal.Home) error {
	if info, err := os.Lstat(home.Path); err != nil || !info.IsDir() {
		return nil // it was removed, or is not made yet
	}
	top := filepath.Join(home.Path, archiveDir)
	if info, err := os.Lstat(top); err == nil && !info.IsDir() {
		return fmt.Errorf("%s is not a directory", top)
	}
	for i := range ses.Turns {
		t := &ses.Turns[i]
		for _, label := range t.Labels() {
			a := journal.Archived{Round: t.Number, Label: label}
			if home.Has(a) {
				continue
			}
			if _, err := os.Lstat(e.archiveOf(ses.ID, a)); err != nil {
				continue // there was nothing in it
			}
			if err := shareOne(top, e.archiveOf(ses.ID, a), a, home.Last(label), t.EndedAt); err != nil {
				return err
			}
			home.Synced = append(home.Synced, a)
		}
	}
	return touchArchive(top, ses)
}

// shareOne copies one archive under its label. What an earlier round left there
// makes room; what an interrupted attempt left goes.
func shareOne(top, from string, a journal.Archived, last int, when time.Time) error {
	at := filepath.Join(top, a.Label)
	if last > 0 {
		aside := fmt.Sprintf("%s-round%d", at, last)
		if _, err := os.Lstat(aside); errors.Is(err, os.ErrNotExist) {
			if err := os.Rename(at, aside); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	return replaceCopy(from, at, when)
}

// touchArchive gives the directory of archives a time that says nothing, and
// clears what interrupted attempts left in it.
func touchArchive(top string, ses *journal.Session) error {
	entries, err := os.ReadDir(top)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".new-") {
			if err := os.RemoveAll(filepath.Join(top, entry.Name())); err != nil {
				return err
			}
		}
	}
	var last time.Time
	for _, t := range ses.Turns {
		if t.EndedAt.After(last) {
			last = t.EndedAt
		}
	}
	if last.IsZero() {
		return nil
	}
	return errors.Join(os.Chtimes(top, last, last), os.Chtimes(filepath.Dir(top), last, last))
}

// ArchiveScratch copies the scratch of a live workspace to the archives.
func (e *Engine) ArchiveScratch(ctx context.Context, req croft.ArchiveRequest) (*croft.Archive, error) {
	a, err := e.archiveScratch(ctx, req)
	return a, explain("archive", req.Workspace, err)
}

func (e *Engine) archiveScratch(ctx context.Context, req croft.ArchiveRequest) (*croft.Archive, error) {
	s, err := e.standing(ctx, req.Repo)
	if err != nil {
		return nil, err
	}
	rec, err := e.find(ctx, s, req.Workspace)
	if err != nil {
		return nil, err
	}
	w := rec.Workspace
	if s.scratchOf(w) == "" {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: "the workspace has no scratch directory", Hint: "croft config checkout.scratch"}
	}
	_, suffix, _ := strings.Cut(w.Branch, "/")
	a := &croft.Archive{Label: cmp.Or(req.Label, w.Label, suffix, w.Branch), Paths: []string{}}
	if err := layout.CheckLabel(a.Label); err != nil {
		return nil, err
	}
	homes := []string{cmp.Or(rec.Home, filepath.Dir(w.Path))}
	if w.Session != "" && rec.Home != "" {
		if ses, err := e.journal.Session(ctx, croft.ID(w.Session)); err == nil {
			homes = nil
			for _, h := range ses.Homes {
				homes = append(homes, h.Path)
			}
		}
	}
	when := e.now().Truncate(time.Second)
	for _, home := range homes {
		to := filepath.Join(home, archiveDir, a.Label)
		if err := replaceCopy(s.scratchOf(w), to, when); err != nil {
			return nil, err
		}
		if _, err := os.Lstat(to); err == nil {
			a.Paths = append(a.Paths, to)
		}
	}
	return a, nil
}
