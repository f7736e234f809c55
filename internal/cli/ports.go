package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

func newPortsCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "ports [NAME...]",
		Short: "List the ports of workspaces",
		Long: `List the TCP ports that workspaces have for themselves: no two workspaces of this
machine have the same. ports.count in croft.toml says how many each gets.`,
		ValidArgsFunction: a.completeMany,
		RunE: a.withService(func(ctx context.Context, svc croft.Service, args []string) error {
			return a.runPorts(ctx, svc, args)
		}),
	}
}

func (a *app) runPorts(ctx context.Context, svc croft.Service, names []string) error {
	var found []croft.Workspace
	if len(names) == 0 {
		list := func(p croft.Page) (*croft.List[croft.Workspace], error) {
			return svc.Workspaces(ctx, croft.WorkspacesRequest{Repo: a.dir(), Page: p})
		}
		for ws, err := range croft.All(croft.Page{}, list) {
			if err != nil {
				return err
			}
			found = append(found, ws)
		}
	}
	for _, name := range names {
		ws, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: a.dir(), Ref: name})
		if err != nil {
			return err
		}
		found = append(found, *ws)
	}
	result := portsResult{Workspaces: []portsOf{}}
	var rows [][]cell
	for _, ws := range found {
		if len(ws.Ports) == 0 {
			continue
		}
		result.Workspaces = append(result.Workspaces, portsOf{ws.ID, ws.Name, ws.Ports})
		rows = append(rows, plainRow(ws.Name, portsText(ws.Ports)))
	}
	if a.json {
		a.emit(result)
		return nil
	}
	a.printTable(rows)
	if len(rows) == 0 {
		a.note("no workspace has ports; ports.count in croft.toml gives them to new ones")
	}
	return nil
}

// portsText is "20010-20019, web 20010".
func portsText(ports []croft.Port) string {
	text := fmt.Sprint(ports[0].Port)
	if len(ports) > 1 {
		text += fmt.Sprintf("-%d", ports[len(ports)-1].Port)
	}
	var named []string
	for _, p := range ports {
		if p.Name != "" {
			named = append(named, fmt.Sprintf("%s %d", p.Name, p.Port))
		}
	}
	if len(named) > 0 {
		text += ", " + strings.Join(named, ", ")
	}
	return text
}
