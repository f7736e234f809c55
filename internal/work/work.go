// Package work finds and commits what an agent has left uncommitted in a workspace.
//
// It owns the rule of what is committed: what git add -A would take, less what looks like
// a secret, large files unless they were asked for, and files that Croft put there itself.
// Files that are held back are named, never dropped. It also owns the examination of files
// after a restart of the machine: files that a crash may have emptied are not committed
// unasked.
//
// It reads a workspace and writes commits on its branch; it never writes its files.
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
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/project"
)

// Commits finds and commits work.
type Commits struct {
	*project.Projects
}

// FindUncommitted looks for uncommitted work and for what stands against committing
// it.
func (svc *Commits) FindUncommitted(ctx context.Context, r *project.Project, rec journal.Record, large LargeFiles) (Uncommitted, error) {
	tree := r.Trees.At(project.SpecOf(rec))
	w, err := Sort(ctx, r, tree, rec, large)
	if err != nil {
		return w, err
	}
	if what := tree.Progress(); what != "" && what != "merge" {
		return w, &croft.Error{
			Code: croft.InProgress, Message: fmt.Sprintf("a %s is in progress in the workspace", what), Details: tree.Path,
			Hint: fmt.Sprintf("git -C %s %s --continue", tree.Path, what),
		}
	}
	return w, svc.refuseUnresolved(ctx, tree, rec, w.conflicted)
}

// Commit commits what is uncommitted in a workspace that is as it was left,
// and returns its head.
func (svc *Commits) Commit(ctx context.Context, r *project.Project, rec journal.Record, message string) (head string, heldBack []string, err error) {
	return svc.CommitAs(ctx, r, rec, CommitSpec{message: message, When: svc.Clock()})
}

// CommitSpec says how work is committed.
type CommitSpec struct {
	message string // empty: that of the template
	When    time.Time
	Large   LargeFiles
}

// CommitAs is Commit as the caller chose.
func (svc *Commits) CommitAs(ctx context.Context, r *project.Project, rec journal.Record, as CommitSpec) (head string, heldBack []string, err error) {
	head, heldBack, err = svc.commitFound(ctx, r, rec, as)
	if err == nil && rec.Resolving != nil {
		err = svc.noteResolved(ctx, rec.Workspace.ID)
	}
	return head, heldBack, svc.Vanished(ctx, rec, err)
}

func (svc *Commits) commitFound(ctx context.Context, r *project.Project, rec journal.Record, as CommitSpec) (head string, heldBack []string, err error) {
	if rec.Workspace.State != croft.Ready {
		return "", nil, project.NotReady(croft.WorkspaceBroken, rec)
	}
	if h := r.Trees.Health(project.SpecOf(rec)); h != checkout.Intact {
		return "", nil, r.BrokenNow(ctx, rec, h)
	}
	if err := svc.RequireVerified(ctx, r, rec); err != nil {
		return "", nil, err
	}
	if err := r.Git.CheckConfig(); err != nil {
		return "", nil, err
	}
	found, err := svc.FindUncommitted(ctx, r, rec, as.Large)
	if err != nil {
		return "", nil, err
	}
	if err := svc.RequireBranch(ctx, r, rec); err != nil {
		return "", nil, err
	}
	tree := r.Trees.At(project.SpecOf(rec))
	if !found.IsSomething() && tree.Progress() == "" {
		_, head, err = tree.Head(ctx)
		return head, found.HeldBack, err
	}
	id, err := r.Git.Identity(ctx)
	if err != nil {
		return "", nil, err
	}
	text := cmp.Or(as.message, FillIn(commitMessage(r, rec), rec.Workspace))
	work := found.Request()
	work.Branch, work.Identity = rec.Workspace.Branch, id
	work.Commit = object.Commit{
		Signature: object.Signature(id.Committer, as.When), Author: object.Signature(id.Author, as.When), Message: WithTrailer(text, "Croft-Workspace", string(rec.Workspace.ID)),
	}
	head, err = tree.CommitWork(ctx, work)
	if errors.Is(err, gitcmd.KindRefStale) {
		err = project.BranchMovesError(rec.Workspace.Branch, err)
	}
	return head, found.HeldBack, project.ExplainBranch(rec, err)
}

// commitMessage is the template of the messages of a workspace's commits.
func commitMessage(r *project.Project, rec journal.Record) string {
	l, err := layout.Preset(cmp.Or(rec.Workspace.Layout, r.Config.Layout))
	if err == nil && l.Message != "" {
		return l.Message
	}
	return r.Config.Commit.Message
}

// FillIn replaces the placeholders of a message's template.
func FillIn(template string, w croft.Workspace) string {
	return strings.NewReplacer(
		"{branch}", w.Branch, "{target}", w.Target, "{name}", w.Name, "{id}", string(w.ID), "{role}", w.Role, "{session}", w.Session,
	).Replace(template)
}

// WithTrailer adds a line such as "Key: value" at a message's end.
func WithTrailer(message, key, value string) string {
	message = strings.TrimRight(message, "\n")
	last := message[strings.LastIndexByte(message, '\n')+1:]
	if word, _, ok := strings.Cut(last, ": "); !ok || strings.ContainsAny(word, " \t") || !strings.Contains(message, "\n") {
		message += "\n"
	}
	return message + "\n" + key + ": " + value + "\n"
}
