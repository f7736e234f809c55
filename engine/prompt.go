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

func (e *Engine) prompt(ctx context.Context, s standing, rec journal.Record, _ croft.WorkspaceRequest) (*croft.Prompt, error) {
	w := rec.Workspace
	if w.Session == "" || rec.Home == "" {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: "the workspace belongs to no round", Hint: "croft round start"}
	}
	p := &croft.Prompt{Branch: w.Branch, Archive: filepath.Join(rec.Home, archiveDir)}
	if dir := s.scratchOf(w); dir != "" {
		p.Scratch = filepath.Base(dir)
	}
	ses, err := e.journal.Session(ctx, croft.ID(w.Session))
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		return nil, err
	}
	all, err := e.liveBranches(ctx, s.repo, &ses)
	if err != nil {
		return nil, err
	}
	seen := seenFrom(all, w.ID)
	p.Others, p.Earlier = seen.others, seen.earlier
	p.HeldBack = heldBefore(&ses, s.id)
	p.Text, p.Restart = promptText(p, seen), restartText(p, seen)
	return p, e.elsewhere(ctx, &ses, w, p)
}

// liveBranch is a branch of a session that is still there.
type liveBranch struct {
	journal.Seat
	round int
	name  string
}

// liveBranches lists the branches of a session's rounds that are there in a
// repository, newest round first.
func (e *Engine) liveBranches(ctx context.Context, r *repo, ses *journal.Session) ([]liveBranch, error) {
	var out []liveBranch
	for _, t := range slices.Backward(ses.Turns) {
		for _, seat := range t.Seats {
			if seat.Repo != r.id || seat.Workspace == "" || t.Starting {
				continue
			}
			rec, err := e.journal.Record(ctx, seat.Workspace)
			if errors.Is(err, journal.ErrNotFound) || err == nil && rec.Workspace.Branch == "" {
				continue
			}
			if err != nil {
				return nil, err
			}
			_, err = r.git.ReadRef(ctx, "refs/heads/"+rec.Workspace.Branch)
			if errors.Is(err, git.ErrNoRef) {
				continue
			}
			if err != nil {
				return nil, err
			}
			out = append(out, liveBranch{seat, t.Number, rec.Workspace.Branch})
		}
	}
	return out, nil
}

// seenBranches are the branches that an agent is told of. Others and earlier
// say which is whose newest; working and finished are the same branches as the
// agent may see them: its own earlier ones are finished work among the finished
// work of the others, so that it cannot tell which of them was its own.
type seenBranches struct {
	others, earlier, working, finished map[string]string
}

// seenFrom sorts the branches of a session for the reader of one workspace.
func seenFrom(all []liveBranch, reader croft.ID) seenBranches {
	seen := seenBranches{map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}}
	known := map[string]bool{}
	for _, b := range all {
		if b.Workspace == reader {
			known[b.Agent] = true
		}
	}
	for _, b := range all {
		if b.Workspace == reader {
			continue
		}
		into := seen.others
		if known[b.Agent] {
			into = seen.earlier
		}
		known[b.Agent] = true
		shown := seen.working
		if b.Ended {
			shown = seen.finished
		}
		for _, m := range []map[string]string{into, shown} {
			key := b.Label
			if _, taken := m[key]; taken { // the caller gives an agent the same label again
				key = fmt.Sprintf("%s in round %d", b.Label, b.round)
			}
			m[key] = b.name
		}
	}
	return seen
}

func promptText(p *croft.Prompt, seen seenBranches) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Your work is on branch `%s`. All changes are auto-committed when your turn ends.\n", p.Branch)
	b.WriteString("Files that look like secrets (`.env`, `*.key`, `*.pem` and their like) are not: they are put aside, and named.\n")
	list(&b, "\nOther agents' branches:\n", seen.working)
	list(&b, "\nFinished work of all agents, by branch:\n", seen.finished)
	listHeld(&b, p)
	if p.Scratch != "" {
		fmt.Fprintf(&b, "\nUse `%s/` for experiments and notes. Git ignores it, and it is kept for later rounds.\n", p.Scratch)
	}
	fmt.Fprintf(&b, "Check `%s/` for experiments from prior rounds: `%s`.\n", archiveDir, p.Archive)
	return b.String()
}

func restartText(p *croft.Prompt, seen seenBranches) string {
	var b strings.Builder
	fmt.Fprintf(&b, "You start again, on the fresh branch `%s`.\n", p.Branch)
	list(&b, "Compare with other agents' branches (`git diff <branch>`):\n", seen.working)
	list(&b, "Finished work of all agents, by branch:\n", seen.finished)
	listHeld(&b, p)
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
