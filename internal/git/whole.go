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

// ErrTorn says that a file of git's is not as git wrote it.
var ErrTorn = errors.New("is not whole")

// CheckAdmin looks whether the files that make a directory a worktree are
// there and whole: a power cut may leave any of them empty. The index is
// compared with the checksum at its end.
func (w *Worktree) CheckAdmin() error {
	for _, name := range []string{"HEAD", "commondir", "gitdir"} {
		b, err := fsx.ReadSmall(filepath.Join(w.Admin, name))
		if err != nil {
			return err
		}
		if strings.TrimSpace(string(b)) == "" || bytes.IndexByte(b, 0) >= 0 {
			return fmt.Errorf("%s %w", name, ErrTorn)
		}
	}
	b, _, err := index.ReadFile(filepath.Join(w.Admin, "index"))
	if err != nil {
		return err
	}
	sum := w.Repo.ObjectFormat().NewHash()
	at := len(b) - sum.Size()
	if at < 12 || string(b[:4]) != "DIRC" {
		return fmt.Errorf("index %w", ErrTorn)
	}
	_, _ = sum.Write(b[:at])
	none := make([]byte, sum.Size()) // the setting index.skipHash
	if !bytes.Equal(b[at:], none) && !bytes.Equal(b[at:], sum.Sum(nil)) {
		return fmt.Errorf("index %w", ErrTorn)
	}
	return nil
}

// Since lists the objects that a commit has and another one does not: commits,
// trees and files. It fails if one of them is not there; that they can be read
// is not shown.
func (r *Repository) Since(ctx context.Context, commit, base string) ([]string, error) {
	args := []string{"rev-list", "--objects", "--no-object-names", "--end-of-options", commit}
	if base != "" {
		args = append(args, "^"+base)
	}
	out, err := r.RunGit(ctx, append(args, "--")...)
	return strings.Fields(string(out)), err
}
