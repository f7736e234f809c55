// Package work finds and commits the changes that an agent has left uncommitted in a
// workspace.
//
// It owns the rule of what is committed: what git add -A would stage, without new files
// that look like secrets (unless the branch that is being merged has them), untracked large
// files unless they were asked for, nested repositories, files that git was told not to
// compare, and untracked files that Croft put there itself. Files that are held back are
// named to the caller. It also owns the
// examination of files after a restart of the machine: files that a crash may have
// emptied are not committed unasked.
//
// It writes commits on a workspace's branch, its index, and what it found in its record; it
// never writes its files.
package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
)

// Commits finds and commits uncommitted work.
type Commits struct {
	*project.Projects
}

// FindUncommitted finds the uncommitted work of a workspace. It fails if that cannot be
// committed because an operation of git other than a merge is in progress, or because
// files are in conflict. A file that a recorded merge left in conflict counts until it has
// neither markers nor the state that the merge left it in, also if it is staged.
func (svc *Commits) FindUncommitted(ctx context.Context, r *project.Project, rec journal.Record, as CommitSpec) (Uncommitted, error) {
	tree := r.Trees.At(project.SpecOf(rec))
	w, err := SortUncommitted(ctx, r, tree, rec, as.Large)
	if err != nil {
		return w, err
	}
	if what := tree.Progress(); what != "" && what != "merge" {
		return w, &croft.Error{
			Code: croft.InProgress, Message: fmt.Sprintf("a %s is in progress in the workspace", what), Details: tree.Path,
			Hint: fmt.Sprintf("git -C %s %s --continue", shellword.Quote(tree.Path), what),
		}
	}
	if as.Conflicts == WrittenIsResolved {
		if err := w.resolveWritten(ctx, tree, rec); err != nil {
			return w, err
		}
	}
	return w, svc.refuseUnresolved(ctx, tree, rec, w.conflicted)
}

// Commit commits the uncommitted work of a workspace, and a merge in progress, and
// returns its new head; if there is neither, it returns the present head. heldBack lists
// the files that it leaves uncommitted. An empty message means the template. It refuses a
// workspace that is broken, looks damaged, or is not on its branch, and fails as
// FindUncommitted does, and if the repository's git configuration was changed and not
// accepted. The message gets a trailer Croft-Workspace with the workspace's ID.
func (svc *Commits) Commit(ctx context.Context, r *project.Project, rec journal.Record, message string) (head string, heldBack []string, err error) {
	return svc.CommitSeen(ctx, r, rec, message, git.Seen{})
}

// CommitSeen commits the work of a workspace as Commit does, and fails with WorkChanged
// if that is not the work that was seen.
func (svc *Commits) CommitSeen(ctx context.Context, r *project.Project, rec journal.Record, message string, seen git.Seen) (head string, heldBack []string, err error) {
	return svc.CommitAs(ctx, r, rec, CommitSpec{message: message, When: svc.Clock(), Seen: seen})
}

// CommitDone commits the work of a workspace as CommitSeen does, for somebody who says that it is done: files
// that were in conflict and were written since are resolved.
func (svc *Commits) CommitDone(ctx context.Context, r *project.Project, rec journal.Record, message string, seen git.Seen) (head string, heldBack []string, err error) {
	return svc.CommitAs(ctx, r, rec, CommitSpec{message: message, When: svc.Clock(), Seen: seen, Conflicts: WrittenIsResolved})
}

// CommitSpec says how work is committed.
type CommitSpec struct {
	message string     // empty: made from the template
	When    time.Time  // of author and committer; required
	Large   LargeFiles // default: held back
	Seen    git.Seen   // other work fails with WorkChanged; default: any
	// Conflicts says what resolves a file that a recorded merge left in conflict.
	Conflicts ConflictRule
}

// ConflictRule says what resolves a file in conflict, beside that it has no markers of the merge.
type ConflictRule string

// The rules.
const (
	StagedIsResolved ConflictRule = "" // git add, or git rm
	// WrittenIsResolved: that it was written or deleted since the merge. An agent in a sandbox may not be
	// able to write the index.
	WrittenIsResolved ConflictRule = "written"
)

// CommitAs commits the uncommitted work of a workspace as Commit does, with the time and
// the treatment of large files that the caller chose. Conflicts that the record has count
// as resolved after that.
func (svc *Commits) CommitAs(ctx context.Context, r *project.Project, rec journal.Record, as CommitSpec) (head string, heldBack []string, err error) {
	head, heldBack, err = svc.commitFound(ctx, r, rec, as)
	if err == nil && rec.Resolving != nil {
		err = svc.noteResolved(ctx, rec.Workspace.ID)
	}
	return head, heldBack, svc.VanishedError(ctx, rec, err)
}

func (svc *Commits) commitFound(ctx context.Context, r *project.Project, rec journal.Record, as CommitSpec) (head string, heldBack []string, err error) {
	found, err := svc.examine(ctx, r, rec, as)
	if err != nil {
		return "", nil, err
	}
	head, err = svc.commitWork(ctx, r, rec, found, as)
	return head, found.HeldBack, err
}

// examine finds the uncommitted work of a workspace, and refuses a workspace of which nothing
// may be committed.
func (svc *Commits) examine(ctx context.Context, r *project.Project, rec journal.Record, as CommitSpec) (found Uncommitted, err error) {
	if rec.Workspace.State != croft.Ready {
		return found, project.NotReadyError(croft.WorkspaceBroken, rec)
	}
	if h := r.Trees.Health(project.SpecOf(rec)); h != checkout.Intact {
		return found, r.BrokenNowError(ctx, rec, h)
	}
	if err := svc.RequireVerified(ctx, r, rec); err != nil {
		return found, err
	}
	if err := r.Git.CheckConfig(); err != nil {
		return found, err
	}
	found, err = svc.FindUncommitted(ctx, r, rec, as)
	if err != nil {
		return found, err
	}
	return found, svc.RequireBranch(ctx, r, rec)
}

// commitWork commits work that examine found, and a merge in progress, and returns the new
// head, or the present one if there is neither.
func (svc *Commits) commitWork(ctx context.Context, r *project.Project, rec journal.Record, found Uncommitted, as CommitSpec) (head string, err error) {
	tree := r.Trees.At(project.SpecOf(rec))
	if !found.HasWork() && tree.Progress() == "" {
		_, head, err = tree.Head(ctx)
		if err == nil {
			err = requireSeen(ctx, r, rec, head, as.Seen)
		}
		return head, err
	}
	id, err := svc.Identity(ctx, r)
	if err != nil {
		return "", err
	}
	work := found.Request()
	work.Branch, work.Identity, work.Seen = rec.Workspace.Branch, id, as.Seen
	work.Commit = object.Commit{
		Signature: object.Signature(id.Committer, as.When), Author: object.Signature(id.Author, as.When), Message: messageOf(r, rec, as),
	}
	head, err = tree.CommitWork(ctx, work)
	if errors.Is(err, gitcmd.KindRefStale) {
		err = project.BranchMovesError(rec.Workspace.Branch, err)
	}
	if errors.Is(err, git.ErrUnseen) {
		err = workChangedError(rec)
	}
	return head, project.ExplainBranch(rec, err)
}

// messageOf returns the message of a commit of a workspace, with its trailer.
func messageOf(r *project.Project, rec journal.Record, as CommitSpec) string {
	text := cmp.Or(as.message, DefaultMessage(r, rec))
	return WithTrailer(text, "Croft-Workspace", string(rec.Workspace.ID))
}

// requireSeen refuses a workspace without uncommitted work whose commit is not the one
// that the caller has seen.
func requireSeen(ctx context.Context, r *project.Project, rec journal.Record, head string, seen git.Seen) error {
	if seen == (git.Seen{}) {
		return nil
	}
	c, err := r.Git.ReadCommit(ctx, head)
	if err == nil && seen.Require(head, c) != nil {
		err = workChangedError(rec)
	}
	return err
}

func workChangedError(rec journal.Record) error {
	return &croft.Error{
		Code: croft.WorkChanged, Message: "the workspace has other work than what was seen", Details: "Nothing was committed or submitted.",
		Hint: "croft diff " + shellword.Quote(rec.Workspace.Name),
	}
}

// DefaultMessage returns the message of commits for which nobody gave one.
func DefaultMessage(r *project.Project, rec journal.Record) string {
	return FillIn(commitMessage(r, rec), rec.Workspace)
}

// commitMessage returns the template for the commit messages of a workspace.
func commitMessage(r *project.Project, rec journal.Record) string {
	l, err := layout.Preset(cmp.Or(rec.Workspace.Layout, r.Config.Layout))
	if err == nil && l.Message != "" {
		return l.Message
	}
	return r.Config.Commit.Message
}

// FillIn replaces {branch}, {target}, {name}, {id}, {role} and {session} in the template
// of a message. All else stays.
func FillIn(template string, w croft.Workspace) string {
	return strings.NewReplacer(
		"{branch}", w.Branch, "{target}", w.Target, "{name}", w.Name, "{id}", string(w.ID), "{role}", w.Role, "{session}", w.Session,
	).Replace(template)
}

// WithTrailer returns a message with a trailer such as "Key: value" at its end.
func WithTrailer(message, key, value string) string {
	message = strings.TrimRight(message, "\n")
	last := message[strings.LastIndexByte(message, '\n')+1:]
	if word, _, ok := strings.Cut(last, ": "); !ok || strings.ContainsAny(word, " \t") || !strings.Contains(message, "\n") {
		message += "\n"
	}
	return message + "\n" + key + ": " + value + "\n"
}
