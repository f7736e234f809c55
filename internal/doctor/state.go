package doctor

import (
	"context"
	"fmt"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
)

// findDamagedState reports databases that were set aside, and rows that cannot be read. The
// files are kept for a while, to look into the cause.
func (d *examination) findDamagedState(ctx context.Context) error {
	if err := d.Journal.Check(ctx); err != nil {
		return err
	}
	list, err := journal.Damaged(d.Settings.Config().StateDir)
	if err != nil {
		return err
	}
	for _, path := range list {
		d.findings = append(d.findings, d.setAside(ctx, path))
	}
	rows, err := d.Journal.Unreadable(ctx, d.r.ID)
	for _, row := range rows {
		d.reportUnreadable(ctx, row)
	}
	return err
}

// setAside returns the finding about a database that was set aside.
func (d *examination) setAside(ctx context.Context, path string) croft.Finding {
	f := croft.Finding{Code: findDamaged, Subject: path, Message: "The database was damaged, or of an earlier version of Croft, and was set aside here. "}
	switch lacking, err := d.Journal.Lacking(ctx, path); {
	case err != nil:
		f.Fixed = true // nothing in it can be had
		f.Message += "It cannot be read, so it is not known whether the one in use has all that it held: croft doctor --import shows what git knows of workspaces that are missing."
	case lacking > 0:
		f.Message += fmt.Sprintf("The one in use lacks %d of its workspaces, merges and sessions, so keep the file: croft doctor --import shows what git knows of workspaces that are missing.", lacking)
	default:
		f.Fixed = true
		f.Message += "The one in use has all that it held, so the file is not needed any more."
	}
	return f
}

// reportUnreadable reports a row of the database that cannot be read. The fix sets it
// aside.
func (d *examination) reportUnreadable(ctx context.Context, row *journal.RowError) {
	subject := row.Key
	if row.Name != "" {
		subject = row.Name
	}
	message := fmt.Sprintf("The record of it in the state cannot be read (table %s, key %s), and the second copy does not have it either; all other records can be used. "+
		"croft doctor --fix sets it aside, in a file beside the database, so that nothing waits for it.", row.Table, row.Key)
	if row.Table == "workspaces" {
		message += " Its files, branch and refs stay; croft doctor --import finds the workspace by them then."
	}
	d.reportFinding(findUnreadable, subject, message, func() error {
		_, err := d.Journal.SetRowAside(ctx, row)
		return err
	})
}
