package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/index"
)

// ErrIncomplete says that a file of git's is incomplete.
var ErrIncomplete = errors.New("is not whole")

// CheckAdmin fails with ErrIncomplete unless the files that make a directory a worktree exist
// and are complete: a power cut may leave any of them empty. It verifies the checksum of
// the index.
func (w *Worktree) CheckAdmin() error {
	for _, name := range []string{"HEAD", "commondir", "gitdir"} {
		b, err := fsx.ReadSmall(filepath.Join(w.Admin, name))
		if err != nil {
			return err
		}
		if strings.TrimSpace(string(b)) == "" || bytes.IndexByte(b, 0) >= 0 {
			return fmt.Errorf("%s %w", name, ErrIncomplete)
		}
	}
	b, _, err := index.ReadFile(filepath.Join(w.Admin, "index"))
	if err != nil {
		return err
	}
	sum := w.Repo.ObjectFormat().NewHash()
	at := len(b) - sum.Size()
	if at < 12 || string(b[:4]) != "DIRC" {
		return fmt.Errorf("index %w", ErrIncomplete)
	}
	_, _ = sum.Write(b[:at])
	none := make([]byte, sum.Size()) // index.skipHash is set
	if !bytes.Equal(b[at:], none) && !bytes.Equal(b[at:], sum.Sum(nil)) {
		return fmt.Errorf("index %w", ErrIncomplete)
	}
	return nil
}

// NewObjects lists the objects that are reachable from a commit and not from base: commits,
// trees and blobs. It fails if one is missing, but does not verify that all can be read.
func (r *Repository) NewObjects(ctx context.Context, commit, base string) ([]string, error) {
	args := []string{"rev-list", "--objects", "--no-object-names", "--end-of-options", commit}
	if base != "" {
		args = append(args, "^"+base)
	}
	out, err := r.RunGit(ctx, append(args, "--")...)
	return strings.Fields(string(out)), err
}
