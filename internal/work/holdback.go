package work

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// Uncommitted is what a checkout holds beside its commits, sorted by what is to be
// done with it.
type Uncommitted struct {
	paths      []string // to be committed as they are on disk
	gone       []string // to be committed as deleted
	unstage    []string // staged, and not to be committed
	HeldBack   []string // not to be committed unasked, staged or not
	conflicted []string
	isStaged   bool // something is, and is committed as it is staged
}

// IsSomething reports whether a commit of the work may differ from HEAD.
func (w Uncommitted) IsSomething() bool {
	return len(w.paths) > 0 || len(w.gone) > 0 || len(w.unstage) > 0 || w.isStaged
}

// Request is what git is asked to commit.
func (w Uncommitted) Request() git.Work {
	return git.Work{Paths: w.paths, Gone: w.gone, Without: w.unstage}
}

// LargeFiles says what becomes of new files that are large.
type LargeFiles string

// The values of LargeFiles.
const (
	HoldLarge   LargeFiles = ""       // they would be in the target's history for good
	CommitLarge LargeFiles = "commit" // the branch is private, and nothing else is left of the checkout
)

// Sort looks at all that is uncommitted in a checkout. What Croft itself put into a
// workspace is left out. For the project's own checkout the record is empty.
//
// Without what is held back, the result is what "git add --all" would stage. So Sort takes
// a file that differs from HEAD only in the index as it is staged: a file that was taken
// out of the index, and is ignored since, stays out.
func Sort(ctx context.Context, r *project.Project, tree *git.Worktree, rec journal.Record, large LargeFiles) (Uncommitted, error) {
	var w Uncommitted
	patterns, most := r.Config.Commit.HoldBackPatterns(), r.Config.Commit.MaxBytes
	if large == CommitLarge {
		most = 0
	}
	for entry, err := range tree.Status(ctx, git.UntrackedAll, git.RefreshNothing) {
		switch {
		case err != nil:
			return w, err
		case entry.Conflicted:
			w.conflicted = append(w.conflicted, entry.Path)
			w.paths = append(w.paths, entry.Path)
		case entry.Untracked() && rec.Workspace.ID != "" && (entry.Path == project.StateFile || rec.Placed(entry.Path)):
		case entry.Hidden:
			if !rec.Placed(entry.Path) {
				w.HeldBack = append(w.HeldBack, entry.Path)
			}
		case entry.Work == 'D':
			w.gone = append(w.gone, entry.Path)
		case (entry.Work == 'T' || entry.Work == 'A') && isDir(tree.Path, entry.Path):
			// A repository lies where a file was, or was going to be.
			w.HeldBack = append(w.HeldBack, entry.Path+"/")
			if entry.Work == 'A' {
				w.unstage = append(w.unstage, entry.Path)
			}
			w.isStaged = w.isStaged || entry.Index != '.'
		case entry.Untracked() && (looksSecret(patterns, entry.Path) || isNestedOrLarge(tree.Path, entry.Path, most)):
			w.HeldBack = append(w.HeldBack, entry.Path)
		case entry.Added() && looksSecret(patterns, entry.Path):
			merged, err := tree.IsMergedIn(ctx, entry.Path)
			if err != nil {
				return w, err
			}
			if merged { // to leave it out would delete it from what is merged
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

func (w *Uncommitted) addEntry(entry odb.StatusEntry) {
	if entry.Work == '.' {
		w.isStaged = true
		return
	}
	w.paths = append(w.paths, entry.Path)
}

// isNestedOrLarge reports whether an untracked path is a repository of its own, or a large
// file; zero means that none is.
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

// looksSecret reports whether the last of the patterns that match a path says
// that it is a secret; one that begins with "!" says that it is none. A pattern
// with a slash is compared with as many of the last parts of the path as it has
// itself. Upper and lower case are the same.
func looksSecret(patterns []string, name string) bool {
	parts := strings.Split(strings.ToLower(name), "/")
	secret := false
	for _, pattern := range patterns {
		pattern, isException := strings.CutPrefix(strings.ToLower(pattern), "!")
		n := strings.Count(pattern, "/") + 1
		if n > len(parts) || isException != secret {
			continue // it cannot match, or it would change nothing
		}
		tail := strings.Join(parts[len(parts)-n:], "/")
		if ok, err := path.Match(pattern, tail); ok || err != nil && pattern == tail {
			secret = !isException
		}
	}
	return secret
}
