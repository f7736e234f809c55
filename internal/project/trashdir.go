package project

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/journal"
)

// RealBase returns the path of the directory that workspaces are made in, with its
// symbolic links resolved. It refuses a link inside the project, which a merged commit
// of an agent may have made. The record has the resolved path, so the links are not
// followed again.
func RealBase(r *Project, base string) (string, error) {
	real := base
	for rest := ""; ; {
		at, err := filepath.EvalSymlinks(real)
		if err == nil {
			real = filepath.Join(at, rest)
			break
		}
		up := filepath.Dir(real)
		if !errors.Is(err, os.ErrNotExist) || up == real || fsx.IsThere(real) {
			return "", err
		}
		real, rest = up, filepath.Join(filepath.Base(real), rest)
	}
	if real != base && IsWithin(base, r.Path) {
		return "", &croft.Error{
			Code: croft.NotWritable, Message: "the directory for workspaces is a link, or lies behind one, inside the project", Details: base,
			Hint: "remove the link, or choose another layout",
		}
	}
	return real, nil
}

// TrashDirLedger returns the ledger of the trash directories that were made for
// workspaces, by the IDs of the workspaces. A record has the same identity, but is
// written later. Checkouts have a ledger of their own, [git.Repository.Made].
func (r *Project) TrashDirLedger() fsx.Ledger { return fsx.Ledger{Dir: filepath.Join(r.Dir, "dirs")} }

// MakeTrashDir makes the trash directory for a workspace, and returns its identity. It
// uses an existing directory only if the ledger says that it was made for this workspace,
// and replaces an empty one.
func (r *Project) MakeTrashDir(dir string) (fsx.Identity, error) {
	trash, err := fsx.MakeDir(filepath.Dir(dir), 0o700)
	if err != nil {
		return "", err
	}
	defer trash.Close()
	name := filepath.Base(dir)
	if made := r.TrashDirLedger().Find(name); made.Identity != "" && made.Path == dir {
		if now, err := trash.IdentityOf(name); err == nil && now == made.Identity {
			return now, nil
		}
	}
	_ = trash.Remove(name) // an empty one may be left of a process that died before it recorded it
	if err := trash.Mkdir(name, 0o700); errors.Is(err, os.ErrExist) {
		return "", NotOursError(dir)
	} else if err != nil {
		return "", err
	}
	if err := failpoint.Hit("trash.dir.made"); err != nil {
		return "", err
	}
	now, err := trash.IdentityOf(name)
	if err == nil {
		err = r.TrashDirLedger().Put(name, fsx.Made{Path: dir, Identity: now})
	}
	return now, err
}

// isTaken reports whether something lies at the path of a trash directory and the
// ledger does not say that it was made for that workspace.
func (r *Project) isTaken(dir string) bool {
	made := r.TrashDirLedger().Find(filepath.Base(dir))
	return fsx.IsThere(dir) && (made.Path != dir || !made.Identity.IsAt(dir))
}

// OpenTrashDir opens the trash directory of a removed workspace, if it has the recorded
// identity.
func OpenTrashDir(t *journal.Trash) (*fsx.Dir, error) {
	return fsx.OpenDirIs(t.Dir, fsx.Identity(t.Identity))
}

// RemoveEmpty removes a directory if it is empty. It ignores errors.
func RemoveEmpty(path string) {
	if path == "" {
		return
	}
	up, err := fsx.OpenDir(filepath.Dir(path))
	if err != nil {
		return
	}
	defer up.Close()
	name := filepath.Base(path)
	if dir, err := up.OpenDir(name); err == nil { // not a file, nor a link
		_ = dir.Close()
		_ = up.Remove(name)
	}
}

// NotOursError says that something else lies at the path of a directory that Croft
// made.
func NotOursError(path string) error {
	return &croft.Error{
		Code: croft.WorkspaceBroken, Message: "what lies there is not what Croft made; it is left alone", Details: path,
		Hint: fmt.Sprintf("look at %s, move it away, then run the command again", path),
	}
}

// CheckTrashed fails if another directory than the removed workspace's, or none, lies at
// its place in the trash.
func CheckTrashed(rec journal.Record) error {
	dir, err := OpenTrashDir(rec.Trash)
	if err == nil {
		defer dir.Close()
		now, terr := dir.IdentityOf("tree")
		if terr == nil && now != fsx.Identity(rec.Identity) {
			err = fsx.ErrOther
		}
	}
	if errors.Is(err, fsx.ErrOther) || errors.Is(err, fsx.ErrLink) {
		if _, isCopy := CopyInTrash(rec); isCopy {
			return CopyTrashedError(rec, "else move it away")
		}
		return NotOursError(rec.Trash.Dir)
	}
	return err
}

// IsTrashAway reports whether a removed workspace has a trash directory that is not at
// its recorded path.
func IsTrashAway(t *journal.Trash) bool {
	return t.Dir != "" && !fsx.Identity(t.Identity).IsAt(t.Dir)
}

// DeletedLedger returns the ledger of the trash directories that Croft has deleted, by
// the IDs of the workspaces. An entry stays until the record says that the directory is
// deleted.
func (r *Project) DeletedLedger() fsx.Ledger { return fsx.Ledger{Dir: filepath.Join(r.Dir, "deleted")} }

// FindTrash looks for the trash directory of a removed workspace, and returns its path
// or the empty string. It does not find a directory that is being deleted: that was
// saved before, as far as it is to be restored.
func (r *Project) FindTrash(ctx context.Context, rec journal.Record) string {
	w, t := rec.Workspace, rec.Trash
	found := seekDirectories(ctx, []sought{{
		identity: fsx.Identity(t.Identity), last: t.Dir, near: []string{filepath.Dir(r.Path)},
		hints: []string{PathAfterMove(t.Dir, w.Repo, r.Path), PathAfterMove(t.Dir, filepath.Dir(w.Repo), filepath.Dir(r.Path))},
		isIt:  func(path string) bool { return filepath.Base(path) == string(w.ID) },
	}})[0]
	if r.DeletingLedger().Find(filepath.Base(found)).Identity == fsx.Identity(t.Identity) {
		return ""
	}
	return found
}

// MovedAncestors returns from and to without the components that both end in: a path
// that moved from /a/x/w to /b/x/w was moved by renaming /a to /b.
func MovedAncestors(from, to string) (was, now string) {
	for filepath.Base(from) == filepath.Base(to) && filepath.Dir(from) != from && filepath.Dir(to) != to {
		from, to = filepath.Dir(from), filepath.Dir(to)
	}
	return from, to
}

// DeletingLedger returns the ledger of the directories that are being deleted in the
// trash of a repository, by their names there. An entry is written before a directory
// is renamed to such a name: no directory is deleted because of its name alone.
func (r *Project) DeletingLedger() fsx.Ledger {
	return fsx.Ledger{Dir: filepath.Join(r.Dir, "deleting")}
}

// TrashedIdentity has the identities of a directory in the trash and of the checkout in
// it.
type TrashedIdentity struct{ Dir, Tree fsx.Identity }

// CopyInTrash finds a directory with a checkout in the trash that lies in the place of
// a removed workspace's directory and is another one.
func CopyInTrash(rec journal.Record) (found TrashedIdentity, isCopy bool) {
	if rec.Trash == nil || rec.Trash.Dir == "" {
		return TrashedIdentity{}, false
	}
	dir, err := fsx.OpenDir(rec.Trash.Dir)
	if err != nil {
		return TrashedIdentity{}, false
	}
	defer dir.Close()
	found.Dir, err = dir.Identity()
	if err == nil {
		found.Tree, err = dir.IdentityOf("tree")
	}
	isOther := func(recorded string, now fsx.Identity) bool { return recorded != "" && now != fsx.Identity(recorded) }
	return found, err == nil && (isOther(rec.Trash.Identity, found.Dir) || isOther(rec.Identity, found.Tree))
}

// CopyTrashedError says that a directory in the trash may be a copy, which is not
// restored or deleted. orElse says what to do if the user did not copy it back.
func CopyTrashedError(rec journal.Record, orElse string) error {
	return &croft.Error{
		Code: croft.WorkspaceBroken, Details: rec.Trash.Dir,
		Message: "its directory in the trash was replaced by another: what lies there may be a copy",
		Hint:    "croft doctor --import, if it was copied back, then croft restore " + string(rec.Workspace.ID) + "; " + orElse,
	}
}

// AsideSuffix ends the name of the directory in the trash to which a rewind moves
// files.
const AsideSuffix = ".rewind"

// AsideName returns the name of the directory to which a rewind of a workspace moves
// files.
func AsideName(rec journal.Record) string { return string(rec.Workspace.ID) + AsideSuffix }

// SecretsDir returns the directory for the private files of a snapshot, which only the
// user may read. For the snapshot of a removed workspace, id is the workspace's ID.
func (p *Projects) SecretsDir(r *Project, id croft.ID) string {
	return filepath.Join(p.Settings.Config().StateDir, "secrets", string(r.ID), string(id))
}

// ChooseTrashDir returns the path of the trash directory for a workspace that is removed,
// and makes the directory above it: in the workspace's base directory or beside the
// workspaces of the repository if that is on the workspace's file system, otherwise in
// the repository's git directory or beside the workspace. So moving the workspace there
// is one rename. For a workspace that is absent it is in the git directory.
func ChooseTrashDir(r *Project, rec journal.Record) (string, error) {
	parent := filepath.Dir(rec.Workspace.Path)
	candidates := []string{
		filepath.Join(filepath.Dir(r.Path), r.Name()+".croft", ".trash"),
		filepath.Join(r.CommonDir, "croft", "trash"),
		filepath.Join(parent, ".croft-trash"),
	}
	// The trash of a round's workspace is not in the agent's home, where the agent of a
	// later round would see it.
	if rec.Home == "" && rec.BaseDir != "" && rec.BaseDir != filepath.Dir(r.Path) && !IsWithin(rec.BaseDir, r.Path) {
		candidates = append([]string{filepath.Join(rec.BaseDir, ".trash")}, candidates...)
	}
	if !fsx.IsThere(rec.Workspace.Path) { // its base directory may be absent too, and only the registration goes to the trash
		candidates = append([]string{filepath.Join(r.CommonDir, "croft", "trash")}, candidates...)
	}
	var errs []error
	for _, c := range candidates {
		dir, err := fsx.MakeDir(c, 0o700)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		_ = dir.Close()
		place := filepath.Join(c, string(rec.Workspace.ID))
		if r.isTaken(place) {
			errs = append(errs, NotOursError(place))
			continue
		}
		if _, err := os.Lstat(rec.Workspace.Path); err != nil || fsx.IsSameDevice(parent, c) {
			return place, nil
		}
	}
	return "", errors.Join(append(errs, errors.New("no place for the trash on the workspace's file system"))...)
}

// IsWithin reports whether a path is dir or lies below it.
func IsWithin(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(os.PathSeparator))
}
