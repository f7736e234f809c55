package work

import (
	"context"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// Uncommitted lists the changes in a checkout that are not committed, sorted by what a
// commit does with them.
type Uncommitted struct {
	paths      []string // to be committed as they are on disk
	gone       []string // to be committed as deleted
	unstage    []string // staged, and not to be committed
	HeldBack   []string // not to be committed unasked, staged or not
	conflicted []string
	staged     []string // of all of these, those that differ in the index from HEAD
	isStaged   bool     // there are staged changes, to be committed as they are staged
}

// HasWork reports whether a commit of the work may differ from HEAD.
func (w Uncommitted) HasWork() bool {
	return len(w.paths) > 0 || len(w.gone) > 0 || len(w.unstage) > 0 || w.isStaged
}

// Request returns the changes in the form that git.Worktree commits.
func (w Uncommitted) Request() git.Work {
	return git.Work{Paths: w.paths, Gone: w.gone, Without: w.unstage}
}

// LargeFiles says whether untracked files of more than commit.max_bytes are committed. A
// large file that is staged or tracked always is.
type LargeFiles string

// The values of LargeFiles.
const (
	HoldLarge   LargeFiles = ""       // not committed: they would stay in the target's history
	CommitLarge LargeFiles = "commit" // committed: the branch is private, and the checkout is not kept
)

// SortUncommitted finds and sorts all uncommitted changes in a checkout. It leaves out
// the files that Croft put into a workspace, changed or not, as long as they are untracked
// or git was told not to compare them; one that the agent staged is committed. For the
// project's own checkout rec is empty.
//
// Apart from the files that are held back, the result is what "git add --all" would
// stage. So a file that differs from HEAD only in the index is committed as it is
// staged: a file that was removed from the index, and is ignored since, stays removed.
func SortUncommitted(ctx context.Context, r *project.Project, tree *git.Worktree, rec journal.Record, large LargeFiles) (Uncommitted, error) {
	return SortStatus(ctx, r, tree, rec, large, tree.Status(ctx, git.UntrackedAll, git.RefreshNothing))
}

// SortStatus is [SortUncommitted] of a status that lists all untracked files.
func SortStatus(ctx context.Context, r *project.Project, tree *git.Worktree, rec journal.Record, large LargeFiles, status iter.Seq2[odb.StatusEntry, error]) (Uncommitted, error) {
	var w Uncommitted
	patterns, most := r.Config.Commit.HoldBackPatterns(), r.Config.Commit.MaxBytes
	if large == CommitLarge {
		most = 0
	}
	for entry, err := range status {
		if err != nil {
			return w, err
		}
		if entry.Index != '.' && !entry.IsUntracked() {
			w.staged = append(w.staged, entry.Path)
		}
		switch {
		case entry.Conflicted:
			w.conflicted = append(w.conflicted, entry.Path)
			w.paths = append(w.paths, entry.Path)
		case entry.IsUntracked() && rec.Workspace.ID != "" && (entry.Path == project.StateFile || rec.IsPlaced(entry.Path)):
		case entry.Hidden:
			if !rec.IsPlaced(entry.Path) {
				w.HeldBack = append(w.HeldBack, entry.Path)
			}
		case entry.Work == 'D':
			w.gone = append(w.gone, entry.Path)
		case (entry.Work == 'T' || entry.Work == 'A') && isDir(tree.Path, entry.Path):
			// A repository lies at the path of a tracked or an added file.
			w.HeldBack = append(w.HeldBack, entry.Path+"/")
			if entry.Work == 'A' {
				w.unstage = append(w.unstage, entry.Path)
			}
			w.isStaged = w.isStaged || entry.Index != '.'
		case entry.IsUntracked() && (isSecretName(patterns, entry.Path) || isNestedOrLarge(tree.Path, entry.Path, most)):
			w.HeldBack = append(w.HeldBack, entry.Path)
		case entry.IsAdded() && isSecretName(patterns, entry.Path):
			merged, err := tree.IsMergedIn(ctx, entry.Path)
			if err != nil {
				return w, err
			}
			if merged { // a commit without the file would delete it from the branch that is merged
				w.addEntry(entry)
				break
			}
			w.HeldBack = append(w.HeldBack, entry.Path)
			w.unstage = append(w.unstage, entry.Path)
		default:
			w.addEntry(entry)
		}
	}
	return w, nil
}

// HeldBack returns a function that reports whether Croft leaves a change in a checkout at dir out of commits, as far as
// its kind and path tell: it is false for a secret that is staged.
func HeldBack(r *project.Project) func(dir string, c checkout.Change) bool {
	patterns, most := r.Config.Commit.HoldBackPatterns(), r.Config.Commit.MaxBytes
	return func(dir string, c checkout.Change) bool {
		switch c.Kind {
		case checkout.Hidden:
			return true
		case checkout.Untracked:
			return isSecretName(patterns, c.Path) || isNestedOrLarge(dir, c.Path, most)
		}
		return false
	}
}

func (w *Uncommitted) addEntry(entry odb.StatusEntry) {
	if entry.Work == '.' {
		w.isStaged = true
		return
	}
	w.paths = append(w.paths, entry.Path)
}

// isNestedOrLarge reports whether an untracked path is a repository of its own, or a
// file with more than most bytes. If most is zero, no file is large.
func isNestedOrLarge(dir, name string, most int64) bool {
	if strings.HasSuffix(name, "/") {
		return true
	}
	info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name)))
	return err == nil && most > 0 && info.Size() > most
}

func isDir(dir, name string) bool {
	info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name)))
	return err == nil && info.IsDir()
}

// isSecretName reports whether the last pattern that matches a path says that it is a
// secret; a pattern that begins with "!" says that it is none. A pattern with slashes
// is compared with as many of the last components of the path as it has itself. Case
// does not matter.
func isSecretName(patterns []string, name string) bool {
	parts := strings.Split(strings.ToLower(name), "/")
	secret := false
	for _, pattern := range patterns {
		pattern, isException := strings.CutPrefix(strings.ToLower(pattern), "!")
		n := strings.Count(pattern, "/") + 1
		if n > len(parts) || isException != secret {
			continue // the pattern cannot match, or a match would change nothing
		}
		tail := strings.Join(parts[len(parts)-n:], "/")
		if ok, err := path.Match(pattern, tail); ok || err != nil && pattern == tail {
			secret = !isException
		}
	}
	return secret
}
