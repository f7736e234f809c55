// Package push brings the work of workspaces to a remote, through git with the user's own
// credentials, and to a pull request, through the tool of its host; and it notices what became
// of that.
//
// It pushes one commit: the one that the workspace was recorded at, to the branch of the same
// name, from exactly the place where that branch was seen. It never moves a branch at the
// remote that has commits which nobody here has. The address is the pinned one; see package
// remote. It writes no ref: what it fetches it reads at once.
//
// What is pushed is recorded before and after, so that a commit that a killed process pushed
// is known as the workspace's own. A pull request that was merged counts only if the commit
// that was merged is known and the base at the remote has its content.
package push

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/remote"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
	"github.com/croft-sh/croft/internal/work"
)

// Pushes pushes work, and follows pull requests.
type Pushes struct {
	*project.Projects
	Commits *work.Commits // required
}

// PushWork commits the work of a workspace, pushes it, and opens a pull request if the request
// asks for one.
func (svc *Pushes) PushWork(ctx context.Context, s project.Location, rec journal.Record, req croft.PushRequest) (*croft.Pushed, error) {
	w := rec.Workspace
	if err := svc.refuseAgent(ctx, s.Project); err != nil {
		return nil, err
	}
	if w.Mode == croft.ModeLegacy || w.Branch == "" {
		return nil, &croft.Error{Code: croft.Unsupported, Message: "a workspace without a branch of its own cannot be pushed"}
	}
	if req.PullRequest != croft.PullRequestOpen && (req.Title != "" || req.Body != "" || req.Queue != "") {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: "a title, a description and a queue are those of a pull request, and none was asked for", Hint: "croft push --pr"}
	}
	head, heldBack, err := svc.Commits.Commit(ctx, s.Project, rec, req.Message)
	if err != nil {
		return nil, err
	}
	if rec, err = svc.Journal.Record(ctx, w.ID); err != nil {
		return nil, err
	}
	to, err := svc.destinationOf(s.Project, rec, req.Remote)
	if err != nil {
		return nil, err
	}
	out := &croft.Pushed{RepoID: s.ID, Workspace: w.ID, WorkspaceName: w.Name, HeldBack: heldBack}
	if out.Outcome, err = svc.pushCommit(ctx, s.Project, &rec, to, head); err != nil {
		return nil, err
	}
	if req.PullRequest == croft.PullRequestOpen {
		if err := svc.openPull(ctx, s.Project, &rec, request{req, to, head}, out); err != nil {
			return nil, err
		}
	}
	out.Push, out.PullRequest = rec.Workspace.Push, rec.Workspace.PullRequest
	return out, nil
}

// refuseAgent refuses an agent, unless the user's configuration lets agents push.
func (svc *Pushes) refuseAgent(ctx context.Context, r *project.Project) error {
	if _, inside := svc.ActorOfCall(ctx); inside == "" || r.Config.Push.Agents {
		return nil
	}
	return &croft.Error{
		Code: croft.AccessDenied, Message: "an agent may not push: that would be done with your credentials", Details: "Nothing was pushed. Who works inside of a workspace counts as its agent.",
		Hint: "run it in the project itself, or set push.agents = true in your own configuration",
	}
}

// destination is where a push goes to.
type destination struct {
	*remote.Remote
	branch string // without refs/heads/
}

func (d destination) ref() string { return "refs/heads/" + d.branch }

// destinationOf returns where the work of a workspace is pushed to: to the remote of the request, to that
// of the last push, to origin, or to the only one. The repository's own settings of branches do
// not count: an agent can write them.
func (svc *Pushes) destinationOf(r *project.Project, rec journal.Record, name string) (destination, error) {
	if name == "" && rec.Workspace.Push != nil {
		name = rec.Workspace.Push.Remote
	}
	there, err := svc.remote(r, name)
	return destination{there, rec.Workspace.Branch}, err
}

// remote finds a remote; without a name it is origin, or the only one.
func (svc *Pushes) remote(r *project.Project, name string) (*remote.Remote, error) {
	if name == "" {
		name = "origin"
		if all, err := remote.Names(r.Git.Core()); err == nil && len(all) == 1 {
			name = all[0]
		}
	}
	found, err := remote.Open(r.Git.Core(), name)
	if errors.Is(err, remote.ErrNone) {
		err = &croft.Error{
			Code: croft.RemoteNotFound, Message: fmt.Sprintf("the repository has no remote %.80q", name), Details: "Nothing was pushed or fetched.",
			Hint: "git remote add " + shellword.Quote(name) + " URL, then croft config accept",
		}
	}
	return found, err
}

// attempts is how often a push is tried whose branch was moved at the remote meanwhile.
const attempts = 3

// pushCommit brings a commit to the remote, and records it.
func (svc *Pushes) pushCommit(ctx context.Context, r *project.Project, rec *journal.Record, to destination, head string) (croft.PushOutcome, error) {
	for try := 1; ; try++ {
		there, err := to.Refs(ctx, to.ref())
		if err != nil {
			return "", svc.remoteError(to, err)
		}
		tip := there[to.ref()]
		outcome, err := svc.decide(ctx, r, *rec, to, tip, head)
		if err != nil || outcome == croft.PushMerged {
			return outcome, err
		}
		if outcome != croft.PushUpToDate {
			if err := svc.savePush(ctx, rec, func(now *journal.Record) string { now.Pushing = to.begun(head); return "" }); err != nil {
				return "", err
			}
			if err := failpoint.Hit("push.begun"); err != nil {
				return "", err
			}
			err := to.Push(ctx, remote.Push{Branch: to.branch, Commit: head, Was: tip})
			if rejected, ok := errors.AsType[*remote.RejectedError](err); ok && rejected.IsStale && try < attempts {
				continue // somebody else has pushed; perhaps the same
			}
			if _, ok := errors.AsType[*remote.RejectedError](err); ok { // nothing was pushed
				err = errors.Join(err, svc.savePush(ctx, rec, func(now *journal.Record) string { now.Pushing = ""; return "" }))
			}
			if err != nil {
				return "", svc.remoteError(to, err)
			}
			if err := failpoint.Hit("push.pushed"); err != nil {
				return "", err
			}
		}
		return outcome, svc.recordPush(ctx, rec, to, head, outcome)
	}
}

// begun is what is recorded of a push to this place that is about to be made.
func (to destination) begun(commit string) string { return to.Name + " " + to.branch + " " + commit }

// decide says what a push to a branch would do that is at tip, or fails if that has commits
// which nobody here has.
func (svc *Pushes) decide(ctx context.Context, r *project.Project, rec journal.Record, to destination, tip, head string) (croft.PushOutcome, error) {
	last := rec.Workspace.Push
	isSame := last != nil && last.Remote == to.Name && last.Branch == to.branch
	pr := rec.Workspace.PullRequest
	switch {
	case tip == head:
		return croft.PushUpToDate, nil
	case tip == "" && isSame && pr != nil && pr.State == croft.PullRequestMerged && pr.Head == head:
		return croft.PushMerged, nil // its host has deleted the branch
	case tip == "" && isSame && last.Commit != "":
		return croft.PushRecreated, nil
	case tip == "":
		return croft.PushCreated, nil
	}
	if has, err := r.Git.IsAncestor(ctx, tip, head); err == nil && has {
		return croft.PushFastForward, nil
	}
	// It is at what was pushed from here, and nobody has added to it.
	if isSame && tip == last.Commit || rec.Pushing == to.begun(tip) {
		return croft.PushRewritten, nil
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	return "", svc.advancedError(to, tip)
}

func (svc *Pushes) advancedError(to destination, tip string) error {
	branch := shellword.Quote(to.branch)
	return &croft.Error{
		Code:    croft.RemoteAdvanced,
		Message: fmt.Sprintf("branch %s at %s has commits that the workspace lacks", shown(to.branch), to.Name),
		Details: fmt.Sprintf("It is at %.12s. Nothing was pushed.", tip),
		Hint:    "in the workspace: git fetch " + shellword.Quote(to.Name) + " " + branch + " && git merge FETCH_HEAD",
		Fields:  map[string]string{"remote": to.Name, "branch": to.branch, "commit": tip},
	}
}

// recordPush records that a remote has a commit of a workspace.
func (svc *Pushes) recordPush(ctx context.Context, rec *journal.Record, to destination, head string, outcome croft.PushOutcome) error {
	return svc.savePush(ctx, rec, func(now *journal.Record) string {
		was := now.Workspace.Push
		now.Pushing = ""
		isNews := was == nil || was.Commit != head || was.Remote != to.Name || was.URL != to.URL
		if !isNews && outcome == croft.PushUpToDate {
			return ""
		}
		now.Workspace.Push = &croft.Push{Remote: to.Name, URL: to.URL, Branch: to.branch, Commit: head, At: svc.Now()}
		return croft.EventWorkspacePushed
	})
}

// savePush changes what is recorded of the pushes of a workspace. change returns the kind of the
// event that tells of it, or the empty string.
func (svc *Pushes) savePush(ctx context.Context, rec *journal.Record, change func(*journal.Record) string) error {
	return svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		now, err := tx.Record(rec.Workspace.ID)
		if err != nil {
			return err
		}
		kind := change(&now)
		if kind == "" && now.Pushing == rec.Pushing {
			*rec = now
			return nil
		}
		if err := tx.SavePush(&now); err != nil {
			return err
		}
		*rec = now
		if kind == "" {
			return nil
		}
		act := "push"
		if kind != croft.EventWorkspacePushed {
			act = ""
		}
		if err := tx.Emit(svc.WorkspaceEvent(kind, now)); err != nil || act == "" {
			return err
		}
		return svc.Note(tx, act, now.RepoID, now)
	})
}

// remoteError explains a failure of git at a remote.
func (svc *Pushes) remoteError(to destination, err error) error {
	if rejected, ok := errors.AsType[*remote.RejectedError](err); ok {
		if rejected.IsStale {
			return svc.advancedError(to, "another commit")
		}
		return &croft.Error{
			Code: croft.PushRejected, Message: fmt.Sprintf("%s did not take branch %s: %s", to.Name, shown(to.branch), oneLine(cmp.Or(rejected.Reason, "no reason was given"))),
			Details: lines(rejected.Text), Hint: "croft push again, when the remote takes it", Fields: map[string]string{"remote": to.Name, "branch": to.branch},
		}
	}
	failed, ok := errors.AsType[*gitcmd.Error](err)
	if !ok || failed.ExitCode < 0 {
		return err
	}
	return &croft.Error{
		Code: croft.RemoteUnreachable, Message: fmt.Sprintf("the remote %s does not answer, or does not know you", to.Name),
		Details: lines(to.URL + "\n" + failed.Stderr), Hint: "git ls-remote " + shellword.Quote(to.Name) + " in the project shows whether your own git gets through",
		Fields: map[string]string{"remote": to.Name},
	}
}

// shown returns the name of a branch as a sentence has it.
func shown(branch string) string { return fmt.Sprintf("%.100s", strings.ToValidUTF8(branch, "?")) }
