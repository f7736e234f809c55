package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/screen"
	"github.com/spf13/cobra"
)

// configFile is the project's configuration.
const configFile = "croft.toml"

// initResult is the file of the project's settings.
type initResult struct {
	Path    string `json:"path"`
	Created bool   `json:"created"` // false: it was there already and was left, or was not asked for

	// SetUp is what sets new workspaces up as it is committed. Suggested are steps for files that nothing
	// installs from, and Local files that a new workspace would lack.
	SetUp     []croft.ProvisionItem `json:"setUp,omitempty"`
	Remarks   []string              `json:"remarks,omitempty"` // what is not used of it, and why
	Suggested []suggestedStep       `json:"suggested,omitempty"`
	Local     []string              `json:"local,omitempty"`

	Files []initMCPFile `json:"files,omitempty"` // with --mcp or an agent: the files in which agents' hosts find the server of tools and the hooks
}

func newInitCommand(a *app) *cobra.Command {
	var isMCP bool
	var agents initAgents
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a croft.toml to begin with",
		Long: `Write a commented croft.toml into the root of the repository, unless there is
one. Croft works without it. Say what sets new workspaces up by now, and which files of
the project ask for a command or a copy that nothing names yet.

With --mcp, tell agents of "croft mcp" instead: in .mcp.json (Claude Code),
.codex/config.toml, .cursor/mcp.json, .gemini/settings.json and opencode.json of the
repository. What is in these files stays; another server called croft is left, and
named. They have to be committed to be in new workspaces.

With --claude, --codex, --cursor, --gemini, --opencode or --aider, have the agent say what
it does and whether it waits for you, by its hooks: "croft list" shows it. Claude Code's
own worktrees become workspaces. --undo takes out what was written, and leaves every other byte.`,
		Args: takesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := agents.check(cmd, isMCP); err != nil {
				return err
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				switch {
				case isMCP:
					return a.runInitMCP(ctx, svc)
				case agents.isAny():
					return a.runInitAgents(ctx, svc, agents)
				}
				return a.runInit(ctx, svc)
			})
		},
	}
	agents.addFlags(cmd)
	cmd.Flags().BoolVar(&isMCP, "mcp", false, "write the files by which agents find the tools of croft mcp")
	return cmd
}

// initiator is the part of croft.Service that `croft init` calls.
type initiator interface {
	repoFinder
	planner
}

func (a *app) runInit(ctx context.Context, svc initiator) error {
	repo, err := svc.Repo(ctx, croft.RepoRequest{Repo: a.dir()})
	if err != nil {
		return err
	}
	if repo.IsBare {
		return &croft.Error{
			Code: croft.Unsupported, Op: "init",
			Message: "a bare repository has no checkout for " + configFile,
			Details: "commit the file from a workspace instead",
			Hint:    "croft new",
		}
	}
	view, err := a.configView(repo.Path)
	if err != nil {
		return err
	}
	result := initResult{Path: filepath.Join(repo.Path, configFile)}
	result.findSetUp(ctx, svc, repo.Path)
	result.Created, err = writeNewFile(result.Path, view.Template+stepComments(result.Suggested))
	if err != nil {
		return &croft.Error{
			Code: croft.NotWritable, Op: "init",
			Message: "the configuration file could not be written",
			Details: err.Error(), Err: err,
		}
	}
	switch {
	case a.json:
		a.emit(result)
	case result.Created && a.isShown():
		a.printOutcomes(outcome{Kind: screen.Done, Name: a.shownPath(result.Path), Detail: []screen.Span{prose("every setting explained, all of them commented out")}})
		a.remarkText(prose("for checks: set merge.checks, commit the file, then "), command("croft config trust"))
	case result.Created:
		a.printLine(a.shownPath(result.Path))
	default:
		a.note("%s is already there and was left as it is", a.shownPath(result.Path))
	}
	if !a.json {
		a.noteInitSetUp(result)
	}
	return nil
}

// writeNewFile writes a file unless something is at its path already, a link included.
func writeNewFile(path, text string) (created bool, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return false, errors.Join(err, os.Remove(path))
	}
	return true, nil
}
