package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/croft-sh/croft/internal/git"
)

// ErrChanging says that a worktree did not hold still for long enough to be
// saved: what would have been stored never was its state.
var ErrChanging = errors.New("the worktree is changing while it is saved")

// attempts are how often Save begins again when something changes underneath.
const attempts = 4

// Save stores the state of a worktree and returns the commit. The caller pins
// it with a ref. Every object is on disk when it returns.
func Save(ctx context.Context, w *git.Worktree, sel Selection) (Saved, error) {
	var err error
	for range attempts {
		s := &saver{w: w, sel: sel, root: w.Path, meta: meta{Version: version}}
		if err = s.save(ctx); err == nil {
			return s.saved, nil
		}
		s.dropSecrets()
		if ctx.Err() != nil || !moved(err) {
			return Saved{}, err
		}
	}
	return Saved{}, errors.Join(ErrChanging, err)
}

// moved reports whether an error comes from something that changed meanwhile.
func moved(err error) bool {
	return errors.Is(err, ErrChanging) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, os.ErrNotExist)
}

func (s *saver) save(ctx context.Context) error {
	tmp, remove, err := s.w.Repo.TempDir()
	if err != nil {
		return err
	}
	defer remove()
	s.batch = s.w.Repo.Batch()
	defer s.batch.Discard()
	before := s.marks()
	if err := s.survey(ctx); err != nil {
		return err
	}
	entries, err := s.store(ctx, tmp)
	if err != nil {
		return err
	}
	parents, err := s.w.Pending(ctx)
	if err != nil {
		return err
	}
	if !slices.EqualFunc(before, s.marks(), sameMark) {
		return ErrChanging
	}
	tree, err := s.batch.WriteTree(entries)
	if err != nil {
		return err
	}
	s.saved.Commit, err = s.batch.WriteCommit(git.Commit{
		Tree: tree, Parents: parents, Signature: fmt.Sprintf("Croft <croft@localhost> %d +0000", time.Now().Unix()),
		Message: s.message(),
	})
	if err != nil {
		return err
	}
	return s.batch.Flush()
}

// marks are the files that change whenever git stages or commits something.
func (s *saver) marks() []os.FileInfo {
	var list []os.FileInfo
	for _, name := range []string{"index", "HEAD", "logs/HEAD"} {
		info, _ := os.Lstat(filepath.Join(s.w.Admin, filepath.FromSlash(name)))
		list = append(list, info)
	}
	return list
}

func sameMark(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// message tells people, and Describe, what is in a snapshot.
func (s *saver) message() string {
	first := s.sel.Message
	if first == "" {
		first = "Snapshot"
	}
	return fmt.Sprintf("%s\n\nFiles: %d\nBytes: %d", first, s.saved.Files, s.saved.Bytes)
}

// saver is one snapshot in the making.
type saver struct {
	w     *git.Worktree
	sel   Selection
	root  string
	meta  meta
	saved Saved
	batch *git.Batch

	index      []git.IndexEntry
	conflicted []string            // paths with stages
	files      map[string]string   // paths that are stored as they are on disk → their objects, where known
	deleted    map[string]struct{} // tracked paths at which there is no file
	nested     map[string]struct{} // directories that are repositories of their own
	linked     map[string]bool     // directories → whether they are, or lie below, something else
	gitlinks   map[string]bool     // paths of submodules
	intended   bool                // something is going to be added
	secrets    []string            // files that were written for this snapshot
}
