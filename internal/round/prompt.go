package round

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/workspace"
)

// PromptFor describes to the agent of a round where it is, and what other agents have
// done.
func (svc *Rounds) PromptFor(ctx context.Context, s project.Location, rec journal.Record, _ croft.WorkspaceRequest) (*croft.Prompt, error) {
	w := rec.Workspace
	if w.Session == "" || rec.Home == "" {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: "the workspace belongs to no round", Hint: "croft round start"}
	}
	p := &croft.Prompt{Branch: w.Branch, Archive: filepath.Join(rec.Home, workspace.ArchiveDir)}
	if dir := s.ScratchOf(w); dir != "" {
		p.Scratch = filepath.Base(dir)
	}
	ses, err := svc.Journal.Session(ctx, croft.ID(w.Session))
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		return nil, err
	}
	all, err := svc.liveBranches(ctx, s.Project, &ses)
	if err != nil {
		return nil, err
	}
	seen := branchesSeenFrom(all, w.ID)
	p.Others, p.Earlier = seen.others, seen.earlier
	p.HeldBack = heldBackBefore(&ses, s.ID)
	p.Text, p.Restart = promptText(p, seen), restartText(p, seen)
	return p, svc.describeOtherRepos(ctx, &ses, w, p)
}

// liveBranch is an existing branch of a session.
type liveBranch struct {
	journal.RoundWorkspace
	round int
	Name  string
}

// liveBranches lists the branches of a session's rounds that exist in a repository,
// newest round first.
func (svc *Rounds) liveBranches(ctx context.Context, r *project.Project, ses *journal.Session) ([]liveBranch, error) {
	var out []liveBranch
	for _, t := range slices.Backward(ses.Rounds) {
		for _, seat := range t.Workspaces {
			if seat.Repo != r.ID || seat.Workspace == "" || t.Starting {
				continue
			}
			rec, err := svc.Journal.Record(ctx, seat.Workspace)
			if errors.Is(err, journal.ErrNotFound) || err == nil && rec.Workspace.Branch == "" {
				continue
			}
			if err != nil {
				return nil, err
			}
			_, err = r.Git.ReadRef(ctx, "refs/heads/"+rec.Workspace.Branch)
			if errors.Is(err, refs.ErrNoRef) {
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

// seenBranches are the branches that an agent is told of. others has the newest branch
// of each other agent, and earlier all older ones. working and finished are the same
// branches as the agent may see them: its own earlier ones are among the finished work
// of all agents, so that it cannot tell them apart.
type seenBranches struct {
	others, earlier, working, finished map[string]string
}

// branchesSeenFrom sorts the branches of a session for the agent of the workspace
// reader.
func branchesSeenFrom(all []liveBranch, reader croft.ID) seenBranches {
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
			if _, taken := m[key]; taken { // the caller gave the agent the same label again
				key = fmt.Sprintf("%s in round %d", b.Label, b.round)
			}
			m[key] = b.Name
		}
	}
	return seen
}

func promptText(p *croft.Prompt, seen seenBranches) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Your work is on branch `%s`. All changes are auto-committed when your turn ends.\n", p.Branch)
	b.WriteString("Files that look like secrets (`.env`, `*.key`, `*.pem` and their like) are not: they are put aside, and named.\n")
	listBranches(&b, "\nOther agents' branches:\n", seen.working)
	listBranches(&b, "\nFinished work of all agents, by branch:\n", seen.finished)
	listHeld(&b, p)
	if p.Scratch != "" {
		fmt.Fprintf(&b, "\nUse `%s/` for experiments and notes. Git ignores it, and it is kept for later rounds.\n", p.Scratch)
	}
	fmt.Fprintf(&b, "Check `%s/` for experiments from prior rounds: `%s`.\n", workspace.ArchiveDir, p.Archive)
	return b.String()
}

func restartText(p *croft.Prompt, seen seenBranches) string {
	var b strings.Builder
	fmt.Fprintf(&b, "You start again, on the fresh branch `%s`.\n", p.Branch)
	listBranches(&b, "Compare with other agents' branches (`git diff <branch>`):\n", seen.working)
	listBranches(&b, "Finished work of all agents, by branch:\n", seen.finished)
	listHeld(&b, p)
	return b.String()
}

// listBranches writes a title and the branches by their labels, if there are any.
func listBranches(b *strings.Builder, title string, branches map[string]string) {
	if len(branches) == 0 {
		return
	}
	b.WriteString(title)
	for _, label := range slices.Sorted(maps.Keys(branches)) {
		fmt.Fprintf(b, "- %s: `%s`\n", label, branches[label])
	}
}

// describeOtherRepos adds to a prompt the checkouts of the session's other repositories
// that the agent of a workspace has.
func (svc *Rounds) describeOtherRepos(ctx context.Context, ses *journal.Session, own croft.Workspace, p *croft.Prompt) error {
	for _, seat := range otherSeats(ses, own.ID) {
		rec, err := svc.Journal.Record(ctx, seat.Workspace)
		if errors.Is(err, journal.ErrNotFound) || err == nil && rec.Workspace.State == croft.Trashed {
			continue
		}
		if err != nil {
			return err
		}
		r, err := svc.ByID(ctx, seat.Repo)
		if err != nil {
			return err
		}
		if r.Git == nil || rec.Workspace.Branch == "" {
			continue
		}
		all, err := svc.liveBranches(ctx, r, ses)
		if err != nil {
			return err
		}
		seen := branchesSeenFrom(all, seat.Workspace)
		p.Elsewhere = append(p.Elsewhere, croft.PromptCheckout{Path: rec.Workspace.Path, Branch: rec.Workspace.Branch, Others: seen.others, Earlier: seen.earlier})
		var b strings.Builder
		fmt.Fprintf(&b, "\nIn `%s` you work on branch `%s`.\n", rec.Workspace.Path, rec.Workspace.Branch)
		listBranches(&b, "Other agents' branches there:\n", seen.working)
		listBranches(&b, "Finished work of all agents there, by branch:\n", seen.finished)
		p.Text += b.String()
		p.Restart += b.String()
	}
	return nil
}

// otherSeats returns the other seats that the agent of a workspace has in the same
// round.
func otherSeats(ses *journal.Session, own croft.ID) []journal.RoundWorkspace {
	var out []journal.RoundWorkspace
	for _, t := range ses.Rounds {
		for _, mine := range t.Workspaces {
			if mine.Workspace != own {
				continue
			}
			for _, seat := range t.Workspaces {
				if seat.Agent == mine.Agent && seat.Workspace != own && seat.Workspace != "" && !t.Starting {
					out = append(out, seat)
				}
			}
		}
	}
	return out
}

// mostNamed bounds how many held back files of one workspace a prompt names.
const mostNamed = 20

// heldBackBefore returns the files of one repository that were held back when rounds
// ended, those of all agents. Agents chose the names, so they are quoted.
func heldBackBefore(ses *journal.Session, repo croft.ID) map[string][]string {
	var out map[string][]string
	for _, t := range ses.Rounds {
		for _, seat := range t.Workspaces {
			if len(seat.HeldBack) == 0 || seat.Repo != repo {
				continue
			}
			var names []string
			for _, name := range seat.HeldBack {
				names = append(names, inlineName(name))
			}
			if len(names) > mostNamed {
				names = append(names[:mostNamed], fmt.Sprintf("and %d more", len(names)-mostNamed))
			}
			if out == nil {
				out = map[string][]string{}
			}
			out[fmt.Sprintf("%s in round %d", seat.Label, t.Number)] = names
		}
	}
	return out
}

// inlineName returns a name so that it can stand between backquotes in a line of text.
func inlineName(name string) string {
	const longest = 200
	text := strings.Trim(strconv.Quote(name), `"`)
	text = strings.ReplaceAll(text, "`", `\x60`)
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest]) + "..."
	}
	return text
}

// listHeld writes which files of earlier rounds were not committed.
func listHeld(b *strings.Builder, p *croft.Prompt) {
	if len(p.HeldBack) == 0 {
		return
	}
	b.WriteString("\nFiles of earlier rounds that were not committed, and that you cannot see:\n")
	for _, label := range slices.Sorted(maps.Keys(p.HeldBack)) {
		fmt.Fprintf(b, "- %s: `%s`\n", label, strings.Join(p.HeldBack[label], "`, `"))
	}
}
