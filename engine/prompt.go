package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
)

// Prompt describes a workspace to its agent.
func (e *Engine) Prompt(ctx context.Context, req croft.WorkspaceRequest) (*croft.Prompt, error) {
	p, err := e.prompt(ctx, req)
	return p, explain("prompt", req.Ref, err)
}

func (e *Engine) prompt(ctx context.Context, req croft.WorkspaceRequest) (*croft.Prompt, error) {
	s, err := e.standing(ctx, req.Repo)
	if err != nil {
		return nil, err
	}
	rec, err := e.find(ctx, s, req.Ref)
	if err != nil {
		return nil, err
	}
	w := rec.Workspace
	if w.Session == "" || rec.Home == "" {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: "the workspace belongs to no round", Hint: "croft round start"}
	}
	p := &croft.Prompt{Branch: w.Branch, Others: map[string]string{}, Archive: filepath.Join(rec.Home, archiveDir)}
	if dir := s.scratchOf(w); dir != "" {
		p.Scratch = filepath.Base(dir)
	}
	ses, err := e.journal.Session(ctx, croft.ID(w.Session))
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		return nil, err
	}
	if err := e.nameBranches(ctx, s.repo, rec, &ses, p); err != nil {
		return nil, err
	}
	p.Text, p.Restart = promptText(p), restartText(p)
	return p, nil
}

// nameBranches finds the branches that the others of a round work on, and those
// of earlier rounds that are still there, everybody's: the agent cannot tell
// which of them was its own.
func (e *Engine) nameBranches(ctx context.Context, r *repo, rec journal.Record, ses *journal.Session, p *croft.Prompt) error {
	for _, t := range ses.Turns {
		for _, seat := range t.Seats {
			if seat.Repo != r.id || seat.Workspace == rec.Workspace.ID || seat.Workspace == "" || t.Starting {
				continue
			}
			other, err := e.journal.Record(ctx, seat.Workspace)
			if errors.Is(err, journal.ErrNotFound) || err == nil && other.Workspace.Branch == "" {
				continue
			}
			if err != nil {
				return err
			}
			if _, err := r.git.ReadRef(ctx, "refs/heads/"+other.Workspace.Branch); errors.Is(err, git.ErrNoRef) {
				continue
			} else if err != nil {
				return err
			}
			if t.Number == rec.Workspace.Round {
				p.Others[seat.Label] = other.Workspace.Branch
				continue
			}
			if p.Earlier == nil {
				p.Earlier = map[string]string{}
			}
			p.Earlier[fmt.Sprintf("%s in round %d", seat.Label, t.Number)] = other.Workspace.Branch
		}
	}
	return nil
}

func promptText(p *croft.Prompt) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Your work is on branch `%s`. All changes are auto-committed when your turn ends.\n", p.Branch)
	list(&b, "\nOther agents' branches:\n", p.Others)
	list(&b, "\nBranches of earlier rounds:\n", p.Earlier)
	if p.Scratch != "" {
		fmt.Fprintf(&b, "\nUse `%s/` for experiments and notes. Git ignores it, and it is kept for later rounds.\n", p.Scratch)
	}
	fmt.Fprintf(&b, "Check `%s/` for experiments from prior rounds: `%s`.\n", archiveDir, p.Archive)
	return b.String()
}

func restartText(p *croft.Prompt) string {
	var b strings.Builder
	fmt.Fprintf(&b, "You start again, on the fresh branch `%s`.\n", p.Branch)
	list(&b, "Compare with other agents' branches (`git diff <branch>`):\n", p.Others)
	list(&b, "What is left of earlier rounds:\n", p.Earlier)
	return b.String()
}

// list writes branches by their labels, if there are any.
func list(b *strings.Builder, title string, branches map[string]string) {
	if len(branches) == 0 {
		return
	}
	b.WriteString(title)
	for _, label := range slices.Sorted(maps.Keys(branches)) {
		fmt.Fprintf(b, "- %s: `%s`\n", label, branches[label])
	}
}
