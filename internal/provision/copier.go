package provision

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
)

// Limits bound what is copied into one workspace. Clones do not count.
type Limits struct {
	Bytes int64
	Files int64
	Free  int64 // bytes that must stay free on the file system; files of less than 1 MiB are copied all the same
}

// smallFile is the size up to which the content of a file is in its digest, and up to which it
// is copied however little space is free.
const smallFile = 1 << 20

// Copier copies files of a project into a workspace. It overwrites nothing, follows no link on either
// side, and copies regular files and links only. It is not for several goroutines at a time.
type Copier struct {
	From, To *fsx.Tree
	Limits   Limits

	own    budget
	shared *budget // of the copier that this one works for; nil: its own
}

// Close deletes what unfinished copies have left, and releases both trees.
func (c *Copier) Close() {
	c.To.StageIn(StageDir)
	_, _ = c.To.ClearStage()
	c.From.Release()
	c.To.Release()
}

// Copy describes a file or a link as it was copied, for finding out later whether it was changed.
type Copy struct {
	Path string `json:"path"`
	Mode uint32 `json:"mode,omitempty"`
	Size int64  `json:"size,omitempty"`
	Time int64  `json:"time,omitempty"` // in nanoseconds since 1970
	Sum  string `json:"sum,omitempty"`  // of files up to 1 MiB that are no clones
	Link string `json:"link,omitempty"` // the target of a link
}

// SkipError says why a file was not copied. Its absence harms no other file.
type SkipError struct {
	Path string
	Why  croft.SkipReason
	Kept string // where an edit lies that could not stay in its place; usually empty
}

func (e *SkipError) Error() string { return fmt.Sprintf("%s was not copied: %s", e.Path, e.Why) }

// Copy copies one file or link. A file that cannot or must not be copied is a *SkipError; any other
// error means that the file system fails or is full.
func (c *Copier) Copy(name string, how fsx.Content) (Copy, error) {
	return c.copyAs(name, name, how, smallFile)
}

// copyAs copies a file or link to another name. A file of at most sum bytes gets a digest.
func (c *Copier) copyAs(name, as string, how fsx.Content, sum int64) (Copy, error) {
	skip := func(why croft.SkipReason) (Copy, error) { return Copy{}, &SkipError{Path: name, Why: why} }
	if strings.HasSuffix(name, "/") {
		return skip(croft.SkipRepository)
	}
	info, err := c.From.Lstat(name)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, fsx.ErrNotPlain):
		return skip(croft.SkipChanging) // it was there when it was listed
	case errors.Is(err, os.ErrPermission):
		return skip(croft.SkipUnreadable)
	case err != nil:
		return Copy{}, err
	}
	if why, err := c.blocked(as); why != "" || err != nil {
		return Copy{}, errOr(err, &SkipError{Path: name, Why: why})
	}
	switch {
	case info.Mode()&os.ModeSymlink != 0:
		return c.copyLink(name, as)
	case !info.Mode().IsRegular():
		return skip(croft.SkipSpecial)
	case how == fsx.ContentCloned:
		return c.copyFile(name, as, how, 0, sum)
	}
	if why := c.spent().take(info.Size(), c.Limits); why != "" {
		return skip(why)
	}
	if info.Size() > smallFile && !c.hasRoom(info.Size()) {
		c.spent().add(-info.Size(), -1)
		return skip(croft.SkipNoRoom)
	}
	return c.copyFile(name, as, how, info.Size(), sum)
}

func errOr(err error, other error) error {
	if err != nil {
		return err
	}
	return other
}

func (c *Copier) hasRoom(size int64) bool {
	if c.Limits.Free <= 0 {
		return true
	}
	free, _, err := fsx.FreeSpace(c.To.Path(""))
	return err != nil || free-size >= c.Limits.Free
}

// blocked says why nothing can be made at a name in the workspace.
func (c *Copier) blocked(name string) (croft.SkipReason, error) {
	_, err := c.To.Lstat(name)
	switch {
	case err == nil:
		return croft.SkipExists, nil
	case errors.Is(err, os.ErrNotExist):
		return "", nil
	case errors.Is(err, fsx.ErrNotPlain), fsx.IsNoPath(err):
		return croft.SkipBlocked, nil
	}
	return "", err
}

func (c *Copier) copyLink(name, as string) (Copy, error) {
	target, err := c.From.Readlink(name)
	if err != nil {
		return Copy{}, &SkipError{Path: name, Why: croft.SkipChanging}
	}
	if !staysInside(name, target) {
		return Copy{}, &SkipError{Path: name, Why: croft.SkipLink}
	}
	if why := c.spent().take(0, c.Limits); why != "" {
		return Copy{}, &SkipError{Path: name, Why: why}
	}
	if err := c.From.CopyLink(as, target, c.To); err != nil {
		c.spent().add(0, -1)
		return Copy{}, c.explain(name, err)
	}
	return Copy{Path: name, Link: target}, nil
}

// staysInside reports whether a link leads to a place in the checkout that is not in its git directory.
func staysInside(name, target string) bool {
	if target == "" || path.IsAbs(target) || strings.ContainsRune(target, '\\') && os.PathSeparator == '\\' {
		return false
	}
	to := path.Join(path.Dir(name), target)
	top, _, _ := strings.Cut(to, "/")
	return top != ".." && !strings.EqualFold(top, ".git")
}

// copyFile copies or clones a file. Of a copy, so many bytes were taken from the budget; the file may have grown since.
func (c *Copier) copyFile(name, as string, how fsx.Content, taken, sum int64) (Copy, error) {
	left := int64(1 << 62)
	if c.Limits.Bytes > 0 {
		left = taken + c.Limits.Bytes - c.spent().bytesSoFar()
	}
	placed, err := c.From.CopyFile(name, fsx.Target{Tree: c.To, Name: as}, how, left, sum)
	switch {
	case err != nil && how == fsx.ContentCopied:
		c.spent().add(-taken, -1)
	case err == nil && how == fsx.ContentCopied:
		c.spent().add(placed.Info.Size()-taken, 0)
	}
	if err != nil {
		return Copy{}, c.explain(name, err)
	}
	return Copy{
		Path: name, Mode: uint32(placed.Info.Mode().Perm()), Size: placed.Info.Size(), Time: placed.Info.ModTime().UnixNano(), Sum: placed.Sum,
	}, nil
}

// explain turns the failures that concern one file into a *SkipError.
func (c *Copier) explain(name string, err error) error {
	why := croft.SkipReason("")
	switch {
	case errors.Is(err, fsx.ErrNoClone):
		return err
	case errors.Is(err, fsx.ErrChanging), errors.Is(err, fsx.ErrNotPlain), errors.Is(err, os.ErrNotExist):
		why = croft.SkipChanging
	case errors.Is(err, fsx.ErrTooLarge):
		why = croft.SkipTooLarge
	case errors.Is(err, os.ErrPermission):
		why = croft.SkipUnreadable
	case errors.Is(err, os.ErrExist):
		why = croft.SkipExists
	default:
		return err
	}
	return &SkipError{Path: name, Why: why}
}
