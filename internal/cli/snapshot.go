package cli

import (
	"context"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// saver is the part of croft.Service that `croft snapshot` calls.
type saver interface {
	Snapshot(ctx context.Context, req croft.SnapshotRequest) (*croft.Snapshot, error)
	Snapshots(ctx context.Context, repo string) ([]croft.Snapshot, error)
}

// snapshotResult and snapshotsResult are what `croft snapshot` prints.
type snapshotResult struct {
	Version  int            `json:"version"`
	Snapshot croft.Snapshot `json:"snapshot"`
}

type snapshotsResult struct {
	Version   int              `json:"version"`
	Snapshots []croft.Snapshot `json:"snapshots"`
}

func newSnapshotCommand(a *app) *cobra.Command {
	var isList bool
	cmd := &cobra.Command{
		Use:   "snapshot [NAME]",
		Short: "Save the whole state of a workspace",
		Long: `Save the whole state of a workspace: what is committed, staged, modified and
untracked, and whatever is in progress. The workspace is not disturbed.

"croft restore ID" brings the workspace back to a snapshot.`,
		Example: `  croft snapshot fix-login
  croft snapshot --list
  croft snapshot --list fix-login`,
		Args:              takesOptionalName,
		ValidArgsFunction: a.completeOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			req := croft.SnapshotRequest{Repo: a.dir()}
			if len(args) > 0 {
				req.Workspace = a.workspaceRef(args[0])
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				if isList {
					return a.runSnapshots(ctx, svc, req)
				}
				return a.runSnapshot(ctx, svc, req)
			})
		},
	}
	cmd.Flags().BoolVarP(&isList, "list", "l", false, "list the snapshots there are, of NAME or of all")
	return cmd
}

func (a *app) runSnapshot(ctx context.Context, svc saver, req croft.SnapshotRequest) error {
	saved, err := svc.Snapshot(ctx, req)
	if err != nil {
		return err
	}
	if a.json {
		a.emit(snapshotResult{formatVersion, *saved})
		return nil
	}
	a.table([][]cell{{plainCell(string(saved.ID)), plainCell(saved.Name), plainCell(countNoun(saved.Files, "changed file"))}})
	a.note("hint: croft restore %s", saved.ID)
	return nil
}

func (a *app) runSnapshots(ctx context.Context, svc saver, req croft.SnapshotRequest) error {
	list, err := svc.Snapshots(ctx, req.Repo)
	if err != nil {
		return err
	}
	if req.Workspace != "" {
		list = slices.DeleteFunc(list, func(s croft.Snapshot) bool {
			return s.Name != req.Workspace && string(s.Workspace) != req.Workspace
		})
	}
	if a.json {
		a.emit(snapshotsResult{formatVersion, nonNil(list)})
		return nil
	}
	if len(list) == 0 {
		if req.Workspace != "" {
			a.note("no snapshots of %s", req.Workspace)
			return nil
		}
		a.note("no snapshots")
		return nil
	}
	now := a.env.Now()
	rows := [][]cell{heading("ID", "WORKSPACE", "TAKEN", "CHANGED", "SIZE")}
	for _, s := range list {
		rows = append(rows, []cell{
			plainCell(string(s.ID)), plainCell(s.Name), plainCell(ageOf(now, s.CreatedAt) + " ago"), plainCell(countNoun(s.Files, "file")), plainCell(size(s.Bytes)),
		})
	}
	a.table(rows)
	return nil
}
