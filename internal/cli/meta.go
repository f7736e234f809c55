package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

func newMetaCommand(a *app) *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "meta NAME [KEY=VALUE...]",
		Short: "Record something of your own with a workspace",
		Long: `Record entries of your own with a workspace, such as the number of a ticket. Croft
does not look at them; "croft list --meta KEY=VALUE" finds by them. An empty value
deletes an entry. Without entries they are shown.`,
		Example: `  croft meta fix-login ticket=SEC-12 owner=ada
  croft meta fix-login owner=
  croft list --meta ticket=SEC-12`,
		ValidArgsFunction: a.completeOne,
		Args: func(cmd *cobra.Command, args []string) error {
			return takesOne("workspace", "its name")(cmd, args[:min(len(args), 1)])
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			meta, err := parseMeta(cmd, args[1:])
			if err != nil {
				return err
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				return a.runMeta(ctx, svc, croft.UpdateRequest{Key: key, Repo: a.dir(), Workspace: a.workspaceRef(args[0]), Meta: meta})
			})
		},
	}
	addKeyFlag(cmd, &key)
	return cmd
}

// runMeta changes the entries of a workspace, if the request has some, and shows them.
func (a *app) runMeta(ctx context.Context, svc croft.Workspaces, req croft.UpdateRequest) error {
	ws, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: req.Repo, Ref: req.Workspace})
	if err == nil && len(req.Meta) > 0 {
		ws, err = svc.UpdateWorkspace(ctx, req)
	}
	if err != nil {
		return err
	}
	if a.json {
		a.emit(workspaceResult{a.withCommands([]croft.Workspace{*ws})[0]})
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(ws.Meta)) {
		a.printLine(metaText(key, ws.Meta[key]))
	}
	return nil
}

// metaText puts an entry on one line.
func metaText(key, value string) string {
	return key + "=" + printable(strings.ReplaceAll(value, "\n", `\n`))
}

// parseMeta parses arguments of the form KEY=VALUE.
func parseMeta(cmd *cobra.Command, args []string) (map[string]string, error) {
	var meta map[string]string
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok || key == "" {
			return nil, usageError(cmd, fmt.Sprintf("%q is not of the form KEY=VALUE", arg))
		}
		if meta == nil {
			meta = map[string]string{}
		}
		meta[key] = value
	}
	return meta, nil
}

// addMetaFlag adds the flag --meta, whose entries the command parses with parseMeta.
func addMetaFlag(cmd *cobra.Command, entries *[]string, usage string) {
	cmd.Flags().StringArrayVar(entries, "meta", nil, usage)
	registerCompletion(cmd, "meta", cobra.NoFileCompletions)
}
