package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitconfig"
	"github.com/croft-sh/croft/internal/git/gitdir"
)

// BrokenAdmins lists admin directories whose commondir is missing or empty, as a killed
// `git worktree add` leaves them. One of them makes git fail in the whole repository.
func (r *Repository) BrokenAdmins() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(r.CommonDir, "worktrees"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var hollow []string
	for _, e := range entries {
		dir := filepath.Join(r.CommonDir, "worktrees", e.Name())
		b, rerr := fsx.ReadSmall(filepath.Join(dir, "commondir"))
		if !e.IsDir() || rerr == nil && strings.TrimSpace(string(b)) != "" {
			continue
		}
		if _, err := os.Lstat(dir); err == nil && !isEmptyAdmin(dir) { // it was not removed meanwhile
			hollow = append(hollow, dir)
		}
	}
	return hollow, err
}

// DeleteEmptyAdmins removes admin directories that a git gc made again after their worktree was
// deregistered, if their names begin with prefix and they are older than age.
func (r *Repository) DeleteEmptyAdmins(prefix string, age time.Duration) {
	entries, _ := os.ReadDir(filepath.Join(r.CommonDir, "worktrees"))
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !strings.HasPrefix(e.Name(), prefix) || time.Since(info.ModTime()) < age {
			continue
		}
		r.Linked(e.Name(), "").DeleteEmptyAdmin()
	}
}

// WriteCommonDir writes commondir, which has only one possible value.
func (r *Repository) WriteCommonDir(dir string) error {
	return fsx.ReplaceFile(filepath.Join(dir, "commondir"), []byte("../..\n"), 0o644)
}

// IsBareByAccident reports whether the configuration calls a repository bare that has a
// main checkout: there is an index beside its HEAD. A `git init` with GIT_DIR set does
// that, and then git refuses to work in the checkout.
func IsBareByAccident(common string) bool {
	if !SaysBare(common) {
		return false
	}
	_, err := os.Lstat(filepath.Join(common, "index"))
	return err == nil
}

// SaysBare reports whether the configuration of a directory named .git says that it has no
// main checkout.
func SaysBare(common string) bool { return gitdir.IsDotGit(common) && gitdir.ReadFormat(common).Bare }

// SetNotBare sets core.bare to false.
func (r *Repository) SetNotBare() error {
	return r.changeConfig(func(old string) string { return addSetting(old, gitconfig.Entry{Key: "core.bare", Value: "false"}) })
}

// StaleLocks lists lock files in the git directory that are older than before. If that is
// the boot time of the machine, no process that made one is alive.
func (r *Repository) StaleLocks(before time.Time) ([]string, error) {
	var stale []string
	note := func(path string, d fs.DirEntry) {
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() && info.ModTime().Before(before) {
			stale = append(stale, path)
		}
	}
	top, err := os.ReadDir(r.CommonDir)
	if err != nil {
		return nil, err
	}
	for _, d := range top {
		if strings.HasSuffix(d.Name(), ".lock") {
			note(filepath.Join(r.CommonDir, d.Name()), d)
		}
	}
	for _, dir := range []string{"refs", "worktrees"} {
		err := filepath.WalkDir(filepath.Join(r.CommonDir, dir), func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".lock") {
				note(path, d)
			}
			return nil
		})
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	return stale, nil
}
