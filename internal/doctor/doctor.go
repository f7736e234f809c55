// Package doctor looks for faults in a project, mends those that can be mended without
// losing anything, and finds again the workspaces that the state has lost.
//
// It never deletes work: it registers and binds directories, follows those that were
// moved, recovers interrupted operations, and imports workspaces that only git still
// has. It shows its changes before it makes them, and names the command where only a
// user can decide.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/rewind"
	"github.com/croft-sh/croft/internal/shellword"
	"github.com/croft-sh/croft/internal/trash"
	"github.com/croft-sh/croft/internal/work"
)

// Doctor examines projects.
type Doctor struct {
	*project.Projects
	Commits *work.Commits   // required
	Trash   *trash.Trash    // required
	Rewinds *rewind.Rewinds // required
	Queues  Queues          // required
}

// Queues answers whether merges that are being carried out have lost their driver.
type Queues interface {
	IsInterrupted(ctx context.Context, r *project.Project, m journal.Merge) bool
}

// The doctor's findings.
const (
	findBare          = "BARE_BY_ACCIDENT"
	findConfig        = "CONFIG_CHANGED"
	findHollow        = "ADMIN_HOLLOW"
	findLock          = "LOCK_STALE"
	findInterrupted   = "OPERATION_INTERRUPTED"
	findRecordLost    = "RECORD_LOST"
	findMissing       = "WORKSPACE_MISSING"
	findElsewhere     = "WORKSPACE_MOVED"
	findUnregistered  = "REGISTRATION_LOST"
	findForeign       = "PATH_TAKEN"
	findReplaced      = "WORKSPACE_REPLACED"
	findDamaged       = "DATABASE_DAMAGED"
	findUnreadable    = "RECORD_UNREADABLE"
	findMoved         = "REPOSITORY_MOVED"
	findTrashMoved    = "TRASH_MOVED"
	findTrashMissing  = "TRASH_MISSING"
	findTrashReplaced = "TRASH_REPLACED"
	findPinMoved      = "PIN_MOVED"
	findPinLost       = "PIN_LOST"
	findSuspect       = "WORKSPACE_SUSPECT"
	findPack          = "PACK_DAMAGED"
	findStore         = "STORE_DAMAGED"
	findBorrows       = "BORROWS_ELSEWHERE"
	findLeftOut       = "NOT_BROUGHT"
	findApart         = "BRANCH_APART"
	findBranchGone    = "BRANCH_GONE"
	findLags          = "CHECKOUT_LAGS"
	findUnrestored    = "FILES_KEPT"
	findMergeStopped  = "MERGE_INTERRUPTED"
	findPortTaken     = "PORT_TAKEN"
	findLost          = string(croft.ObjectMissing)
	findIrregular     = string(croft.FileIrregular)
)

// Examine compares the records of a project with its refs, its registrations and the
// disk.
func (svc *Doctor) Examine(ctx context.Context, s project.Location, req croft.DoctorRequest) (*croft.DoctorResult, error) {
	if err := checkDoctor(req); err != nil {
		return nil, err
	}
	svc.NoticeOfGit(project.NoticeDaily)
	if !once.HasKey(ctx) || req.Fix != croft.FixAll && req.Import != croft.ImportAll {
		return svc.examine(ctx, s, req, nil)
	}
	return svc.examineOnce(ctx, s, req)
}

// examine looks for everything that is wrong, and mends it if the request says so: all, or
// what is in meant.
func (svc *Doctor) examine(ctx context.Context, s project.Location, req croft.DoctorRequest, meant []croft.Finding) (*croft.DoctorResult, error) {
	d := &examination{meant: meant, Doctor: svc, r: s.Project, fix: req.Fix == croft.FixAll, imports: req.Import, agreed: req.Agreed, findings: []croft.Finding{}}
	for _, examine := range []func(context.Context) error{
		d.findDamagedState, d.findAccidents, d.findIrregular, d.findLocks, d.findOperations, d.findMovedRepository, d.findReplacedRepository, d.findUnrecorded, d.findKeptRefs, d.findUnknownTrash, d.findBroken, d.findMovedTrash, d.findMovedPins, d.findSuspects, d.findLostCommits, d.findTakenPorts, d.findLagging, d.findInterruptedMerges, d.findUnrestored,
		d.findDamagedObjects,
	} {
		if err := examine(ctx); err != nil {
			return &croft.DoctorResult{Findings: d.findings}, err
		}
	}
	return &croft.DoctorResult{Findings: d.findings}, nil
}

// examination is one run of the doctor.
type examination struct {
	*Doctor
	r        *project.Project
	fix      bool
	imports  croft.ImportMode
	agreed   []string        // the findings that may be imported; none: all
	meant    []croft.Finding // the findings that may be mended; nil: all
	findings []croft.Finding

	isForReading bool // the records are for answers only, in a state that nobody acts on
}

// examineOnce mends what the first call with a key has found, and nothing that came since.
// What an earlier call has mended is in the answer.
func (svc *Doctor) examineOnce(ctx context.Context, s project.Location, req croft.DoctorRequest) (*croft.DoctorResult, error) {
	meant, err := once.Pin(ctx, "findings", func() ([]croft.Finding, error) {
		look := req
		if look.Fix = croft.FixNothing; look.Import == croft.ImportAll {
			look.Import = croft.ImportShow
		}
		found, err := svc.examine(ctx, s, look, nil)
		if err != nil {
			return nil, err
		}
		return found.Findings, nil
	})
	if err != nil {
		return nil, err
	}
	if req.Import == croft.ImportAll && len(req.Agreed) == 0 {
		for _, f := range meant {
			if f.Seen != "" {
				req.Agreed = append(req.Agreed, f.Seen)
			}
		}
		if len(req.Agreed) == 0 {
			req.Import = croft.ImportShow
		}
	}
	res, err := svc.examine(ctx, s, req, meant)
	if err != nil {
		return nil, err
	}
	for _, f := range meant {
		if !slices.ContainsFunc(res.Findings, func(now croft.Finding) bool { return now.Code == f.Code && now.Subject == f.Subject }) {
			f.Fixed = true
			res.Findings = append(res.Findings, f)
		}
	}
	return res, nil
}

// reportFinding adds a finding. If the caller asked for fixes, it calls mend first, unless
// mend is nil.
func (d *examination) reportFinding(code, subject, message string, mend func() error) {
	f := croft.Finding{Code: code, Subject: subject, Message: message, CanFix: mend != nil}
	isMeant := func(m croft.Finding) bool { return m.Code == code && m.Subject == subject }
	if d.fix && mend != nil && (d.meant == nil || slices.ContainsFunc(d.meant, isMeant)) {
		err := mend()
		f.Fixed = err == nil
		if err != nil {
			f.Message += fmt.Sprintf(" It could not be mended: %s.", oneLine(err))
		}
	}
	d.findings = append(d.findings, f)
}

// findAccidents looks for configuration and registrations that make git fail in the whole
// repository.
func (d *examination) findAccidents(ctx context.Context) error {
	switch says := git.SaysBare(d.r.CommonDir); {
	case says && d.r.Path != d.r.CommonDir:
		d.reportFinding(findBare, d.r.CommonDir, "The configuration says core.bare=true, so git refuses to work in the main checkout, which is there.",
			func() error { return d.r.Git.SetNotBare() })
	case !says && d.r.Path == d.r.CommonDir && gitdir.IsDotGit(d.r.CommonDir):
		d.reportFinding(findConfig, "core.bare", "The configuration says that the repository has a main checkout. It had none when Croft first saw it, and Croft goes by that.", nil)
	}
	if changed, ok := errors.AsType[*gitcmd.ConfigChangedError](d.r.Git.CheckConfig()); ok {
		for _, c := range changed.Changes {
			d.reportFinding(findConfig, c.Key, "The repository's git configuration says something else than when Croft first saw it. Agents can write it; croft config accept takes it over.", nil)
		}
	}
	hollow, err := d.r.Git.BrokenAdmins()
	if len(hollow) > 0 && err == nil {
		// A git process that is adding a worktree fills the directory in a moment.
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(addingTime):
		}
		hollow, err = d.r.Git.BrokenAdmins()
	}
	for _, dir := range hollow {
		d.reportFinding(findHollow, dir, "A worktree's commondir is empty, as an interrupted git worktree add leaves it; git fails in the whole repository.",
			func() error { return d.r.Git.WriteCommonDir(dir) })
	}
	return err
}

// findIrregular looks for links, pipes and devices where git keeps files. Only a person can
// tell what they are for.
func (d *examination) findIrregular(context.Context) error {
	for _, path := range d.r.Git.Irregular() {
		d.reportFinding(findIrregular, path, "It is a link, a pipe or a device where git keeps a file. Nothing is written through it; look at it, and remove it.", nil)
	}
	return nil
}

// addingTime is more than a git process takes from making an admin directory to filling
// it.
const addingTime = 100 * time.Millisecond

// findLocks looks for lock files of git processes that Croft ran and that were killed,
// and for lock files that are older than the last start of the machine.
func (d *examination) findLocks(ctx context.Context) error {
	for _, path := range d.r.Git.LeftLocks() {
		d.reportFinding(findLock, path, "A git that Croft ran was killed and left it.", func() error {
			if err := d.r.Git.Sweep(ctx); err != nil {
				return err
			}
			if _, err := os.Lstat(path); err == nil {
				return errors.New("another git may hold it")
			}
			return nil
		})
	}
	boot := proc.BootTime()
	if boot.IsZero() {
		return nil
	}
	stale, err := d.r.Git.StaleLocks(boot)
	for _, path := range stale {
		d.reportFinding(findLock, path, "It is older than the last start of this machine, so the process that made it has ended.",
			func() error { return os.Remove(path) })
	}
	return err
}

// findOperations looks for operations whose process died.
func (d *examination) findOperations(ctx context.Context) error {
	ops, err := d.Journal.Running(ctx)
	if err != nil {
		return err
	}
	for _, op := range ops {
		if op.Repo != d.r.ID {
			continue
		}
		l, err := d.Ops.TakeOver(ctx, op)
		if err != nil {
			return err
		}
		if l == nil {
			continue // its process is alive
		}
		now, err := d.Journal.Operation(ctx, op.ID)
		if err == nil && now.State != journal.OpRunning {
			err = removeLock(l.File().Name())
		}
		if err := errors.Join(err, l.Unlock()); err != nil {
			return err
		}
		if now.State != journal.OpRunning {
			continue
		}
		d.reportFinding(findInterrupted, string(op.ID), d.interruptedMessage(op), func() error { return d.recoverUnsettled(ctx, op) })
	}
	return nil
}

// removeLock removes the lock file of an operation that has ended. Its own process may have
// removed the file meanwhile.
func removeLock(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// findBroken checks that the directory of every live workspace is as its record says.
func (d *examination) findBroken(ctx context.Context) error {
	records, err := d.Journal.Live(ctx, d.r.ID)
	if err != nil {
		return err
	}
	unsettled, err := d.UnsettledIn(ctx, d.r)
	if err != nil {
		return err
	}
	away := d.r.FindMoved(ctx, records)
	for i, rec := range records {
		w := rec.Workspace
		if unsettled.HalfRemoved[w.ID] {
			continue // findInterrupted has told
		}
		h, err := d.healthUnderLock(ctx, rec)
		if err != nil {
			return err
		}
		if away[i] != "" && h != checkout.Intact {
			d.reportMoved(ctx, rec, away[i])
			continue
		}
		if h == checkout.Intact && w.Mode == croft.ModeIsolated && w.State == croft.Ready {
			if err := d.checkOwnGit(ctx, rec); err != nil {
				return err
			}
		}
		switch h {
		case checkout.Intact:
			d.reportLostBranch(ctx, rec)
		case checkout.Missing:
			d.reportFinding(findMissing, w.Name, "Its directory is neither at "+w.Path+" nor near there. If it was moved or its drive is not mounted, bring it back. "+
				"If it was deleted, croft remove --force "+shellword.Quote(w.Name)+" ends it, and keeps what git has of it.", nil)
		case checkout.Unregistered:
			d.reportFinding(findUnregistered, w.Name, "Git does not know its directory any more; the files are there.", func() error { return d.registerAgain(ctx, w.ID) })
		case checkout.Foreign:
			d.reportFinding(findForeign, w.Name, "Something that Croft did not make lies at its path, "+w.Path+"; it is left alone. Move it away. "+
				"If its own directory is elsewhere, bring that back; else croft remove --force "+w.Name+" ends it then, and keeps what git has of it.", nil)
		case checkout.Replaced:
			d.reportReplaced(ctx, rec)
		}
	}
	return nil
}

// healthUnderLock returns the health of a workspace's directory. If the directory is
// not intact, it looks again under the repository's lock, which a removal or
// restoration holds until its record is saved.
func (d *examination) healthUnderLock(ctx context.Context, rec journal.Record) (checkout.Health, error) {
	w := rec.Workspace
	if w.Mode == croft.ModeLegacy || w.State == croft.Creating {
		return checkout.Intact, nil
	}
	h := d.r.Trees.Health(project.SpecOf(rec))
	if h == checkout.Intact {
		return h, nil
	}
	err := d.UnderLock(ctx, d.r, func() error {
		now, err := d.Journal.Record(ctx, w.ID)
		switch {
		case errors.Is(err, journal.ErrNotFound) || err == nil && now.Workspace.State != croft.Ready:
			h = checkout.Intact
			return nil
		case err != nil:
			return err
		}
		h = d.r.Trees.Health(project.SpecOf(now))
		return nil
	})
	return h, err
}
