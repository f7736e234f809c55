package equip

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// teardownTime is how long all commands of a teardown may take together. A merge queue waits for them.
const teardownTime = time.Minute

// TearDown runs the commands that a workspace's commit asks for when it is removed, if a person has approved
// them. It returns sentences about what was not done, which are in the workspace's notes from then on: nothing of
// it hinders a removal. Afterwards the workspace counts as not set up, should it be kept or restored.
func (svc *Equipment) TearDown(ctx context.Context, r *project.Project, rec journal.Record) []string {
	if !rec.HasTeardown || r.Git == nil {
		return nil
	}
	notes := svc.runTeardown(ctx, r, rec)
	err := svc.Journal.Update(context.WithoutCancel(ctx), func(tx *journal.Tx) error {
		now, err := tx.Record(rec.Workspace.ID)
		if err != nil {
			return err
		}
		was := slices.Clone(now.Workspace.Notes)
		now.Workspace.Notes = slices.DeleteFunc(now.Workspace.Notes, func(note string) bool { return strings.HasPrefix(note, aboutTeardown) })
		now.Workspace.Notes = append(now.Workspace.Notes, notes...)
		if slices.Equal(was, now.Workspace.Notes) {
			return nil
		}
		return tx.SaveRecord(&now)
	})
	if err != nil {
		notes = append(notes, aboutTeardown+"could not be recorded: "+croft.AsError("teardown", err).Message)
	}
	return notes
}

// aboutTeardown begins the notes about a teardown.
const aboutTeardown = "its teardown "

// runTeardown returns sentences about what was not done.
func (svc *Equipment) runTeardown(ctx context.Context, r *project.Project, rec journal.Record) (notes []string) {
	failed := func(err error) []string {
		return append(notes, aboutTeardown+"was not run: "+croft.AsError("teardown", err).Message)
	}
	asked, err := AskedAt(ctx, r, cmp.Or(rec.SetUpAt, rec.Workspace.Base))
	if err != nil {
		return failed(err)
	}
	_, isApproved, err := svc.Approvals.SetupTrusted(ctx, r, asked.Commands())
	if err != nil {
		return failed(err)
	}
	if !isApproved {
		return append(notes, aboutTeardown+"was not run: nobody has approved its commands")
	}
	lock, err := svc.lockSetup(r, rec)
	if err != nil {
		return failed(err)
	}
	defer lock.Unlock()
	dir, err := fsx.OpenDirIs(rec.Workspace.Path, fsx.Identity(rec.Identity))
	if err != nil {
		return failed(err)
	}
	defer dir.Close()
	// before one of them runs: a process that is killed leaves no workspace that is called set up
	_, err = svc.change(context.WithoutCancel(ctx), rec.Workspace.ID, func(p *croft.Provision) {
		for i := range p.Steps {
			p.Steps[i].State, p.Steps[i].Why = croft.StepPending, ""
		}
		judge(p)
	})
	if err != nil {
		return failed(err)
	}
	run := &setup{svc: svc, rec: rec, asked: asked, until: time.Now().Add(min(teardownTime, time.Duration(r.Config.Provision.Timeout)))}
	for _, command := range asked.teardownFor(rec) {
		done := croft.ProvisionedStep{State: croft.StepDone}
		if err := run.run(ctx, dir, command, time.Until(run.until), &done, nil); err != nil {
			notes = failed(err)
			break
		}
		if done.State == croft.StepFailed {
			notes = append(notes, fmt.Sprintf(aboutTeardown+"%q failed: %s; output: %s", command, done.Why, done.Log))
		}
	}
	return notes
}
