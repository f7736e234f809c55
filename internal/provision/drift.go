package provision

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
)

// Care says how a file is compared with what was recorded of it.
type Care string

// The ways of comparing.
const (
	// ByTime: a file of the same size, mode and time is the same.
	ByTime Care = "time"
	// ByContent: it is the same only if its content is, if a digest was recorded.
	ByContent Care = "content"
)

// Drift says how a copy differs by now from what was copied, in the project and in the workspace. It is
// empty if both are as they were, or if only the project has it no more.
func Drift(c Copy, project, workspace *fsx.Tree) croft.DriftState {
	mine, theirs := compare(workspace, c, ByTime), compare(project, c, ByTime)
	isStale := theirs == differs || theirs == moved
	switch {
	case mine == gone:
		return croft.DriftMissing
	case mine == moved:
		return croft.DriftMoved
	case mine == differs && isStale:
		return croft.DriftDiverged
	case mine == differs:
		return croft.DriftEdited
	case isStale:
		return croft.DriftStale
	}
	return ""
}

// likeness says how a file compares with what was recorded of it.
type likeness int

const (
	same likeness = iota
	differs
	moved // a link to elsewhere
	gone
)

// compare compares a file of a tree with a copy.
func compare(tree *fsx.Tree, c Copy, care Care) likeness {
	info, err := tree.Lstat(c.Path)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, fsx.ErrNotPlain), fsx.IsNoPath(err):
		return gone
	case err != nil:
		return differs
	case c.Link != "":
		if target, err := tree.Readlink(c.Path); err != nil || target != c.Link {
			return moved
		}
		return same
	case !info.Mode().IsRegular() || info.Size() != c.Size || uint32(info.Mode().Perm()) != c.Mode:
		return differs
	case c.Sum == "" || care == ByTime && info.ModTime().UnixNano() == c.Time:
		if info.ModTime().UnixNano() != c.Time {
			return differs
		}
		return same
	}
	if sum, err := sumOf(tree, c.Path); err != nil || sum != c.Sum {
		return differs
	}
	return same
}

// sumOf returns the digest of a file of at most smallFile bytes.
func sumOf(tree *fsx.Tree, name string) (string, error) {
	dir, err := tree.Dir(parentOf(name))
	if err != nil {
		return "", err
	}
	f, _, err := tree.OpenRegular(dir, name, os.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, io.LimitReader(f, smallFile+1))
	return hex.EncodeToString(h.Sum(nil)), err
}

func parentOf(name string) string {
	if dir := path.Dir(name); dir != "." {
		return dir
	}
	return ""
}

// Renew replaces a copy in the workspace by the project's file as it is now. The old copy is moved aside and
// looked at there: one that somebody has changed meanwhile goes back, and is a *SkipError.
func (c *Copier) Renew(old Copy, how fsx.Content) (Copy, error) {
	aside := asideOf(old.Path)
	if old.Sum == "" { // its content cannot be compared
		return Copy{}, &SkipError{old.Path, croft.SkipTooLarge}
	}
	if _, err := c.To.Lstat(aside); err == nil {
		return Copy{}, &SkipError{old.Path, croft.SkipExists} // somebody's file
	}
	if err := c.To.Rename(old.Path, aside); err != nil {
		return Copy{}, c.explain(old.Path, err)
	}
	was := old
	was.Path = aside
	if compare(c.To, was, ByContent) != same {
		return Copy{}, errors.Join(c.putBack(aside, old.Path), &SkipError{old.Path, croft.SkipChanging})
	}
	fresh, err := c.Copy(old.Path, how)
	if err != nil {
		return Copy{}, errors.Join(c.putBack(aside, old.Path), err)
	}
	return fresh, c.To.Remove(aside)
}

// AsRenewed describes a copy that differs from what was recorded and has the project's content of now: a process that
// died has renewed it.
func (c *Copier) AsRenewed(old Copy) (Copy, bool) {
	if old.Sum == "" || Drift(old, c.From, c.To) != croft.DriftDiverged {
		return Copy{}, false
	}
	info, err := c.From.Lstat(old.Path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > smallFile {
		return Copy{}, false
	}
	now := Copy{Path: old.Path, Mode: uint32(info.Mode().Perm()), Size: info.Size(), Time: info.ModTime().UnixNano()}
	if now.Sum, err = sumOf(c.From, old.Path); err != nil || compare(c.To, now, ByContent) != same {
		return Copy{}, false
	}
	return now, true
}

// Recover puts a copy back, or deletes it, which a process that died has left aside. A copy without a digest is never put aside:
// what lies there is somebody's file.
func (c *Copier) Recover(old Copy) error {
	was := old
	was.Path = asideOf(old.Path)
	if old.Sum == "" || compare(c.To, was, ByContent) != same {
		return nil
	}
	if _, err := c.To.Lstat(old.Path); errors.Is(err, os.ErrNotExist) {
		return c.To.Rename(was.Path, old.Path)
	}
	return c.To.Remove(was.Path)
}

// AsidePattern matches the names of copies while they are replaced. git ignores them.
const AsidePattern = asidePrefix + "*"

const asidePrefix = ".croft-old-"

// asideOf is where a copy lies while it is replaced.
func asideOf(name string) string { return path.Join(path.Dir(name), asidePrefix+path.Base(name)) }

// putBack returns a file to its name, unless somebody has made another one there: then it stays aside.
func (c *Copier) putBack(aside, name string) error {
	if _, err := c.To.Lstat(name); !errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return c.To.Rename(aside, name)
}
