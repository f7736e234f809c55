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

// RealBase is the directory that workspaces are made in, by a path that leads
// through no link. Links of the user's own on the way there are followed once,
// now; the record then says where it led. Inside the project a merged commit of an agent
// may have made a link, so there none is followed.
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

// TrashDirs is the ledger of the directories that workspaces are stowed in, by
// the ids of the workspaces. A record has the same identity, but is written
// later; checkouts have a ledger of their own, [git.Repository.Made].
func (r *Project) TrashDirs() fsx.Ledger { return fsx.Ledger{Dir: filepath.Join(r.Dir, "dirs")} }

// MakeTrashDir makes the directory that a workspace is stowed in, and returns
// its identity. One that is there already is taken only if it is known to have
// been made for this.
func (r *Project) MakeTrashDir(dir string) (fsx.Identity, error) {
	trash, err := fsx.MakeDir(filepath.Dir(dir), 0o700)
	if err != nil {
		return "", err
	}
	defer trash.Close()
	name := filepath.Base(dir)
	if made := r.TrashDirs().Find(name); made.Identity != "" && made.Path == dir {
		if now, err := trash.IdentityOf(name); err == nil && now == made.Identity {
			return now, nil
		}
	}
	_ = trash.Remove(name) // if it is empty, by a process that died before it was recorded
	if err := trash.Mkdir(name, 0o700); errors.Is(err, os.ErrExist) {
		return "", NotOurs(dir)
	} else if err != nil {
		return "", err
	}
	if err := failpoint.Hit("trash.dir.made"); err != nil {
		return "", err
	}
	now, err := trash.IdentityOf(name)
	if err == nil {
		err = r.TrashDirs().Put(name, fsx.Made{Path: dir, Identity: now})
	}
	return now, err
}

// isTaken reports whether something lies where a workspace would be stowed, and
// is not known to have been made for that.
func (r *Project) isTaken(dir string) bool {
	made := r.TrashDirs().Find(filepath.Base(dir))
	return fsx.IsThere(dir) && (made.Path != dir || !made.Identity.IsAt(dir))
}

// OpenTrashDir opens the directory that a removed workspace lies in.
func OpenTrashDir(t *journal.Trash) (*fsx.Dir, error) {
	return fsx.OpenDirIs(t.Dir, fsx.Identity(t.Identity))
}

// RemoveEmpty removes a directory if there is nothing in it, and is silent if
// that cannot be.
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

// NotOurs says that something else lies where a directory of Croft's was.
func NotOurs(path string) error {
	return &croft.Error{
		Code: croft.WorkspaceBroken, Message: "what lies there is not what Croft made; it is left alone", Details: path,
		Hint: fmt.Sprintf("look at %s, move it away, then run the command again", path),
	}
}

// CheckTrashed fails if what lies in the trash is not what was put there.
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
			return CopyTrashed(rec, "else move it away")
		}
		return NotOurs(rec.Trash.Dir)
	}
	return err
}

// IsTrashAway reports whether the directory that a removed workspace lies in is not
// at its place.
func IsTrashAway(t *journal.Trash) bool {
	return t.Dir != "" && !fsx.Identity(t.Identity).IsAt(t.Dir)
}

// DeletedLedger is the ledger of the directories of the trash that Croft itself has
// deleted, by the ids of the workspaces, until their records say so.
func (r *Project) DeletedLedger() fsx.Ledger { return fsx.Ledger{Dir: filepath.Join(r.Dir, "deleted")} }

// FindTrash looks for the directory that a removed workspace lies in. One that is
// being deleted is not found: what is to be restored of it was saved before.
func (r *Project) FindTrash(ctx context.Context, rec journal.Record) string {
	w, t := rec.Workspace, rec.Trash
	found := seekDirectories(ctx, []sought{{
		identity: fsx.Identity(t.Identity), last: t.Dir, near: []string{filepath.Dir(r.Path)},
		hints: []string{FollowMove(t.Dir, w.Repo, r.Path), FollowMove(t.Dir, filepath.Dir(w.Repo), filepath.Dir(r.Path))},
		isIt:  func(path string) bool { return filepath.Base(path) == string(w.ID) },
	}})[0]
	if r.DeletingLedger().Find(filepath.Base(found)).Identity == fsx.Identity(t.Identity) {
		return ""
	}
	return found
}

// MovedBy returns the directories whose move explains that of a path: what is left
// of the two without the end that they have in common.
func MovedBy(from, to string) (was, now string) {
	for filepath.Base(from) == filepath.Base(to) && filepath.Dir(from) != from && filepath.Dir(to) != to {
		from, to = filepath.Dir(from), filepath.Dir(to)
	}
	return from, to
}

// DeletingLedger is the ledger of what is being deleted in the trashes of a
// repository, by the names that it has there. It is written before anything is
// renamed to such a name: nothing is deleted because of a name alone.
func (r *Project) DeletingLedger() fsx.Ledger {
	return fsx.Ledger{Dir: filepath.Join(r.Dir, "deleting")}
}

// TrashedIdentity is what lies where a removed workspace was put.
type TrashedIdentity struct{ Dir, Tree fsx.Identity }

// CopyInTrash finds another directory in the place of one in the trash, with a
// checkout in it.
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

// CopyTrashed refuses to restore or delete a copy that lies in the trash. The caller says
// what to do if the user did not copy it back.
func CopyTrashed(rec journal.Record, orElse string) error {
	return &croft.Error{
		Code: croft.WorkspaceBroken, Details: rec.Trash.Dir,
		Message: "its directory in the trash was replaced by another: what lies there may be a copy",
		Hint:    "croft doctor --import, if it was copied back, then croft restore " + string(rec.Workspace.ID) + "; " + orElse,
	}
}

// AsideSuffix ends the name of the directory that a rewind works in.
const AsideSuffix = ".rewind"

// AsideName is the directory for files of a workspace that a rewind sets aside.
func AsideName(rec journal.Record) string { return string(rec.Workspace.ID) + AsideSuffix }

// SecretsDir is where a snapshot keeps the files that only the user may read.
// The work of a removed workspace has the workspace's ID.
func (p *Projects) SecretsDir(r *Project, id croft.ID) string {
	return filepath.Join(p.Settings.Config().StateDir, "secrets", string(r.ID), string(id))
}

// TrashDir chooses where a removed workspace lies: beside the other workspaces
// of the repository, on the same file system, so that moving it there is one
// rename.
func TrashDir(r *Project, rec journal.Record) (string, error) {
	parent := filepath.Dir(rec.Workspace.Path)
	candidates := []string{
		filepath.Join(filepath.Dir(r.Path), r.Name()+".croft", ".trash"),
		filepath.Join(r.CommonDir, "croft", "trash"),
		filepath.Join(parent, ".croft-trash"),
	}
	// What an agent had in an earlier round is not left in its home.
	if rec.Home == "" && rec.BaseDir != "" && rec.BaseDir != filepath.Dir(r.Path) && !IsWithin(rec.BaseDir, r.Path) {
		candidates = append([]string{filepath.Join(rec.BaseDir, ".trash")}, candidates...)
	}
	if !fsx.IsThere(rec.Workspace.Path) { // nor may be what it lay in: a registration goes where registrations are
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
			errs = append(errs, NotOurs(place))
			continue
		}
		if _, err := os.Lstat(rec.Workspace.Path); err != nil || sameDevice(parent, c) {
			return place, nil
		}
	}
	return "", errors.Join(append(errs, errors.New("no place for the trash on the workspace's file system"))...)
}

// IsWithin reports whether a path is a directory or lies below it.
func IsWithin(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(os.PathSeparator))
}
