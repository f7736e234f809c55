package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/spf13/cobra"
)

// pushesResult is the answer of `croft push`.
type pushesResult struct {
	Pushes []pushAnswer `json:"pushes"`
}

// pushAnswer says of one workspace what was pushed, or why nothing was.
type pushAnswer struct {
	croft.Pushed
	Error *croft.Error `json:"error,omitempty"`
}

// pusher is the part of croft.Service that `croft push` calls.
type pusher interface {
	finder
	Push(ctx context.Context, req croft.PushRequest) (*croft.Pushed, error)
	RefreshPush(ctx context.Context, req croft.RefreshPushRequest) (*croft.Pushed, error)
	Workspaces(ctx context.Context, req croft.WorkspacesRequest) (*croft.List[croft.Workspace], error)
}

func newPushCommand(a *app) *cobra.Command {
	var req croft.PushRequest
	var isStatus bool
	cmd := &cobra.Command{
		Use:   "push [NAME...]",
		Short: "Push work to a remote, and open its pull request",
		Long: `Commit what is uncommitted in a workspace and push its branch, with your own
credentials. A branch that has commits at the remote which the workspace lacks is left
alone; one that the workspace has rewritten since its last push is rewritten there.

With --pr a pull request to the workspace's target is opened by gh (GitHub) or glab (GitLab),
or the open one of the branch is found again. Its title and text come from the commits, unless
you give them. Without the tool the branch is pushed, the page is named on which you open
the pull request, and the exit code is 4.

--status asks the host what became of pull requests: merged, closed, or merged with commits
since. "croft list" and "croft clean" go by that. Without a NAME it asks for all.

The remote's address is the one that Croft saw first; a changed one is refused until
"croft config accept". No hook runs. Agents may not push, unless push.agents is set.`,
		Example: `  croft push fix-login
  croft push --pr fix-login
  croft push --status`,
		ValidArgsFunction: a.completeMany,
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Repo = a.dir()
			if req.PullRequest == croft.PullRequestNone && (req.Title != "" || req.Body != "" || req.Queue != "") {
				return usageError(cmd, "--title, --body and --merge-queue go with --pr")
			}
			if len(args) > 1 && (req.Title != "" || req.Body != "") {
				return usageError(cmd, "one workspace at a time has a --title or a --body")
			}
			if len(args) == 0 && !isStatus {
				args = []string{""}
			}
			return a.serve(cmd, func(ctx context.Context, svc croft.Service) error {
				if isStatus {
					return a.runPushStatus(ctx, svc, a.workspaceRefs(args))
				}
				return a.runPush(ctx, svc, req, a.workspaceRefs(args))
			})
		},
	}
	flags := cmd.Flags()
	addWordFlag(cmd, &req.PullRequest, croft.PullRequestOpen, "pr", "", "open a pull request, or find the open one")
	flags.StringVar(&req.Title, "title", "", "the `title` of the pull request")
	flags.StringVar(&req.Body, "body", "", "its `text`")
	addWordFlag(cmd, &req.Queue, croft.QueueJoin, "merge-queue", "", "have the host merge it when its requirements are met, by its merge queue where it has one")
	flags.StringVarP(&req.Message, "message", "m", "", "the `message` of the commit of what is uncommitted")
	flags.StringVar(&req.Remote, "remote", "", "the `remote` (default: that of the last push, or origin)")
	flags.BoolVar(&isStatus, "status", false, "push nothing, and ask what became of pull requests")
	cmd.MarkFlagsMutuallyExclusive("status", "pr")
	cmd.MarkFlagsMutuallyExclusive("status", "remote")
	cmd.MarkFlagsMutuallyExclusive("status", "message")
	for _, flag := range []string{"title", "body", "message", "remote"} {
		registerCompletion(cmd, flag, cobra.NoFileCompletions)
	}
	return cmd
}

func (a *app) runPush(ctx context.Context, svc pusher, req croft.PushRequest, names []string) error {
	if len(names) > 1 {
		if err := a.requireWorkspaces(ctx, svc, names); err != nil {
			return err
		}
	}
	a.noteAgents(ctx, svc, names...)
	isUnopened := false
	err := a.pushEach(ctx, names, func(ctx context.Context, name string) (*croft.Pushed, error) {
		req.Workspace = name
		defer a.startProgress("pushing " + cmp.Or(name, "the workspace"))()
		got, err := svc.Push(ctx, req)
		isUnopened = isUnopened || err == nil && req.PullRequest == croft.PullRequestOpen && got.PullRequest == nil && got.Outcome != croft.PushMerged
		return got, err
	})
	if err == nil && isUnopened { // the answer says why
		return statusError(croft.ExitEnvironment)
	}
	return err
}

// runPushStatus asks for the pull requests of workspaces; without names for those of all that
// were pushed.
func (a *app) runPushStatus(ctx context.Context, svc pusher, names []string) error {
	if len(names) == 0 {
		list := func(p croft.Page) (*croft.List[croft.Workspace], error) {
			return svc.Workspaces(ctx, croft.WorkspacesRequest{Repo: a.dir(), Page: p})
		}
		for ws, err := range croft.All(croft.Page{}, list) {
			if err != nil {
				return err
			}
			if ws.Push != nil {
				names = append(names, croft.ByID(ws.ID))
			}
		}
		if len(names) == 0 {
			a.note("no workspace was pushed yet; %s push --pr NAME pushes one and opens its pull request", a.env.Program)
		}
	}
	return a.pushEach(ctx, names, func(ctx context.Context, name string) (*croft.Pushed, error) {
		defer a.startProgress("asking for pull requests")()
		return svc.RefreshPush(ctx, croft.RefreshPushRequest{Repo: a.dir(), Workspace: name})
	})
}

// pushEach makes a call for each workspace. Of one it returns the error; of several it shows
// those that failed beside the others.
func (a *app) pushEach(ctx context.Context, names []string, call func(context.Context, string) (*croft.Pushed, error)) error {
	answers := []pushAnswer{}
	var failed *croft.Error
	for _, name := range names {
		got, err := call(ctx, name)
		if err != nil {
			e := croft.AsError("push", err)
			if len(names) == 1 || errors.Is(err, croft.Canceled) {
				return err
			}
			_, text := croft.CutRef(name)
			answers = append(answers, pushAnswer{Pushed: croft.Pushed{WorkspaceName: cmp.Or(e.Workspace, text)}, Error: e})
			failed = cmp.Or(failed, e)
			continue
		}
		answers = append(answers, pushAnswer{Pushed: *got})
	}
	if a.json {
		a.emit(pushesResult{answers})
	} else {
		a.printPushes(answers)
	}
	if failed != nil {
		return statusError(failed.Code.ExitCode())
	}
	return nil
}

// printPushes prints a line for each workspace, and what a person has to do.
func (a *app) printPushes(answers []pushAnswer) {
	var rows [][]cell
	for _, p := range answers {
		what, commit, branch := string(p.Outcome), "", ""
		if p.Push != nil {
			commit, branch = shortCommit(p.Push.Commit), p.Push.Remote+"/"+p.Push.Branch
		}
		if p.Error != nil {
			what = string(p.Error.Code)
		}
		row := []cell{plainCell(printable(p.WorkspaceName)), plainCell(strings.ReplaceAll(what, "-", " ")), plainCell(commit), plainCell(printable(branch)), plainCell(pullText(p.PullRequest))}
		if p.PullRequest != nil {
			row = append(row, plainCell(printable(p.PullRequest.URL)))
		} else if p.Compare != "" {
			row = append(row, plainCell(printable(p.Compare)))
		}
		rows = append(rows, row)
	}
	a.printTable(rows)
	for _, p := range answers {
		for _, remark := range p.Remarks {
			a.note("%s: %s", p.WorkspaceName, remark)
		}
		if len(p.HeldBack) > 0 {
			a.note("%s: not committed, so not pushed: %s", p.WorkspaceName, strings.Join(p.HeldBack, ", "))
		}
		if p.Error != nil {
			a.note("%s: %s", p.WorkspaceName, p.Error.Message)
			if p.Error.Hint != "" {
				a.note("hint: %s", p.Error.Hint)
			}
		}
	}
}

// pullText is a pull request in a few words.
func pullText(p *croft.PullRequest) string {
	if p == nil {
		return ""
	}
	text := fmt.Sprintf("#%d %s", p.Number, p.State)
	if (p.State == croft.PullRequestMerged || p.State == croft.PullRequestAdvanced) && p.Proof == "" {
		text += ", not found in " + printable(p.Base)
	}
	return text
}

// pushText says what was pushed of a workspace.
func (a *app) pushText(p *croft.Push) string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("%s to %s/%s, %s", shortCommit(p.Commit), printable(p.Remote), printable(p.Branch), whenText(a.env.Now(), p.At))
}

// requireWorkspaces fails if one of several workspaces does not exist: a user who
// misspelt a name may not want the others pushed without it.
func (a *app) requireWorkspaces(ctx context.Context, svc finder, names []string) error {
	if len(names) == 1 {
		return nil // the act itself finds out
	}
	for _, name := range names {
		if _, err := svc.Workspace(ctx, croft.WorkspaceRequest{Repo: a.dir(), Ref: name}); err != nil {
			e := *croft.AsError("push", err)
			e.Details = strings.TrimSpace(e.Details + "\nnothing was pushed")
			return &e
		}
	}
	return nil
}
