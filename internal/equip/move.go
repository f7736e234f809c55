package equip

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/oplog"
	"github.com/croft-sh/croft/internal/project"
)

// MovePorts gives a workspace another block of ports, and its variables and the file that has them the new
// numbers. then runs in the transaction that records them. Once that is in the journal, a process that finds
// the operation unfinished writes the file.
func (svc *Equipment) MovePorts(ctx context.Context, r *project.Project, rec journal.Record, then func(*journal.Tx, journal.Record) error) error {
	w := rec.Workspace
	if len(w.Ports) == 0 {
		return &croft.Error{
			Code: croft.InvalidRequest, Message: "the workspace has no ports that could be moved",
			Hint: "ports.count in croft.toml gives ports to new workspaces",
		}
	}
	templates, err := svc.templatesOf(ctx, r, rec)
	if err != nil {
		return err
	}
	op, err := svc.Begin(ctx, project.NewAct(), "ports", r)
	if err != nil {
		return err
	}
	defer op.Close()
	op.Workspaces, op.Names = []croft.ID{w.ID}, []string{w.Name}
	lock, err := r.Lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	var was, now journal.Record
	err = op.Write(ctx, nil, func(tx *journal.Tx) error {
		if was, err = tx.Record(w.ID); err != nil {
			return err
		}
		if was.Workspace.State != croft.Ready {
			return project.NotReadyError(croft.WorkspaceBusy, was)
		}
		now = was
		if now.Workspace.Ports, err = svc.freePorts(tx, r, was); err != nil {
			return err
		}
		setVariables(&now, templates)
		return errors.Join(tx.SaveRecord(&now), then(tx, now))
	})
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	err = failpoint.Hit("ports.moved")
	if err == nil {
		err = svc.rewriteEnvFile(r, now)
	}
	if err != nil {
		return op.EndFailed(ctx, errors.Join(err, svc.takeBack(ctx, was, now)))
	}
	return op.EndDone(ctx)
}

// takeBack gives a workspace the ports again that it had before a move, unless another workspace has taken one of them.
func (svc *Equipment) takeBack(ctx context.Context, was, moved journal.Record) error {
	return svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		rec, err := tx.Record(was.Workspace.ID)
		if err != nil || !slices.Equal(rec.Workspace.Ports, moved.Workspace.Ports) {
			return err
		}
		if isTaken, err := svc.areOthers(tx, was); err != nil || isTaken {
			return err
		}
		rec.Workspace.Ports, rec.Env = was.Workspace.Ports, was.Env
		return tx.SaveRecord(&rec)
	})
}

// RecoverPorts finishes a move of ports whose process died: the file gets the variables that the record has. It ends
// also if the file cannot be written, which an agent can bring about.
func (svc *Equipment) RecoverPorts(ctx context.Context, r *project.Project, op *oplog.Op) error {
	rec, err := svc.Journal.Record(ctx, op.Workspaces[0])
	if errors.Is(err, journal.ErrNotFound) || r.Git == nil || err == nil && rec.Workspace.State != croft.Ready {
		return op.EndDone(ctx)
	}
	if err == nil {
		err = svc.UnderLock(ctx, r, func() error {
			if err := svc.rewriteEnvFile(r, rec); err != nil {
				svc.Notice("the ports of %s were moved, but %s still has the old ones: %v", rec.Workspace.Name, r.Config.Provision.EnvFile, err)
			}
			return nil
		})
	}
	if err != nil {
		return err
	}
	return op.EndDone(ctx)
}

// ReclaimPorts prepares a workspace that is being restored: it keeps its ports if no other workspace has taken one of
// them, and gets others if one has. It writes the file with the variables if that has to change or is absent. What an
// agent can bring about, and a lack of ports, does not hinder a restoration: it is told. The caller saves the record, and
// calls RequireOwnPorts in the same transaction.
func (svc *Equipment) ReclaimPorts(ctx context.Context, r *project.Project, rec *journal.Record) error {
	if len(rec.Workspace.Ports) == 0 || r.Git == nil {
		return nil
	}
	was := portsText(rec.Workspace.Ports)
	err := svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		isTaken, err := svc.areOthers(tx, *rec)
		if err != nil || !isTaken {
			return err
		}
		rec.Workspace.Ports, err = svc.freePorts(tx, r, *rec)
		if errors.Is(err, croft.LimitReached) {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	if now := portsText(rec.Workspace.Ports); now != was {
		svc.Notice("another workspace has the ports %s by now; %s has %s instead", was, rec.Workspace.Name, now)
		templates, err := svc.templatesOf(ctx, r, *rec)
		if err != nil {
			svc.Notice("the variables of %s are those of its ports alone: its croft.toml cannot be read: %v", rec.Workspace.Name, err)
		}
		setVariables(rec, templates)
	}
	if err := svc.rewriteEnvFile(r, *rec); err != nil {
		svc.Notice("the variables of %s are not in its file: %v", rec.Workspace.Name, err)
	}
	return nil
}

// portsText is "20010-20019".
func portsText(ports []croft.Port) string {
	switch len(ports) {
	case 0:
		return "none"
	case 1:
		return fmt.Sprint(ports[0].Port)
	}
	return fmt.Sprintf("%d-%d", ports[0].Port, ports[len(ports)-1].Port)
}

// RequireOwnPorts fails if another workspace has one of a workspace's ports.
func (svc *Equipment) RequireOwnPorts(tx *journal.Tx, rec journal.Record) error {
	if isTaken, err := svc.areOthers(tx, rec); err != nil || !isTaken {
		return err
	}
	return &croft.Error{Code: croft.LimitReached, Message: "another workspace has just got the ports of this one", Hint: "try again"}
}

// areOthers reports whether another workspace has one of a workspace's ports.
func (svc *Equipment) areOthers(tx *journal.Tx, rec journal.Record) (bool, error) {
	if len(rec.Workspace.Ports) == 0 {
		return false, nil
	}
	leased, err := tx.LeasedPorts(svc.Now())
	return slices.ContainsFunc(rec.Workspace.Ports, func(p croft.Port) bool {
		l, ok := leased[p.Port]
		return ok && isOthers(l, rec)
	}), err
}

// templatesOf returns [env] of the croft.toml that set a workspace up, as far as the project has it. What lies in the workspace
// does not count: an agent may have written it, and people get these variables, too.
func (svc *Equipment) templatesOf(ctx context.Context, r *project.Project, rec journal.Record) (map[string]string, error) {
	asked, err := AskedAt(ctx, r, cmp.Or(rec.SetUpAt, rec.Carried, rec.Workspace.Base))
	if err != nil {
		return nil, err
	}
	v, err := svc.variablesOf(ctx, r, rec, asked)
	return v.approved(), err
}

// rewriteEnvFile writes the file with a workspace's variables, whole, in the place of the one that Croft wrote before.
func (svc *Equipment) rewriteEnvFile(r *project.Project, rec journal.Record) error {
	name := r.Config.Provision.EnvFile
	if name == "" || !slices.Contains(rec.Copied, name) { // the commit has a file of that name
		return nil
	}
	dir, err := fsx.OpenDirIs(rec.Workspace.Path, fsx.Identity(rec.Identity))
	if err != nil {
		return err
	}
	defer dir.Close()
	text := envFile(rec)
	if now, err := dir.ReadFile(name, int64(len(text)+1)); err == nil && string(now) == text {
		return nil
	}
	if err := dir.WriteFile(name, []byte(text), 0o600); err != nil {
		return fmt.Errorf("%s of the workspace: %w", name, err)
	}
	return nil
}

// envFile returns the content of the file with a workspace's variables.
func envFile(rec journal.Record) string {
	w := rec.Workspace
	w.Env = rec.Env
	return formatEnv(w.Variables())
}
