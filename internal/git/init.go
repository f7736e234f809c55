package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// InitEmpty makes a repository in a directory, with one commit of nothing on
// branch main. It may be called again.
func (g *Git) InitEmpty(ctx context.Context, dir string, now time.Time) error {
	gitDir := filepath.Join(dir, ".git")
	for _, sub := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags", "info"} {
		if err := os.MkdirAll(filepath.Join(gitDir, filepath.FromSlash(sub)), 0o777); err != nil {
			return err
		}
	}
	const config = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"
	for name, text := range map[string]string{"config": config, "HEAD": "ref: refs/heads/main\n"} {
		path := filepath.Join(gitDir, name)
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
			err = WriteFile(path, []byte(text))
			if err != nil {
				return err
			}
		}
	}
	place, err := Discover(dir)
	if err != nil {
		return err
	}
	r := g.At(place)
	defer r.Close()
	if _, err := r.ReadRef(ctx, "refs/heads/main"); !errors.Is(err, ErrNoRef) {
		return err
	}
	a, err := r.Attempts(OnDisk)
	if err != nil {
		return err
	}
	defer a.Close()
	tree, err := a.WriteTree(nil)
	if err != nil {
		return err
	}
	first, err := a.Commit(ctx, Commit{Tree: tree, Signature: At("Croft <croft@localhost>", now), Message: "Nothing yet\n"}, Identity{})
	if err != nil {
		return err
	}
	release, err := a.Keep(first)
	if err != nil {
		return err
	}
	defer release()
	if err := r.UpdateRefs(ctx, RefUpdate{Ref: "refs/heads/main", New: first}); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}

// Main returns the main checkout, which lies at a path.
func (r *Repository) Main(path string) *Worktree {
	return &Worktree{Repo: r, Path: path, Admin: r.CommonDir}
}
