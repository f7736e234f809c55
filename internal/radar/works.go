package radar

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/work"
)

// SeenWork is the commit of a workspace's uncommitted work, and the stamp of the state that
// gave it.
type SeenWork struct {
	Stamp   string   `json:"stamp"`
	Commit  string   `json:"commit"`
	Parents []string `json:"parents,omitempty"` // of the commit; none if it is the head
}

// Draft is a commit of uncommitted work that is not in the repository: a forecast that knows
// all about it does without it.
type Draft struct {
	Parents []string

	once sync.Once
	make func(ctx context.Context) (commit string, err error) // nil: it is in the session
	err  error
}

// errOtherWork says that a workspace has other work by now than when its state was stamped.
var errOtherWork = errors.New("the work has changed meanwhile")

// writeTo writes the commit to the session, once. It fails with errOtherWork if the work has become another.
func (d *Draft) writeTo(ctx context.Context, commit string) error {
	d.once.Do(func() {
		if d.make == nil {
			return
		}
		if made, err := d.make(ctx); err != nil || made != commit {
			d.err = errors.Join(errOtherWork, err)
		}
	})
	return d.err
}

// Uncommitted is the work of a workspace that is not committed, as it is when it is read.
type Uncommitted struct{ of workspace }

// ReadUncommitted reads it, as statuses of many workspaces know it. It writes to the session only when the work is
// committed.
func ReadUncommitted(ctx context.Context, r *project.Project, a *mergetree.Session, rec journal.Record, statuses *git.Statuses) (Uncommitted, error) {
	w, err := readWorkspace(ctx, statuses, r, a, rec)
	return Uncommitted{w}, err
}

// Stamp returns a digest of all that the commit of the work follows from, without reading a file of it. It may be
// remembered only if it is not empty.
func (u Uncommitted) Stamp(ctx context.Context) string {
	stamp, mayRemember := u.of.stamp(ctx, time.Now())
	if !mayRemember || u.of.rec.Resolving != nil {
		return ""
	}
	return stamp
}

// Commit commits the files of the work in the session; without any it is the head of the workspace. What is being merged into
// the workspace is no parent of the commit.
func (u Uncommitted) Commit(ctx context.Context) (string, error) {
	if len(u.of.status) == 0 {
		return u.of.head, nil
	}
	return u.of.commitAs(ctx, git.MergeLeftOut)
}

// workspace is the state of a workspace, for the commit of its work.
type workspace struct {
	r       *project.Project
	session *mergetree.Session
	rec     journal.Record
	tree    *git.Worktree
	status  []odb.StatusEntry
	head    string
}

func readWorkspace(ctx context.Context, statuses *git.Statuses, r *project.Project, a *mergetree.Session, rec journal.Record) (w workspace, err error) {
	spec := project.SpecOf(rec)
	tree := r.Trees.At(spec)
	if h := r.Trees.HealthSince(spec, statuses.Untouched(tree)); h != checkout.Intact {
		return w, project.BrokenError(rec, h)
	}
	if err := failpoint.Hit("conflicts.found"); err != nil {
		return w, err
	}
	w = workspace{r: r, session: a, rec: rec, tree: tree}
	if w.status, err = statuses.Of(ctx, w.tree, git.UntrackedAll); err != nil {
		return w, err
	}
	if w.head, err = statuses.HeadOf(ctx, w.tree); w.head == "" {
		w.status = nil // nothing can be merged with work on no commit
	}
	return w, err
}

// commit commits the work in the session. The same state gives the same commit.
func (w workspace) commit(ctx context.Context) (string, error) {
	return w.commitAs(ctx, git.MergeConcluded)
}

func (w workspace) commitAs(ctx context.Context, merging git.Merging) (string, error) {
	found, err := work.SortStatus(ctx, w.r, w.tree, w.rec, work.HoldLarge, w.entries())
	if err != nil || !found.HasWork() {
		return w.head, err
	}
	req := found.Request()
	req.Merging = merging
	return w.tree.WorkCommit(ctx, w.session, req)
}

func (w workspace) entries() iter.Seq2[odb.StatusEntry, error] {
	return func(yield func(odb.StatusEntry, error) bool) {
		for _, entry := range w.status {
			if !yield(entry, nil) {
				return
			}
		}
	}
}

// stamp digests all that the commit of the work follows from, without reading a file of the work: the head, a merge in
// progress, the paths that differ, the stat data of their files, of the index, and of the attributes beside them, and
// what is held back. A file that is written with the same size and times has another ctime.
//
// The stamp may be remembered only if nothing changed so shortly before at, when it was taken, that a later change
// might leave the stat data as they are; and not if a commit follows from more: a repository within the workspace
// has a head of its own, and a filter is a program. A process that writes through memory that it has mapped is seen
// when the system next writes its pages to the disk, as it is by git.
func (w workspace) stamp(ctx context.Context, at time.Time) (stamp string, mayRemember bool) {
	s := stamper{top: w.tree.Path, at: at, sum: sha256.New(), isSettled: true, isDir: map[string]bool{}}
	fmt.Fprintf(s.sum, "%q %q %q\n", w.head, w.tree.MergeHeads(), w.tree.Progress())
	fmt.Fprintf(s.sum, "%q %d\n", w.r.Config.Commit.HoldBackPatterns(), w.r.Config.Commit.MaxBytes)
	s.add(filepath.Join(w.tree.Admin, "index"))
	dirs := map[string]bool{}
	for _, e := range w.status {
		fmt.Fprintf(s.sum, "%q %c%c %t %t %t %t\n", e.Path, e.Index, e.Work, e.Submodule, e.Conflicted, e.Hidden, w.rec.IsPlaced(e.Path))
		if e.Submodule {
			s.isSettled = false
		}
		p, isNested := strings.CutSuffix(e.Path, "/")
		if isNested {
			continue // it is held back, whatever it is
		}
		s.addBelow(p)
		for dir := path.Dir(p); !dirs[dir]; dir = path.Dir(dir) {
			dirs[dir] = true
			s.addBelow(path.Join(dir, ".gitattributes"))
		}
	}
	if filters, err := w.tree.HasFilters(ctx); err != nil || filters {
		s.isSettled = false
	}
	return hex.EncodeToString(s.sum.Sum(nil)), s.isSettled
}

// stamper digests stat data.
type stamper struct {
	top       string
	at        time.Time
	sum       hash.Hash
	isSettled bool
	isDir     map[string]bool // whether a path of the workspace is a directory, and no link leads to it
}

// addBelow adds a path of the workspace. What is behind a link is not there.
func (s *stamper) addBelow(p string) {
	if dir := path.Dir(p); !s.isRealDir(dir) {
		_, _ = s.sum.Write([]byte("below no directory\n"))
		return
	}
	s.add(filepath.Join(s.top, filepath.FromSlash(p)))
}

func (s *stamper) add(file string) {
	st, err := index.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		_, _ = s.sum.Write([]byte("gone\n"))
	case err != nil || st.Mode.IsDir(): // a repository may have come there, with a head of its own
		s.isSettled = false
	default:
		s.isSettled = s.isSettled && st.IsSince(s.at) && st.IsSettled(s.at)
		fmt.Fprintf(s.sum, "%s %o\n", st.Stamp(), st.Mode)
	}
}

// isRealDir reports whether a path of the workspace, and all above it, are directories.
func (s *stamper) isRealDir(dir string) bool {
	if dir == "." {
		return true
	}
	is, known := s.isDir[dir]
	if !known {
		st, err := index.Lstat(filepath.Join(s.top, filepath.FromSlash(dir)))
		is = err == nil && st.Mode.IsDir() && s.isRealDir(path.Dir(dir))
		s.isDir[dir] = is
	}
	return is
}
