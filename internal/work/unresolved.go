package work

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// NoteConflicts records in a workspace's record the files that a merge of its target
// has left in conflict, or that there are none.
func (svc *Commits) NoteConflicts(ctx context.Context, r *project.Project, id croft.ID, tip, head string, paths []string) error {
	rec, err := svc.Journal.Record(ctx, id)
	if err != nil {
		return err
	}
	rec.Resolving = nil
	if len(paths) > 0 {
		files, err := r.Trees.At(project.SpecOf(rec)).ConflictFiles(ctx, paths, head, tip)
		if err != nil {
			return err
		}
		rec.Resolving = &journal.Resolving{Commit: tip}
		for _, f := range files {
			rec.Resolving.Files = append(rec.Resolving.Files, journal.Leftover(f))
		}
	}
	return svc.SaveRecord(ctx, &rec, nil)
}

// noteResolved deletes the note of conflicts from a workspace's record.
func (svc *Commits) noteResolved(ctx context.Context, id croft.ID) error {
	rec, err := svc.Journal.Record(ctx, id)
	if err != nil || rec.Resolving == nil {
		return err
	}
	rec.Resolving = nil
	return svc.SaveRecord(ctx, &rec, nil)
}

// refuseUnresolved fails if files are in conflict: files with several stages in the
// index, and files that are as the merge left them. An index with one stage does not
// prove that the agent resolved the file: "git add --all" stages files as a merge left
// them, with one side's content where there are no markers.
func (svc *Commits) refuseUnresolved(ctx context.Context, tree *git.Worktree, rec journal.Record, conflicted []string) error {
	var lines []string
	seen := map[string]bool{}
	for _, name := range conflicted {
		seen[name] = true
		lines = append(lines, name)
	}
	found, err := UnresolvedFiles(ctx, tree, rec, seen)
	if err != nil {
		return err
	}
	lines = append(lines, found...)
	if len(lines) == 0 {
		return nil
	}
	return &croft.Error{
		Code: croft.InProgress, Message: project.Count(len(lines), "file") + " still in conflict", Details: strings.Join(lines, "\n"),
		Hint: fmt.Sprintf("resolve them, git -C %s add FILE..., then croft merge %s", filepath.ToSlash(tree.Path), rec.Workspace.Name),
	}
}

// UnresolvedFiles lists the recorded conflict files that have conflict markers or are
// as the merge left them, except those in seen.
func UnresolvedFiles(ctx context.Context, tree *git.Worktree, rec journal.Record, seen map[string]bool) ([]string, error) {
	if rec.Resolving == nil {
		return nil, nil
	}
	if in, err := tree.IsMergeConcluded(ctx, rec.Resolving.Commit); err != nil || !in {
		return nil, err // the agent aborted the merge
	}
	var lines []string
	for _, noted := range rec.Resolving.Files {
		f := git.ConflictFile(noted)
		if seen[f.Path] {
			continue
		}
		marked, err := tree.HasMarkers(f)
		if err != nil {
			return nil, err
		}
		if marked {
			lines = append(lines, f.Path+" (has conflict markers)")
			continue
		}
		same, err := tree.IsUntouched(f)
		if err != nil {
			return nil, err
		}
		if same {
			lines = append(lines, f.Path+" (as the merge left it; if it is to stay so: touch it)")
		}
	}
	return lines, nil
}
