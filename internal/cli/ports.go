package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

func newPortsCommand(a *app) *cobra.Command {
	var req croft.UpdateRequest
	cmd := &cobra.Command{
		Use:   "ports [NAME...]",
		Short: "List the ports of workspaces, or move them",
		Long: `List the TCP ports that workspaces have for themselves: no two workspaces of this
machine have the same. ports.count in croft.toml says how many each gets.

--move gives the workspace that is named other ports, for example because another program
listens at one of them ("croft doctor" tells). Its variables and its .croft.env, which is
written whole, get the new numbers; programs that run already keep the old ones.`,
		Example: `  croft ports
  croft ports --move fix-login`,
		ValidArgsFunction: a.completeMany,
		Args: func(cmd *cobra.Command, args []string) error {
			if req.Ports == croft.PortsMove {
				return takesOne("workspace", "its name")(cmd, args)
			}
			return nil
		},
		RunE: a.withService(func(ctx context.Context, svc croft.Service, args []string) error {
			if req.Ports == croft.PortsMove {
				req.Repo, req.Workspace = a.dir(), a.workspaceRef(args[0])
				return a.runPortsMove(ctx, svc, req)
			}
			return a.runPorts(ctx, svc, args)
		}),
	}
	addWordFlag(cmd, &req.Ports, croft.PortsMove, "move", "", "give a workspace other ports")
	addKeyFlag(cmd, &req.Key)
	return cmd
}

// runPortsMove gives a workspace other ports, and shows them.
func (a *app) runPortsMove(ctx context.Context, svc croft.Workspaces, req croft.UpdateRequest) error {
	ws, err := svc.UpdateWorkspace(ctx, req)
	if err != nil {
		return err
	}
	a.printPorts([]croft.Workspace{*ws})
	if !a.json {
		a.note("programs that run in it already keep the ports that they have")
	}
	return nil
}

func (a *app) runPorts(ctx context.Context, svc croft.Workspaces, names []string) error {
	if err := a.needsRecord("ports"); err != nil {
		return err
	}
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
	a.printPorts(found)
	return nil
}

// printPorts prints the ports of workspaces that have some.
func (a *app) printPorts(found []croft.Workspace) {
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
		return
	}
	a.printTable(rows)
	if len(rows) == 0 {
		a.note("no workspace has ports; ports.count in croft.toml gives them to new ones")
	}
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
