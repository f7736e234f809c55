package main

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli"
	"github.com/croft-sh/croft/internal/mcp"
	"github.com/croft-sh/croft/internal/proc"
)

// serveMCP returns the function that serves tools on standard input and output.
func serveMCP(environ []string) func(context.Context, cli.MCPOptions) error {
	return func(ctx context.Context, opts cli.MCPOptions) error {
		debug.SetGCPercent(50) // a server lives long, and there may be many
		start := mcp.Start{
			Kind: mcp.Kind(opts.Kind), Dir: opts.Dir, Workspace: opts.Workspace,
			ID:      croft.ID(cmp.Or(lookup(environ, "CROFT_WORKSPACE_ID"), lookup(environ, "CROFT_WORKSPACE"))),
			Session: lookup(environ, "CLAUDE_CODE_SESSION_ID"),
		}
		scope, err := decideScope(ctx, opts, start)
		if err != nil {
			return err
		}
		return mcp.Serve(ctx, mcp.Options{
			Scope: scope, Version: version(), Open: opts.Open, In: os.Stdin, Out: os.Stdout, Log: os.Stderr,
			Drive: func(repo croft.ID) {
				if self, err := os.Executable(); err == nil {
					_ = proc.Detach(proc.Command{Path: self, Args: []string{"queue", "run", "--quiet", "--repo", croft.ByID(repo)}, Env: environ, Dir: filepath.Dir(self)})
				}
			},
		})
	}
}

// decideScope decides whose server it is, with a Service that is closed again.
func decideScope(ctx context.Context, opts cli.MCPOptions, start mcp.Start) (scope mcp.Scope, err error) {
	svc, err := opts.Open(ctx)
	if err != nil {
		return scope, err
	}
	defer func() {
		if cerr := svc.Close(); err == nil {
			err = cerr
		}
	}()
	return mcp.Decide(ctx, svc, start)
}

// lookup returns a variable of an environment.
func lookup(environ []string, name string) string {
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
