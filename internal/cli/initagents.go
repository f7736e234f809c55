package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/agentfile"
	"github.com/spf13/cobra"
)

// initAgents says for which agents `croft init` writes files, and how.
type initAgents struct {
	isClaude, isCodex, isCursor, isGemini, isOpencode, isAider bool

	isUndo, isUser, isPrint bool

	reach agentfile.Reach
	form  agentfile.Form
}

func (o *initAgents) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&o.isClaude, "claude", false, "write the hooks of Claude Code into .claude/settings.json")
	flags.BoolVar(&o.isCodex, "codex", false, "write the hooks and the tools of Codex into .codex")
	flags.BoolVar(&o.isCursor, "cursor", false, "write the hooks of Cursor, and that Croft takes its worktrees up, into .cursor")
	flags.BoolVar(&o.isGemini, "gemini", false, "write the hooks of Gemini CLI into .gemini/settings.json")
	flags.BoolVar(&o.isOpencode, "opencode", false, "write a plugin of opencode into .opencode/plugins")
	flags.BoolVar(&o.isAider, "aider", false, "write into .aider.conf.yml that aider tells when it waits for you")
	flags.BoolVar(&o.isUndo, "undo", false, "with an agent, as --claude: take out what it wrote; say --allow-outside again to take out that, too")
	flags.BoolVar(&o.isUser, "user", false, "with --claude, --codex, --cursor, --gemini or --aider: in the home directory, for all projects")
	flags.BoolVar(&o.isPrint, "print", false, "with an agent, as --claude: print it, and write nothing")
	addWordFlag(cmd, &o.reach, agentfile.ReachCroft, "allow-outside", "", "with --claude: the agent's shell runs croft outside of its sandbox, with all that you may do")
	addWordFlag(cmd, &o.form, agentfile.ShellForm, "shell-form", "", "with --claude: commands for Claude Code before 2.1.139")
}

// check refuses flags that say nothing without others.
func (o *initAgents) check(cmd *cobra.Command, isMCP bool) error {
	switch {
	case isMCP && o.isAny():
		return usageError(cmd, "one of --mcp, and agents as by --claude")
	case !o.isAny() && (o.isUndo || o.isUser || o.isPrint), !o.isClaude && (o.reach != "" || o.form != ""):
		return usageError(cmd, "whose files? --claude, --codex, --cursor, --gemini, --opencode or --aider")
	case o.isUser && o.isOpencode:
		return usageError(cmd, "a plugin of opencode for all projects lies elsewhere: see --print")
	}
	return nil
}

// isAny reports whether the files of an agent are asked for.
func (o *initAgents) isAny() bool {
	return o.isClaude || o.isCodex || o.isCursor || o.isGemini || o.isOpencode || o.isAider
}

// changer is a file of an agent's host.
type changer struct {
	path        string
	text        []byte
	write, undo func(*os.Root) (agentfile.Outcome, string, error)
}

func (o *initAgents) files() []changer {
	var list []changer
	add := func(h agentfile.Hooks) { list = append(list, changer{h.Path, h.Text(), h.Write, h.Undo}) }
	if o.isClaude {
		add(agentfile.ClaudeHooks(o.form, o.reach))
	}
	if o.isCodex {
		server := agentfile.CodexServer()
		list = append(list, changer{server.Path, server.Text(), server.Update, server.Undo})
		add(agentfile.CodexHooks())
	}
	if o.isCursor {
		add(agentfile.CursorHooks())
		add(agentfile.CursorWorktrees())
	}
	if o.isGemini {
		add(agentfile.GeminiHooks())
	}
	text := func(f agentfile.Text) { list = append(list, changer{f.Path, f.Text(), f.Write, f.Undo}) }
	if o.isOpencode {
		text(agentfile.OpencodePlugin())
	}
	if o.isAider {
		text(agentfile.AiderSettings())
	}
	return list
}

// runInitAgents has agents call Croft's hooks, by files of the project or of the user, or takes
// that back.
func (a *app) runInitAgents(ctx context.Context, svc repoFinder, o initAgents) error {
	if o.isPrint {
		for _, f := range o.files() {
			a.note("%s", f.path)
			a.printLine(strings.TrimSuffix(string(f.text), "\n"))
		}
		return nil
	}
	dir := a.env.Home
	if !o.isUser {
		repo, err := svc.Repo(ctx, croft.RepoRequest{Repo: a.dir()})
		if err != nil {
			return err
		}
		if dir = repo.Path; repo.IsBare {
			return &croft.Error{Code: croft.Unsupported, Op: "init", Message: "a bare repository has no checkout for the files of agents", Hint: "croft init --claude --user"}
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return &croft.Error{Code: croft.NotWritable, Op: "init", Message: "the directory for the files of agents could not be opened", Details: err.Error(), Err: err}
	}
	defer root.Close()
	result := initResult{Path: filepath.Join(dir, configFile)}
	for _, f := range o.files() {
		do := f.write
		if o.isUndo {
			do = f.undo
		}
		outcome, why, err := do(root)
		if err != nil {
			return &croft.Error{Code: croft.NotWritable, Op: "init", Message: f.path + " could not be written, and is as it was", Details: err.Error(), Err: err}
		}
		result.Files = append(result.Files, initMCPFile{f.path, FileOutcome(outcome), why})
	}
	a.tellFiles(result, o)
	return nil
}

func (a *app) tellFiles(result initResult, o initAgents) {
	if a.json {
		a.emit(result)
		return
	}
	isNew := false
	for _, f := range result.Files {
		switch {
		case f.Outcome == FileLeft:
			a.note("%s was left as it is: %s", f.Path, f.Why)
		case f.Outcome == FileThere && o.isUndo:
			a.note("%s has nothing of Croft's", f.Path)
		case f.Outcome == FileThere:
			a.note("%s has it already", f.Path)
		default:
			isNew = !o.isUndo && !o.isUser
			a.printLine(f.Path)
		}
	}
	if isNew {
		elsewhere := ", or write it for all projects: --user"
		if o.isOpencode { // whose plugins for all projects lie elsewhere
			elsewhere = ""
		}
		a.note("commit what was written, so that it is in new workspaces%s", elsewhere)
	}
	if o.isGemini && !o.isUndo {
		a.note("Gemini CLI runs them in directories that you trust, of which a workspace is one")
	}
	if o.isCodex && !o.isUndo {
		a.note("Codex asks once, in its terminal view, whether it may run these hooks; codex exec does not ask, and does not run them before")
	}
}
