package cli

import (
	"context"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

func newSnapshotCommand(a *app) *cobra.Command {
	var isList bool
	var key, reason string
	cmd := &cobra.Command{
		Use:   "snapshot [NAME]",
		Short: "Save the whole state of a workspace",
		Long: `Save the whole state of a workspace: what is committed, staged, modified and
untracked, and whatever is in progress. The workspace is not disturbed.

"croft restore ID" brings the workspace back to a snapshot.`,
		Example: `  croft snapshot fix-login
  croft snapshot --list
  croft snapshot --list fix-login`,
		Args:              takesOptional("workspace"),
		ValidArgsFunction: a.completeOne,
		RunE: a.withService(func(ctx context.Context, svc croft.Service, args []string) error {
			req := croft.SnapshotRequest{Key: key, Repo: a.dir(), Workspace: a.optionalRef(args), Reason: reason}
			if isList {
				return a.runSnapshots(ctx, svc, req)
			}
			return a.runSnapshot(ctx, svc, req)
		}),
	}
	cmd.Flags().BoolVarP(&isList, "list", "l", false, "list the snapshots there are, of NAME or of all")
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the list of snapshots")
	registerCompletion(cmd, "reason", cobra.NoFileCompletions)
	addKeyFlag(cmd, &key)
	return cmd
}

func (a *app) runSnapshot(ctx context.Context, svc croft.Snapshots, req croft.SnapshotRequest) error {
	saved, err := svc.TakeSnapshot(ctx, req)
	if err != nil {
		return err
	}
	if a.json {
		a.emit(snapshotResult{*saved})
		return nil
	}
	id := string(saved.ID)
	if a.isShown() {
		id = shortSnapshot(ctx, svc, req.Repo, saved.ID)
	}
	a.printTable([][]cell{plainRow(id, saved.WorkspaceName, countNoun(saved.Files, "changed file"))})
	a.remarkNext("croft restore " + id)
	return nil
}

// shortSnapshot is the shortest beginning that tells a snapshot from all others; the whole ID if they cannot be listed.
func shortSnapshot(ctx context.Context, svc croft.Snapshots, repo croft.Ref, id croft.ID) string {
	list, err := svc.Snapshots(ctx, croft.SnapshotsRequest{Repo: repo})
	if err != nil || list.Next != "" {
		return string(id)
	}
	return shortIDs(append(snapshotIDs(list.Items), id))[id]
}

func snapshotIDs(list []croft.Snapshot) (ids []croft.ID) {
	for _, s := range list {
		ids = append(ids, s.ID)
	}
	return ids
}

func (a *app) runSnapshots(ctx context.Context, svc croft.Snapshots, req croft.SnapshotRequest) error {
	list, err := svc.Snapshots(ctx, croft.SnapshotsRequest{Repo: req.Repo})
	if err != nil {
		return err
	}
	short := shortIDs(snapshotIDs(list.Items))
	if req.Workspace != "" {
		list.Items = slices.DeleteFunc(list.Items, func(s croft.Snapshot) bool {
			return s.WorkspaceName != req.Workspace && string(s.Workspace) != req.Workspace
		})
	}
	if a.json {
		a.emit(snapshotsResult{list.Items})
		return nil
	}
	if len(list.Items) == 0 {
		if req.Workspace != "" {
			a.note("no snapshots of %s", req.Workspace)
		} else {
			a.note("no snapshots")
		}
		return nil
	}
	now := a.env.Now()
	rows := [][]cell{headingRow("ID", "WORKSPACE", "TAKEN", "CHANGED", "SIZE", "WHY")}
	for _, s := range list.Items {
		id, taken := string(s.ID), ageText(now, s.CreatedAt)+" ago"
		if a.isShown() {
			id, taken = short[s.ID], whenText(now, s.CreatedAt)
		}
		rows = append(rows, plainRow(id, s.WorkspaceName, taken, countNoun(s.Files, "file"), sizeText(s.Bytes), orDash(snapshotReason(s))))
	}
	a.printTable(rows)
	return nil
}

// snapshotReason says why a snapshot was taken.
func snapshotReason(s croft.Snapshot) string {
	switch {
	case s.Reason != "":
		return s.Reason
	case s.Cause == croft.SnapshotRequested:
		return "by " + s.Actor
	case s.Cause != "":
		return "before " + string(s.Cause)
	}
	return ""
}
