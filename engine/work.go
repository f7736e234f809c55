package engine

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
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
)

// findWork looks for uncommitted work and for what stands against committing
// it.
func (e *Engine) findWork(ctx context.Context, r *repo, rec journal.Record, large largeFiles) (work, error) {
	tree := r.trees.At(specOf(rec))
	w, err := r.sortWork(ctx, tree, rec, large)
	if err != nil {
		return w, err
	}
	if what := tree.Progress(); what != "" && what != "merge" {
		return w, &croft.Error{
			Code: croft.InProgress, Message: fmt.Sprintf("a %s is in progress in the workspace", what), Details: tree.Path,
			Hint: fmt.Sprintf("git -C %s %s --continue", tree.Path, what),
		}
	}
	return w, e.unresolved(ctx, tree, rec, w.conflicted)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// commitWork commits what is uncommitted in a workspace that is as it was left,
// and returns its head.
func (e *Engine) commitWork(ctx context.Context, r *repo, rec journal.Record, message string) (head string, heldBack []string, err error) {
	return e.commitWorkAs(ctx, r, rec, commitAs{message: message, when: e.opts.Now()})
}

// commitAs says how work is committed.
type commitAs struct {
	message string // empty: that of the template
	when    time.Time
	large   largeFiles
}

// commitWorkAs is commitWork as the caller chose.
func (e *Engine) commitWorkAs(ctx context.Context, r *repo, rec journal.Record, as commitAs) (head string, heldBack []string, err error) {
	head, heldBack, err = e.commitFound(ctx, r, rec, as)
	if err == nil && rec.Resolving != nil {
		err = e.noteResolved(ctx, rec.Workspace.ID)
	}
	return head, heldBack, e.vanished(ctx, rec, err)
}

func (e *Engine) commitFound(ctx context.Context, r *repo, rec journal.Record, as commitAs) (head string, heldBack []string, err error) {
	if rec.Workspace.State != croft.Ready {
		return "", nil, notReady(croft.WorkspaceBroken, rec)
	}
	if h := r.trees.Health(specOf(rec)); h != checkout.Intact {
		return "", nil, r.brokenNow(ctx, rec, h)
	}
	if err := e.trust(ctx, r, rec); err != nil {
		return "", nil, err
	}
	if err := r.git.CheckConfig(); err != nil {
		return "", nil, err
	}
	found, err := e.findWork(ctx, r, rec, as.large)
	if err != nil {
		return "", nil, err
	}
	if err := e.requireBranch(ctx, r, rec); err != nil {
		return "", nil, err
	}
	tree := r.trees.At(specOf(rec))
	if !found.isSomething() && tree.Progress() == "" {
		_, head, err = tree.Head(ctx)
		return head, found.heldBack, err
	}
	id, err := r.git.Identity(ctx)
	if err != nil {
		return "", nil, err
	}
	text := cmp.Or(as.message, fillIn(r.commitMessage(rec), rec.Workspace))
	work := found.request()
	work.Branch, work.Identity = rec.Workspace.Branch, id
	work.Commit = object.Commit{
		Signature: object.Signature(id.Committer, as.when), Author: object.Signature(id.Author, as.when), Message: withTrailer(text, "Croft-Workspace", string(rec.Workspace.ID)),
	}
	head, err = tree.CommitWork(ctx, work)
	if errors.Is(err, git.KindRefStale) {
		err = moving(rec.Workspace.Branch, err)
	}
	return head, found.heldBack, explainBranch(rec, err)
}

// commitMessage is the template of the messages of a workspace's commits.
func (r *repo) commitMessage(rec journal.Record) string {
	l, err := layout.Preset(cmp.Or(rec.Workspace.Layout, r.cfg.Layout))
	if err == nil && l.Message != "" {
		return l.Message
	}
	return r.cfg.Commit.Message
}

// fillIn replaces the placeholders of a message's template.
func fillIn(template string, w croft.Workspace) string {
	return strings.NewReplacer(
		"{branch}", w.Branch, "{target}", w.Target, "{name}", w.Name, "{id}", string(w.ID), "{role}", w.Role, "{session}", w.Session,
	).Replace(template)
}

// withTrailer adds a line such as "Key: value" at a message's end.
func withTrailer(message, key, value string) string {
	message = strings.TrimRight(message, "\n")
	last := message[strings.LastIndexByte(message, '\n')+1:]
	if word, _, ok := strings.Cut(last, ": "); !ok || strings.ContainsAny(word, " \t") || !strings.Contains(message, "\n") {
		message += "\n"
	}
	return message + "\n" + key + ": " + value + "\n"
}
