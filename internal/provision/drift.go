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

// IsAsCopied reports whether a file of a workspace is as it was copied, by its content if that is known.
func IsAsCopied(c Copy, workspace *fsx.Tree) bool { return compare(workspace, c, ByContent) == same }

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

// sumOf returns the digest of a file.
func sumOf(tree *fsx.Tree, name string) (string, error) {
	f, err := openFile(tree, name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}

// openFile opens a regular file for reading.
func openFile(tree *fsx.Tree, name string) (*os.File, error) {
	dir, err := tree.Dir(parentOf(name))
	if err != nil {
		return nil, err
	}
	f, _, err := tree.OpenRegular(dir, name, os.O_RDONLY)
	return f, err
}

func parentOf(name string) string {
	if dir := path.Dir(name); dir != "." {
		return dir
	}
	return ""
}
