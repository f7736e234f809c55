package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
)

// work is what a workspace holds beside its commits, sorted by what is to be
// done with it.
type work struct {
	paths    []string // to be committed as they are on disk
	heldBack []string // not to be committed unasked
}

// findWork looks for uncommitted work and for what stands against committing
// it.
func (e *Engine) findWork(ctx context.Context, r *repo, rec journal.Record) (work, error) {
	tree := r.trees.At(specOf(rec))
	var w work
	var conflicted []string
	for entry, err := range tree.Status(ctx, git.UntrackedAll, git.RefreshNothing) {
		switch {
		case err != nil:
			return w, err
		case entry.Conflicted:
			conflicted = append(conflicted, entry.Path)
			w.paths = append(w.paths, entry.Path)
		case !entry.Untracked():
			w.paths = append(w.paths, entry.Path)
		case entry.Path == stateFile || rec.Placed(entry.Path):
		case holdsBack(r.cfg.Commit, tree.Path, entry.Path):
			w.heldBack = append(w.heldBack, entry.Path)
		default:
			w.paths = append(w.paths, entry.Path)
		}
	}
	if what := tree.Progress(); what != "" && what != "merge" {
		return w, &croft.Error{
			Code: croft.InProgress, Message: fmt.Sprintf("a %s is in progress in the workspace", what), Details: tree.Path,
			Hint: fmt.Sprintf("git -C %s %s --continue", tree.Path, what),
		}
	}
	unresolved, err := tree.Unresolved(conflicted)
	if err == nil && len(unresolved) > 0 {
		err = &croft.Error{
			Code: croft.InProgress, Message: count(len(unresolved), "file") + " still in conflict", Details: strings.Join(unresolved, "\n"),
			Hint: "resolve the conflicts, then croft merge " + rec.Workspace.Name,
		}
	}
	return w, err
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// holdsBack reports whether an untracked file is nothing to be committed
// unasked: a repository of its own, a large file, or what looks like a secret.
func holdsBack(cfg config.Commit, dir, name string) bool {
	if strings.HasSuffix(name, "/") {
		return true
	}
	base := path.Base(name)
	for _, pattern := range cfg.HoldBack {
		if ok, err := path.Match(pattern, base); ok || err != nil && pattern == base {
			return true
		}
	}
	info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name)))
	return err == nil && cfg.MaxBytes > 0 && info.Size() > cfg.MaxBytes
}

// commitWork commits what is uncommitted in a workspace that is as it was left,
// and returns its head.
func (e *Engine) commitWork(ctx context.Context, r *repo, rec journal.Record, message string) (head string, heldBack []string, err error) {
	return e.commitWorkAt(ctx, r, rec, message, e.opts.Now())
}

// commitWorkAt is commitWork at a time that the caller chose.
func (e *Engine) commitWorkAt(ctx context.Context, r *repo, rec journal.Record, message string, now time.Time) (head string, heldBack []string, err error) {
	if rec.Workspace.State != croft.Ready {
		return "", nil, &croft.Error{Code: croft.WorkspaceBroken, Message: "the workspace is not ready: it is " + string(rec.Workspace.State), Hint: "croft doctor"}
	}
	if h := r.trees.Health(specOf(rec)); h != checkout.Intact {
		return "", nil, broken(rec, h)
	}
	if err := e.trust(ctx, r, rec); err != nil {
		return "", nil, err
	}
	found, err := e.findWork(ctx, r, rec)
	if err != nil {
		return "", nil, err
	}
	if err := e.requireBranch(ctx, r, rec); err != nil {
		return "", nil, err
	}
	tree := r.trees.At(specOf(rec))
	if len(found.paths) == 0 && tree.Progress() == "" {
		_, head, err = tree.Head(ctx)
		return head, found.heldBack, err
	}
	id, err := r.git.Identity(ctx)
	if err != nil {
		return "", nil, err
	}
	text := cmp.Or(message, fillIn(r.commitMessage(rec), rec.Workspace))
	head, err = tree.CommitWork(ctx, git.Work{Branch: rec.Workspace.Branch, Paths: found.paths, Identity: id, Commit: git.Commit{
		Signature: git.At(id.Committer, now), Author: git.At(id.Author, now), Message: withTrailer(text, "Croft-Workspace", string(rec.Workspace.ID)),
	}})
	if errors.Is(err, git.ErrIndexLocked) {
		err = &croft.Error{Code: croft.WorkspaceBusy, Message: "a git is at work in the workspace", Details: filepath.Join(tree.Admin, "index.lock")}
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
