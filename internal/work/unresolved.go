package work

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
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
	var lines, toAdd []string
	why, err := unresolvedFiles(ctx, tree, rec, nil)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, name := range conflicted {
		seen[name] = true
		left := why[name]
		if left == "" {
			left = "not added"
			toAdd = append(toAdd, name)
		}
		lines = append(lines, name+" ("+left+")")
	}
	found, err := UnresolvedFiles(ctx, tree, rec, seen)
	if err != nil {
		return err
	}
	lines = append(lines, found...)
	if len(lines) == 0 {
		return nil
	}
	left := &croft.Error{
		Code: croft.InProgress, Message: project.Count(len(lines), "file") + " still in conflict: resolve, git add and merge again", Details: strings.Join(lines, "\n"),
		Hint: "croft sh " + shellword.Quote(rec.Workspace.Name),
	}
	if len(toAdd) == len(lines) { // that is all that is left
		left.Hint = "git -C " + shellword.Quote(filepath.ToSlash(tree.Path))
		if slices.ContainsFunc(toAdd, func(name string) bool { return strings.HasPrefix(name, ":") || strings.ContainsAny(name, `*?[\`) }) {
			left.Hint += " --literal-pathspecs" // git would add others, too
		}
		left.Hint += " add --"
		for _, name := range toAdd {
			left.Hint += " " + shellword.Quote(name)
		}
	}
	return left
}

// resolveWritten takes the files for resolved that a recorded merge left in conflict, and that were written or
// deleted since and have no markers of it.
func (w *Uncommitted) resolveWritten(ctx context.Context, tree *git.Worktree, rec journal.Record) error {
	if rec.Resolving == nil || len(w.conflicted) == 0 {
		return nil
	}
	unresolved, err := unresolvedFiles(ctx, tree, rec, nil)
	if err != nil {
		return err
	}
	noted := map[string]bool{}
	for _, f := range rec.Resolving.Files {
		noted[f.Path] = unresolved[f.Path] == ""
	}
	w.conflicted = slices.DeleteFunc(w.conflicted, func(name string) bool {
		if !noted[name] {
			return false
		}
		if _, err := os.Lstat(filepath.Join(tree.Path, filepath.FromSlash(name))); errors.Is(err, fs.ErrNotExist) {
			w.paths = slices.DeleteFunc(w.paths, func(path string) bool { return path == name })
			w.gone = append(w.gone, name)
		}
		return true
	})
	return nil
}

// UnresolvedFiles lists the recorded conflict files that have conflict markers or are
// as the merge left them, except those in seen.
func UnresolvedFiles(ctx context.Context, tree *git.Worktree, rec journal.Record, seen map[string]bool) ([]string, error) {
	why, err := unresolvedFiles(ctx, tree, rec, seen)
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(why)) {
		lines = append(lines, name+" ("+why[name]+")")
	}
	return lines, err
}

// unresolvedFiles returns the same, with the reason of each.
func unresolvedFiles(ctx context.Context, tree *git.Worktree, rec journal.Record, seen map[string]bool) (map[string]string, error) {
	if rec.Resolving == nil {
		return nil, nil
	}
	if in, err := tree.IsMergeConcluded(ctx, rec.Resolving.Commit); err != nil || !in {
		return nil, err // the agent aborted the merge
	}
	why := map[string]string{}
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
			why[f.Path] = "has conflict markers"
			continue
		}
		same, err := tree.IsUntouched(f)
		if err != nil {
			return nil, err
		}
		if same {
			why[f.Path] = "as the merge left it; if it is to stay so: touch it"
		}
	}
	return why, nil
}
