// Package provision makes a checkout usable: it puts role files where an agent looks
// for them, and links files that checkouts share.
package provision

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
)

// maxRoleFile bounds the size of a role file; instructions are not larger.
const maxRoleFile = 4 << 20

// Roles knows where a project keeps its roles.
type Roles struct {
	Project string   // the project's directory
	Dir     string   // below Project; it has one directory for each role
	Files   []string // the names of the files that a role may have
}

// Find finds a role by its name. A role that has none of the files is RoleNotFound.
// Links that lead out of the project are not followed.
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

// Checkout says whether an agent has worked in the checkout that a role's files are
// copied to.
type Checkout string

const (
	// Fresh: no agent has worked there, so any file in it may be replaced. It is the
	// default.
	Fresh Checkout = ""
	// Used: an agent may have changed the files in it.
	Used Checkout = "used"
)

// Copying is the input of Copy.
type Copying struct {
	Worktree *git.Worktree
	Role     croft.Role
	Into     Checkout
	// Placed are the digests of the files that were copied before, by name. A file with
	// another digest was changed in the checkout.
	Placed map[string]string
}

// Copied is the result of Copy.
type Copied struct {
	Untracked []string          // names that the caller must make git ignore
	Placed    map[string]string // the digests of the files
}

// Copy puts a role's files at the top of a worktree and hides them from git there, and
// only there. A file over a tracked one is hidden by a bit in the worktree's own index;
// the names of the others are returned, and the caller must make git ignore them.
//
// Copy overwrites no file that an agent wrote: it copies nothing then, and fails with
// WorkspaceDirty.
func (r Roles) Copy(ctx context.Context, c Copying) (Copied, error) {
	w, out := c.Worktree, Copied{Placed: map[string]string{}}
	tracked, err := w.Tracked(ctx, c.Role.Files...)
	if err != nil {
		return out, err
	}
	src, err := os.OpenRoot(r.Project)
	if err != nil {
		return out, err
	}
	defer src.Close()
	dst, err := openCheckout(w)
	if err != nil {
		return out, err
	}
	defer dst.Close()
	texts, changed := map[string][]byte{}, []string{}
	for _, f := range c.Role.Files {
		if texts[f], err = readRole(src, path.Join(r.Dir, c.Role.Name, f)); err != nil {
			return out, err
		}
		differs, err := c.isEdited(dst, f, texts[f])
		if err != nil {
			return out, err
		}
		if differs {
			changed = append(changed, f)
		}
	}
	if err := c.refuseEdits(ctx, changed, tracked); err != nil {
		return out, err
	}
	for _, f := range c.Role.Files {
		if err := placeFile(dst, f, texts[f]); err != nil {
			return out, err
		}
		out.Placed[f] = Digest(texts[f])
		if !slices.Contains(tracked, f) {
			out.Untracked = append(out.Untracked, f)
		}
	}
	return out, w.SkipWorktree(ctx, true, tracked...)
}

// openCheckout opens the directory that was made for a worktree. It fails if an agent put
// another one in its place.
func openCheckout(w *git.Worktree) (*fsx.Dir, error) {
	if made := w.Made(); made != "" {
		return fsx.OpenDirIs(w.Path, made)
	}
	return nil, &os.PathError{Op: "open", Path: w.Path, Err: fsx.ErrOther}
}

// Digest returns the digest of the content of a file.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// isEdited reports whether the file at a name has neither the text nor the content that
// was copied there before.
func (c Copying) isEdited(dst *fsx.Dir, name string, text []byte) (bool, error) {
	now, err := dst.ReadFile(name, maxRoleFile)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return false, nil
	case errors.Is(err, fsx.ErrTooLarge):
		return true, nil
	case errors.Is(err, fsx.ErrNotRegular):
		if sub, err := dst.OpenDir(name); err == nil {
			_ = sub.Close()
			return false, &croft.Error{
				Code: croft.NotWritable, Op: "role", Message: fmt.Sprintf("the workspace has a directory where the role has the file %s", name),
				Hint: "croft new --no-role-files",
			}
		}
		return true, nil
	case err != nil:
		return false, err
	}
	return !bytes.Equal(now, text) && c.Placed[name] != Digest(now), nil
}

// EditedError says that a role's file was changed in a workspace. It is
// WorkspaceDirty.
type EditedError struct{ File, Path string }

func (e *EditedError) Error() string { return e.File + " was changed in the workspace" }

// Is reports whether target is croft.WorkspaceDirty.
func (e *EditedError) Is(target error) bool { return target == croft.WorkspaceDirty }

// refuseEdits refuses to replace edited files, unless the checkout is fresh or git can
// restore the file.
func (c Copying) refuseEdits(ctx context.Context, changed, tracked []string) error {
	if c.Into == Fresh || len(changed) == 0 {
		return nil
	}
	modified, err := c.Worktree.Modified(ctx, tracked...)
	if err != nil {
		return err
	}
	for _, f := range changed {
		if _, placed := c.Placed[f]; !placed && slices.Contains(tracked, f) && !slices.Contains(modified, f) {
			continue // the project's own file, which git can write again
		}
		return &EditedError{File: f, Path: filepath.Join(c.Worktree.Path, f)}
	}
	return nil
}

// readRole reads a file of a role.
func readRole(src *os.Root, from string) ([]byte, error) {
	in, err := src.OpenFile(from, os.O_RDONLY|fsx.NonBlocking, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, &croft.Error{Code: croft.RoleNotFound, Op: "role", Message: "a file of the role is gone", Details: from}
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, maxRoleFile+1))
	if err == nil && len(data) > maxRoleFile {
		err = &croft.Error{
			Code: croft.InvalidRequest, Op: "role", Message: fmt.Sprintf("a file of the role is larger than %d bytes", maxRoleFile), Details: from,
		}
	}
	return data, err
}

// placeFile replaces the entry at a name by a file. A link there is replaced, not
// followed.
func placeFile(dst *fsx.Dir, to string, data []byte) error {
	if old, err := dst.ReadFile(to, maxRoleFile); err == nil && bytes.Equal(old, data) {
		return nil
	}
	return dst.WriteFile(to, data, 0o644)
}
