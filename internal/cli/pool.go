package cli

import (
	"context"
	"slices"
	"strconv"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// stocker is the part of croft.Service that `croft pool` calls.
type stocker interface {
	Pool(ctx context.Context, req croft.PoolRequest) (*croft.Pool, error)
	ChangePool(ctx context.Context, req croft.ChangePoolRequest) (*croft.Pool, error)
}

func newPoolCommand(a *app) *cobra.Command {
	var isFill, isEmpty, isAuto bool
	cmd := &cobra.Command{
		Use:   "pool",
		Short: "Show, fill or empty the stock of checkouts",
		Long: `Show the checkouts that are kept in stock for new workspaces of this project. With
one in stock "croft new" renames a directory instead of writing all files. The last
one is copied, the others are handed out. Large directories that new workspaces get
copies of (.worktreeinclude, [[provision.path]]) are copied beforehand, too, and used
as long as nothing in them has changed in the project.

"croft new" fills the stock in the background, at low priority, when it has answered,
and not while the machine is busy. The setting pool.size says how many there are (0:
none), pool.max_bytes and pool.max_inodes bound them.`,
		Args: takesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if isFill && isEmpty {
				return usageError(cmd, "either --fill or --empty")
			}
			a.silent = isAuto
			if isAuto && a.env.Background != nil {
				a.env.Background()
			}
			if isAuto && a.env.Pause != nil {
				a.env.Pause(cmd.Context())
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				switch {
				case isEmpty:
					return a.changePool(ctx, svc, croft.PoolEmpty)
				case isAuto:
					return a.changePool(ctx, svc, croft.PoolTopUp)
				case isFill:
					return a.changePool(ctx, svc, croft.PoolFill)
				}
				pool, err := svc.Pool(ctx, croft.PoolRequest{Repo: a.dir()})
				if err != nil {
					return err
				}
				a.showPool(pool)
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&isFill, "fill", false, "make what is missing, now")
	cmd.Flags().BoolVar(&isEmpty, "empty", false, "delete all of it")
	cmd.Flags().BoolVar(&isAuto, "auto", false, "fill it unless the machine is busy, and say nothing")
	return cmd
}

func (a *app) changePool(ctx context.Context, svc stocker, act croft.PoolAct) error {
	stop := func() {}
	if act == croft.PoolFill {
		stop = a.startProgress("making checkouts")
	}
	pool, err := svc.ChangePool(ctx, croft.ChangePoolRequest{Repo: a.dir(), Do: act})
	stop()
	if err != nil {
		return err
	}
	if act != croft.PoolTopUp {
		a.showPool(pool)
	}
	return nil
}

func (a *app) showPool(pool *croft.Pool) {
	if a.json {
		a.emit(poolResult{pool})
		return
	}
	rows := [][]cell{headingRow("COMMIT", "FILES", "SIZE")}
	for _, s := range pool.Spares {
		rows = append(rows, plainRow(shortCommit(s.Commit), countNoun(int(s.Files), "file"), sizeText(s.Bytes)))
	}
	if len(pool.Spares) > 0 {
		a.printTable(rows)
	}
	a.showCopies(pool.Copies)
	switch {
	case pool.Busy:
		a.note("%d of %s in stock; more are being made", len(pool.Spares), countNoun(pool.Size, "checkout"))
	case pool.Why != "":
		a.note("%d of %s in stock: %s", len(pool.Spares), countNoun(pool.Size, "checkout"), pool.Why)
	default:
		a.note("%d of %s in stock", len(pool.Spares), countNoun(pool.Size, "checkout"))
	}
}

// showCopies prints the copies of directories in stock, a line for each directory.
func (a *app) showCopies(list []croft.SpareCopy) {
	if len(list) == 0 {
		return
	}
	rows := [][]cell{headingRow("COPIES OF", "FILES", "SIZE", "COUNT")}
	for _, c := range list {
		n := 0
		for _, other := range list {
			if other.Path == c.Path {
				n++
			}
		}
		row := plainRow(c.Path, countNoun(int(c.Files), "file"), sizeText(c.Bytes), strconv.Itoa(n))
		if !slices.ContainsFunc(rows, func(r []cell) bool { return r[0] == row[0] }) {
			rows = append(rows, row)
		}
	}
	a.printTable(rows)
}

// poolResult is the pool of a project.
type poolResult struct {
	Pool *croft.Pool `json:"pool"`
}
