package cli

import (
	"context"
	"time"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// keeper is what `croft trash` takes.
type keeper interface {
	Trash(ctx context.Context, repo string) ([]croft.TrashItem, error)
}

// trashResult is what `croft trash` prints.
type trashResult struct {
	Version int               `json:"version"`
	Trash   []croft.TrashItem `json:"trash"`
}

func newTrashCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "trash",
		Short: "List what can be restored",
		Args:  takesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				return a.runTrash(ctx, svc, a.dir())
			})
		},
	}
}

func (a *app) runTrash(ctx context.Context, svc keeper, repo string) error {
	items, err := svc.Trash(ctx, repo)
	if err != nil {
		return err
	}
	if a.json {
		a.emit(trashResult{formatVersion, nonNil(items)})
		return nil
	}
	if len(items) == 0 {
		a.note("the trash is empty")
		return nil
	}
	now := a.env.Now()
	rows := [][]cell{heading("ID", "NAME", "BRANCH", "SIZE", "REMOVED", "KEPT FOR")}
	for _, item := range items {
		rows = append(rows, []cell{
			plain(string(item.ID)), plain(item.Name), plain(orDash(item.Branch)), plain(size(item.Bytes)),
			plain(ageOf(now, item.RemovedAt) + " ago"), plain(remaining(now, item.ExpiresAt)),
		})
	}
	a.table(rows)
	return nil
}

// remaining says how long something is kept yet.
func remaining(now, until time.Time) string {
	if !until.After(now) {
		return "until the next gc"
	}
	left := until.Sub(now)
	if left > time.Hour {
		left = left.Round(time.Hour) // a week is a week, also a second later
	}
	return ageOf(now.Add(left), now)
}
