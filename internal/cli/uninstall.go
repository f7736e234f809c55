package cli

import (
	"context"
	"path/filepath"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/listing"
	"github.com/spf13/cobra"
)

// uninstaller is the part of croft.Service that `croft uninstall` calls.
type uninstaller interface {
	Uninstall(ctx context.Context, req croft.UninstallRequest) (*croft.UninstallResult, error)
}

func newUninstallCommand(a *app) *cobra.Command {
	var req croft.UninstallRequest
	var agreement agreement
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove all of Croft's from a repository, or from this machine",
		Long: `Remove all that is Croft's own from this repository: its refs, its files in the
git directory, its lines in the configuration and in the exclude file, and what it
remembers. What that is, is listed first, and you are asked.

Branches and worktrees stay as plain git has them, and so does all that is work:
directories in the trash, archived secrets, archives and homes of sessions. Commits
and snapshots that only Croft kept become branches below croft-kept/.

With --all: from every repository that Croft knows, then the state and its second
copy. A repository that is not there now, whose trash cannot be seen now, that has
merges waiting or isolated workspaces is kept, and so is the state then.

With --forget: a repository that was deleted, and does not come back. Nothing may be
at its path. What Croft remembers of it is forgotten; its workspaces and its trash
stay where they are. So can a trash be forgotten that was deleted.`,
		Args: takesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			isAll, isGone := req.All == croft.ScopeAll, req.Gone == croft.GoneForGood
			switch {
			case isGone && isAll:
				return usageError(cmd, "either --all or --forget")
			case isGone && a.repo == "":
				return usageError(cmd, "which repository is gone? --forget takes --repo PATH")
			case !isAll:
				req.Repo = a.dir()
			}
			if err := agreement.requireYes(cmd, req.Key); err != nil {
				return err
			}
			return a.serveAgreed(cmd, agreement, reachFurther, func(ctx context.Context, svc croft.Service, agreed consent) error {
				return a.runUninstall(ctx, svc, req, agreed)
			})
		},
	}
	addWordFlag(cmd, &req.All, croft.ScopeAll, "all", "", "from every repository that Croft knows, and the state")
	addWordFlag(cmd, &req.Gone, croft.GoneForGood, "forget", "", "a repository that was deleted, and is not at --repo any more")
	agreement.addFlags(cmd)
	addKeyFlag(cmd, &req.Key)
	return cmd
}

func (a *app) runUninstall(ctx context.Context, svc uninstaller, req croft.UninstallRequest, agreed consent) error {
	if agreed != consentGiven {
		dry := req
		dry.DryRun = croft.DryRunOn
		plan, err := svc.Uninstall(ctx, dry)
		if err != nil {
			return err
		}
		a.showUninstall(*plan, "would be")
		if agreed == consentDryRun {
			return nil
		}
		if yes, err := a.ask(ctx, uninstallQuestion(a, req, *plan)); err != nil || !yes {
			return err
		}
		if req.All == croft.ScopeAll {
			req.Shown = shownRepos(*plan)
		}
	}
	done, err := svc.Uninstall(ctx, req)
	if err != nil {
		return err
	}
	if agreed == consentGiven {
		a.showUninstall(*done, "was")
	}
	for _, r := range done.Repos {
		if req.Gone == croft.GoneForGood {
			a.note("%s is forgotten", a.shownPath(r.Path))
		} else {
			a.note("nothing of Croft's is left in %s", a.shownPath(r.Path))
		}
	}
	if req.All == croft.ScopeAll && len(done.Kept) == 0 && len(done.Left) == 0 {
		a.note("nothing of Croft's is left in its own directories")
	}
	if len(done.Kept) > 0 {
		return statusError(croft.WorkspaceBusy.ExitCode())
	}
	return nil
}

func uninstallQuestion(a *app, req croft.UninstallRequest, plan croft.UninstallResult) string {
	repos := countOf(len(plan.Repos), "repository", "repositories")
	switch {
	case req.Gone == croft.GoneForGood:
		return "Forget " + a.shownPath(plan.Repos[0].Path) + ", which is gone for good?"
	case req.All != croft.ScopeAll:
		return "Remove all of Croft's from " + a.shownPath(plan.Repos[0].Path) + "?"
	case len(plan.Kept) > 0:
		return "Remove all of Croft's from " + repos + ", and keep the rest?"
	}
	return "Remove all of Croft's from " + repos + ", and its state?"
}

// shownRepos are the repositories that a question named.
func shownRepos(plan croft.UninstallResult) []string {
	var paths []string
	for _, r := range plan.Repos {
		paths = append(paths, r.Path)
	}
	for _, k := range plan.Kept {
		paths = append(paths, k.Path)
	}
	return paths
}

// showUninstall lists what goes and what stays.
func (a *app) showUninstall(res croft.UninstallResult, was string) {
	if a.json {
		a.emit(res)
		return
	}
	var rows [][]cell
	row := func(what, path, remark string) {
		rows = append(rows, plainRow(what, path, remark))
	}
	refs := 0
	for _, r := range res.Repos {
		refs += len(r.Refs)
		for _, b := range r.Branches {
			remark := "has commits that are on no other branch"
			if len(res.Repos) > 1 {
				remark += ", in " + a.shownPath(r.Path)
			}
			row("branch", b.Branch, remark)
		}
		for _, path := range r.Workspaces {
			rows = append(rows, []cell{plainCell("worktree"), plainCell(a.shownPath(path)), {text: "stays", command: "git worktree list"}})
		}
		a.leftRows(row, r.Left)
		a.fileRows(row, r.Files, r.Path, was)
	}
	a.fileRows(row, res.Files, "", was)
	a.leftRows(row, res.Left)
	for _, k := range res.Kept {
		row("repository", a.shownPath(k.Path), "kept: "+k.Reason.Message)
	}
	a.printTable(rows)
	if was == "was" && refs != 1 {
		was = "were"
	}
	a.note("%s below refs/croft/ %s deleted", countNoun(refs, "ref"), was)
	for _, r := range res.Repos {
		if len(r.OtherRefs) > 0 {
			a.note("%s below refs/croft/ of %s %s: of another state, or made by hand: %s", countNoun(len(r.OtherRefs), "ref"), a.shownPath(r.Path), stayVerb(len(r.OtherRefs)), fewNames(r.OtherRefs))
			a.remarkCommand("git -C " + shellWord(r.Path) + " for-each-ref refs/croft/")
		}
		for _, l := range r.Left {
			if l.Remark != "" {
				a.note("%s: %s", a.shownPath(l.Path), l.Remark)
				a.remarkCommand(l.Hint)
			}
		}
	}
	for _, k := range res.Kept {
		a.note("for %s: %s", a.shownPath(k.Path), k.Reason.Hint)
	}
}

func stayVerb(n int) string {
	if n == 1 {
		return "stays"
	}
	return "stay"
}

// hasOtherLines reports whether a file may have lines that are not Croft's: one of the user's, or of git's.
func hasOtherLines(path, repo string) bool {
	switch filepath.Base(path) {
	case "exclude", "config":
		return true
	}
	return repo != "" && listing.IsWithin(path, repo) && !listing.IsWithin(path, filepath.Join(repo, ".git", "croft"))
}

// fileRows are the rows of files that go, or those of Croft's lines in them; of many in one directory there is one row. The
// repository lies at a path.
func (a *app) fileRows(row func(what, path, remark string), files []string, at, was string) {
	const many = 4
	count := map[string]int{}
	for _, path := range files {
		count[filepath.Dir(path)]++
	}
	for _, path := range files {
		dir := filepath.Dir(path)
		switch n := count[dir]; {
		case n < 0: // they have their row
		case hasOtherLines(path, at):
			row("file", a.shownPath(path), "Croft's lines "+was+" removed")
		case n < many:
			row("file", a.shownPath(path), was+" removed")
		default:
			row("files", a.shownPath(dir), countNoun(n, "file")+" "+was+" removed")
			count[dir] = -1
		}
	}
}

func (a *app) leftRows(row func(what, path, remark string), left []croft.Left) {
	for _, l := range left {
		remark := "stays"
		switch l.Kind {
		case croft.LeftUnknown:
			remark = "stays: Croft does not know it"
		case croft.LeftUnseen:
			remark = "not seen: it was moved or deleted, or its drive is not mounted"
		}
		row(string(l.Kind), a.shownPath(l.Path), remark)
	}
}
