// Package provision makes a checkout usable: it puts role files where an
// agent looks for them.
package provision

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git"
)

// maxRoleFile bounds a role file; instructions are not larger.
const maxRoleFile = 4 << 20

// Roles knows where a project keeps its roles.
type Roles struct {
	Project string   // the project's directory
	Dir     string   // below it, one directory a role
	Files   []string // what a role may consist of
}

// Find looks a role up. A role without any of the files is RoleNotFound. Links
// that lead out of the project are not followed.
func (r Roles) Find(role string) (croft.Role, error) {
	found := croft.Role{Name: role, Dir: filepath.Join(r.Project, filepath.FromSlash(r.Dir), role)}
	root, err := os.OpenRoot(r.Project)
	if err != nil {
		return found, err
	}
	defer root.Close()
	for _, f := range r.Files {
		if info, err := root.Stat(path.Join(r.Dir, role, f)); err == nil && info.Mode().IsRegular() {
			found.Files = append(found.Files, f)
		}
	}
	if len(found.Files) == 0 {
		return found, &croft.Error{
			Code: croft.RoleNotFound, Op: "role", Message: fmt.Sprintf("role %q has no configuration", role),
			Details: filepath.Join(found.Dir, r.Files[0]),
			Hint:    "write " + filepath.Join(r.Dir, role, r.Files[0]),
		}
	}
	return found, nil
}

// Copy puts a role's files at the top of a worktree and hides them there, and
// only there. A file over a tracked one is hidden by a bit in the worktree's
// own index; for another one, the names are returned, and the caller has git
// ignore them.
func (r Roles) Copy(ctx context.Context, w *git.Worktree, role croft.Role) (untracked []string, err error) {
	tracked, err := w.Tracked(ctx, role.Files...)
	if err != nil {
		return nil, err
	}
	src, err := os.OpenRoot(r.Project)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	dst, err := os.OpenRoot(w.Path)
	if err != nil {
		return nil, err
	}
	defer dst.Close()
	for _, f := range role.Files {
		if err := copyFile(src, path.Join(r.Dir, role.Name, f), dst, f); err != nil {
			return nil, err
		}
		if !slices.Contains(tracked, f) {
			untracked = append(untracked, f)
		}
	}
	return untracked, w.SkipWorktree(ctx, true, tracked...)
}

// copyFile replaces what is at the destination; a link there is replaced, not
// followed.
func copyFile(src *os.Root, from string, dst *os.Root, to string) error {
	in, err := src.Open(from)
	if errors.Is(err, os.ErrNotExist) {
		return &croft.Error{Code: croft.RoleNotFound, Op: "role", Message: "a file of the role is gone", Details: from}
	}
	if err != nil {
		return err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, maxRoleFile+1))
	if err != nil {
		return err
	}
	if len(data) > maxRoleFile {
		return &croft.Error{
			Code: croft.InvalidRequest, Op: "role", Message: fmt.Sprintf("a file of the role is larger than %d bytes", maxRoleFile), Details: from,
		}
	}
	if old, err := dst.ReadFile(to); err == nil && bytes.Equal(old, data) {
		if info, err := dst.Lstat(to); err == nil && info.Mode().IsRegular() {
			return nil
		}
	}
	if info, err := dst.Lstat(to); err == nil && info.IsDir() {
		return &croft.Error{
			Code: croft.NotWritable, Op: "role", Message: fmt.Sprintf("the workspace has a directory where the role has the file %s", to),
			Hint: "croft new --no-role-files",
		}
	}
	if err := dst.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return dst.WriteFile(to, data, 0o644)
}
