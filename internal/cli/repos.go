package cli

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// reposResult lists projects.
type reposResult struct {
	Repos []croft.Repo `json:"repos"`
}

func newReposCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "repos",
		Short: "List the projects that Croft knows",
		Long: `List the projects that Croft has state of, also those that are not at their paths
any more. "--repo id:ID" names one of them from anywhere; "croft uninstall" forgets one.`,
		Args: takesNothing,
		RunE: a.withService(func(ctx context.Context, svc croft.Service, _ []string) error {
			return a.runRepos(ctx, svc)
		}),
	}
}

func (a *app) runRepos(ctx context.Context, svc croft.Repos) error {
	list, err := svc.Repos(ctx, croft.ReposRequest{})
	if err != nil {
		return err
	}
	if a.json {
		a.emit(reposResult{list.Items})
		return nil
	}
	if len(list.Items) == 0 {
		a.note("no projects")
		return nil
	}
	rows := [][]cell{headingRow("ID", "NAME", "BRANCH", "PATH")}
	for _, r := range list.Items {
		path := r.Path
		if r.IsMissing {
			path += " (" + r.Problem + ")"
		}
		rows = append(rows, plainRow(string(r.ID), r.Name, orDash(r.Branch), path))
	}
	a.printTable(rows)
	return nil
}
