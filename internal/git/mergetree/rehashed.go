package mergetree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/croft-sh/croft/internal/git/object"
)

// rehashed is an object directory with the objects in which two trees differ and no others.
// No agent can write to it, and every object was rehashed, so a diff there shows what the
// object names stand for.
type rehashed struct {
	Quarantine
	files *object.Files
	trees [2]string
	sizes map[string]int64 // of large blobs, by their names
}

// copyRehashed copies the objects in which two commits or trees differ, of both sides, and
// rehashes each. It fails with a *ForgedError if the content of one does not match its name.
func (a *Session) copyRehashed(ctx context.Context, old, now string) (*rehashed, error) {
	r := a.q.Repo
	files, err := r.OpenObjects(a.q.Dir)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	dir, discard, err := r.TempDirAt(a.q.placement)
	if err != nil {
		return nil, err
	}
	s := &rehashed{files: files, sizes: map[string]int64{}, Quarantine: Quarantine{
		Repo: r, placement: a.q.placement, Dir: dir, Discard: discard,
		Env: []string{"GIT_OBJECT_DIRECTORY=" + dir, "GIT_ALTERNATE_OBJECT_DIRECTORIES="},
	}}
	if err := s.copyDifferences(ctx, old, now); err != nil {
		discard()
		return nil, err
	}
	return s, nil
}

// makeCommonDir makes a common directory for git with the settings of the repository and
// without its info/attributes: an agent can write that file, and hide changes from a review
// by it.
func (s *rehashed) makeCommonDir() (string, error) {
	if _, err := s.Repo.EnsureHostDir(); err != nil {
		return "", err
	}
	dir := filepath.Join(s.Dir, "common")
	config, err := os.ReadFile(filepath.Join(s.Repo.HostDir(), "config"))
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, "refs"), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "config"), config, 0o600)
	}
	return dir, err
}

// copyDifferences copies the objects in which the trees of two commits differ into the
// directory, and rehashes each.
func (s *rehashed) copyDifferences(ctx context.Context, old, now string) error {
	w := s.files.Walk(object.BothSides)
	w.Each = func(o object.Object) error {
		if o.Size > smallestNotShown {
			s.sizes[o.OID] = o.Size
		}
		if o.Data == nil && o.Size > 0 {
			return s.copy(ctx, o)
		}
		_, err := s.OwnObjects().Write(o.Type, o.Data)
		return err
	}
	var err error
	for i, oid := range []string{old, now} {
		if s.trees[i], err = w.TreeOf(ctx, oid); err != nil {
			return err
		}
	}
	return w.Trees(ctx, s.trees[0], s.trees[1])
}

// copy copies a large blob in parts, and computes its name from what it writes.
func (s *rehashed) copy(ctx context.Context, o object.Object) error {
	f, err := os.CreateTemp(s.Dir, "tmp_obj_")
	if err != nil {
		return err
	}
	in, out := io.Pipe()
	go func() {
		_, err := s.Repo.Copy(ctx, out, o.OID)
		out.CloseWithError(err)
	}()
	name, err := s.Repo.ObjectFormat().Deflate(f, o.Type, o.Size, in)
	in.CloseWithError(errors.ErrUnsupported)
	if err = errors.Join(err, f.Close()); err == nil && name != o.OID {
		err = &object.ForgedError{OID: o.OID, File: "the repository"}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", o.OID, err)
	}
	if err := os.MkdirAll(filepath.Dir(s.OwnObjects().File(name)), 0o700); err != nil {
		return err
	}
	return os.Rename(f.Name(), s.OwnObjects().File(name))
}
