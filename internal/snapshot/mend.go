package snapshot

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/object"
)

// errMended says that objects were missing and were written anew. The attempt to save
// that found them missing has to begin again.
var errMended = errors.New("objects that were missing were written anew")

// Mend writes the unreadable objects that the index of a worktree names and whose
// content its files still have, as it is or with the line endings that git stores. No
// filter runs. It fails with a *object.MissingError if a file does not have the staged
// content. Save does the same.
func Mend(ctx context.Context, w *git.Worktree) error {
	s := &saver{w: w, root: w.Path, own: w.Admin, linked: map[string]bool{}}
	s.before = s.changeMarks()
	err := s.noteIdentity()
	if err != nil {
		return err
	}
	if s.index, err = w.Index(ctx); err != nil {
		return err
	}
	sizes, err := s.stagedSizes(ctx)
	if err == nil {
		err = s.rewriteLostObjects(sizes)
	}
	if errors.Is(err, errMended) {
		return nil
	}
	return err
}

// rewriteLostObjects writes the staged objects anew that have no size: an agent deleted
// them, or a power cut left empty files. That a file matches its index entry does not
// prove that the object exists, and a snapshot holds staged content only by its object.
func (s *saver) rewriteLostObjects(sizes []int64) error {
	var lost []index.Entry
	for i, e := range s.index.Entries {
		if sizes[i] < 0 && e.Mode != "160000" {
			lost = append(lost, e)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	b := s.w.Repo.ReplacingBatch()
	defer b.Discard()
	written := map[string]bool{}
	for _, e := range lost {
		if written[e.OID] {
			continue
		}
		found, err := s.storeLost(b, e)
		if err != nil && !isChangedMeanwhile(err) {
			return err
		}
		written[e.OID] = written[e.OID] || found
	}
	if err := b.Flush(); err != nil {
		return err
	}
	for _, e := range lost {
		if written[e.OID] {
			continue
		}
		if !slices.EqualFunc(s.before, s.changeMarks(), isSameMark) || !s.is.IsAt(s.root) {
			return ErrChanging
		}
		return &object.MissingError{OID: e.OID, Path: e.Path}
	}
	return errMended
}

// storeLost writes the object of a path if it is empty, or if the file has its content, as
// it is or with the line endings that git stores.
func (s *saver) storeLost(b *object.Batch, e index.Entry) (bool, error) {
	if found, err := s.storeIfLost(b, e.OID, strings.NewReader(""), 0); found || err != nil {
		return found, err
	}
	info, err := s.lstat(e.Path)
	if err != nil || info == nil {
		return false, err
	}
	full := filepath.Join(s.root, e.Path)
	switch {
	case info.Mode&fs.ModeSymlink != 0:
		target, err := os.Readlink(full)
		if err != nil {
			return false, err
		}
		return s.storeIfLost(b, e.OID, strings.NewReader(target), int64(len(target)))
	case !info.Mode.IsRegular():
		return false, nil
	}
	f, err := fsx.Open(full)
	if err != nil {
		return false, err
	}
	defer f.Close()
	found, err := s.storeIfLost(b, e.OID, f, info.Size)
	if found || err != nil || info.Size > largeText {
		return found, err
	}
	text, err := fsx.ReadFile(full, largeText)
	if err != nil {
		return false, err
	}
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	return s.storeIfLost(b, e.OID, bytes.NewReader(text), int64(len(text)))
}

// storeIfLost writes an object if the content has the object's hash.
func (s *saver) storeIfLost(b *object.Batch, oid string, content io.ReadSeeker, size int64) (bool, error) {
	is, err := s.w.Repo.HashBlob(content, size)
	if err != nil || is != oid {
		return false, err
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	is, err = b.WriteBlobFrom(content, size)
	return is == oid, err
}
