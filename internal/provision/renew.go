package provision

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
)

// While copies are replaced, files lie in StageDir:
//
//	PATH-SUM       the new file, until it has changed places with the copy; then the copy, until it was looked at
//	PATH-SUM.was   the copy, where two files cannot change places
//
// PATH is the digest of the copy's path, SUM that of the new content. So whoever finds such a file can tell the new one,
// which the project has, and the old copy, which is recorded, from an edit of the agent's, which nobody else has.

// StageDir is the directory at the top of a workspace in which copies lie that have no place yet, or no place any more.
const StageDir = asidePrefix + "copies"

// AsidePattern matches the names of StageDir, and of edits that could not stay in their place. git ignores them.
const AsidePattern = asidePrefix + "*"

const (
	asidePrefix = ".croft-old-"
	wasSuffix   = ".was"
)

// stageName is the beginning of the names that a copy and its successor have in StageDir.
func stageName(name string) string {
	sum := sha256.Sum256([]byte(name))
	return StageDir + "/" + hex.EncodeToString(sum[:]) + "-"
}

// Renew replaces a copy in the workspace by the project's file as it is now. Both change places in one step, and the
// copy is looked at afterwards: one that an agent has changed, or has open for writing, goes back, and is a *SkipError.
func (c *Copier) Renew(old Copy, how fsx.Content) (Copy, error) {
	if old.Sum == "" { // its content cannot be compared
		return Copy{}, &SkipError{Path: old.Path, Why: croft.SkipTooLarge}
	}
	fresh, sum, err := c.stageNew(old.Path, how)
	if err == nil {
		err = c.swap(old, sum)
	}
	if err != nil {
		return Copy{}, err
	}
	return fresh, nil
}

// stageNew copies the project's file of a name to StageDir, and returns the digest of its content.
func (c *Copier) stageNew(name string, how fsx.Content) (fresh Copy, sum string, err error) {
	c.To.StageIn(StageDir)
	half := stageName(name) + "new" // a name without a digest is never the copy's
	if fresh, err = c.copyAs(name, half, how, math.MaxInt64); err != nil {
		return Copy{}, "", err
	}
	if sum = fresh.Sum; fresh.Size > smallFile {
		fresh.Sum = ""
	}
	if sum == "" { // a link by now
		return Copy{}, "", errors.Join(c.To.Remove(half), &SkipError{Path: name, Why: croft.SkipChanging})
	}
	if err = c.To.MoveNew(half, stageName(name)+sum); err != nil {
		return Copy{}, "", errors.Join(err, c.To.Remove(half))
	}
	return fresh, sum, failpoint.Hit("provision.staged")
}

// swap lets a copy and the new file with a digest in StageDir change places, and deletes the copy if it is what was recorded.
func (c *Copier) swap(old Copy, sum string) error {
	stage := stageName(old.Path) + sum
	err := c.To.Exchange(stage, old.Path)
	if errors.Is(err, fsx.ErrNoExchange) {
		return c.replace(old, stage)
	}
	if err != nil {
		return errors.Join(c.explain(old.Path, err), c.To.Remove(stage))
	}
	if err := failpoint.Hit("provision.exchanged"); err != nil {
		return err
	}
	if c.isUnchanged(old, stage) {
		return c.To.Remove(stage)
	}
	kept, err := c.putBack(old.Path, stage, sum)
	return errors.Join(err, &SkipError{Path: old.Path, Why: croft.SkipChanging, Kept: kept})
}

// isUnchanged reports whether the file at a name has the content of a copy, and no process writes it.
func (c *Copier) isUnchanged(old Copy, at string) bool {
	old.Path = at
	return !c.isWritten(at) && compare(c.To, old, ByContent) == same
}

func (c *Copier) isWritten(name string) bool {
	f, err := openFile(c.To, name)
	if err != nil {
		return false
	}
	defer f.Close()
	return fsx.IsWritten(f)
}

// isSum reports whether a file has a content, and no process writes it.
func (c *Copier) isSum(name, sum string) bool {
	if c.isWritten(name) { // before its content: nobody begins to write what has no name any more
		return false
	}
	got, err := sumOf(c.To, name)
	return err == nil && got == sum
}

func (c *Copier) removeIfThere(name string) error {
	err := c.To.Remove(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// putBack lets an edit change places again with the new file. If that was edited meanwhile, too, the later edit is kept
// under another name, which is returned.
func (c *Copier) putBack(name, stage, sum string) (kept string, err error) {
	err = c.To.Exchange(stage, name)
	switch {
	case errors.Is(err, os.ErrNotExist): // the new file was deleted
		return "", c.To.MoveNew(stage, name)
	case errors.Is(err, fsx.ErrNoExchange):
		return c.keep(name, stage)
	case err != nil:
		return "", err
	case c.isSum(stage, sum):
		return "", c.To.Remove(stage)
	}
	return c.keep(name, stage)
}

// replace replaces a copy where two files cannot change places: for a moment nothing has its name.
func (c *Copier) replace(old Copy, stage string) error {
	was := stage + wasSuffix
	if err := c.To.MoveNew(old.Path, was); err != nil {
		return errors.Join(c.explain(old.Path, err), c.To.Remove(stage))
	}
	if err := failpoint.Hit("provision.moved"); err != nil {
		return err
	}
	if !c.isUnchanged(old, was) {
		kept, err := c.returnTo(old.Path, was)
		return errors.Join(err, c.To.Remove(stage), &SkipError{Path: old.Path, Why: croft.SkipChanging, Kept: kept})
	}
	err := c.To.MoveNew(stage, old.Path)
	if errors.Is(err, os.ErrExist) { // an agent's
		return errors.Join(c.To.Remove(stage), c.To.Remove(was), &SkipError{Path: old.Path, Why: croft.SkipChanging})
	}
	if err != nil {
		_, berr := c.returnTo(old.Path, was)
		return errors.Join(err, berr, c.removeIfThere(stage))
	}
	return c.To.Remove(was)
}

// returnTo moves a file to its name, or if that is taken keeps it under another one, which is returned.
func (c *Copier) returnTo(name, stage string) (kept string, err error) {
	err = c.To.MoveNew(stage, name)
	if errors.Is(err, os.ErrExist) {
		return c.keep(name, stage)
	}
	return "", err
}

// keep moves an edit to a name beside its own.
func (c *Copier) keep(name, stage string) (kept string, err error) {
	for n := 1; n <= 1000; n++ {
		kept = path.Join(path.Dir(name), asidePrefix+path.Base(name))
		if n > 1 {
			kept += "-" + strconv.Itoa(n)
		}
		if err = c.To.MoveNew(stage, kept); !errors.Is(err, os.ErrExist) {
			break
		}
	}
	if err != nil {
		return stage, err
	}
	return kept, nil
}

// Recover ends what processes that died have begun to replace, and deletes what they have left unfinished. It returns
// a *SkipError for each edit that could not stay in its place. What it cannot tell from an agent's file stays.
func (c *Copier) Recover(copies []Copy) (kept []*SkipError, err error) {
	c.To.StageIn(StageDir)
	names, err := c.To.ClearStage()
	if err != nil || len(names) == 0 {
		return nil, err
	}
	byStage := make(map[string]Copy, len(copies))
	for _, old := range copies {
		byStage[path.Base(stageName(old.Path))] = old
	}
	for _, name := range names {
		const digest = 2 * sha256.Size
		if len(name) <= digest {
			continue
		}
		old, isKnown := byStage[name[:digest+1]]
		if !isKnown {
			continue
		}
		at, err := c.recover(old, StageDir+"/"+name, name[digest+1:])
		if err != nil {
			return kept, err
		}
		if at != "" {
			kept = append(kept, &SkipError{Path: old.Path, Why: croft.SkipChanging, Kept: at})
		}
	}
	_, err = c.To.ClearStage()
	return kept, err
}

// recover ends what was begun with a file of StageDir. sum is the rest of its name.
func (c *Copier) recover(old Copy, stage, sum string) (kept string, err error) {
	sum, isMoved := strings.CutSuffix(sum, wasSuffix)
	_, gone := c.To.Lstat(old.Path)
	switch {
	case sum == "new": // not whole, or not begun with
		return "", c.To.Remove(stage)
	case !isMoved && c.isSum(stage, sum): // the new file, which the project has
		return "", c.To.Remove(stage)
	case errors.Is(gone, os.ErrNotExist):
		return c.returnTo(old.Path, stage)
	case c.isUnchanged(old, stage):
		return "", c.To.Remove(stage)
	case !isMoved && c.isSum(old.Path, sum): // the name has the new file, and here is the edit
		return c.putBack(old.Path, stage, sum)
	}
	return c.keep(old.Path, stage)
}

// AsRenewed describes a copy that differs from what was recorded and has the project's content of now: a process that
// died has renewed it.
func (c *Copier) AsRenewed(old Copy) (Copy, bool) {
	if old.Sum == "" || Drift(old, c.From, c.To) != croft.DriftDiverged {
		return Copy{}, false
	}
	return c.asProjects(old.Path, ByContent)
}

// AsCopied describes a file or link of the workspace that is exactly the project's, with its time: a process that
// died has copied it.
func (c *Copier) AsCopied(name string) (Copy, bool) { return c.asProjects(name, ByTime) }

// asProjects describes a file of the workspace that has the project's content. Its time counts if care is ByTime, and for large files.
func (c *Copier) asProjects(name string, care Care) (Copy, bool) {
	info, err := c.From.Lstat(name)
	if err != nil {
		return Copy{}, false
	}
	if info.Mode()&os.ModeSymlink != 0 {
		target, err := c.From.Readlink(name)
		now := Copy{Path: name, Link: target}
		return now, err == nil && compare(c.To, now, ByTime) == same
	}
	now := Copy{Path: name, Mode: uint32(info.Mode().Perm()), Size: info.Size(), Time: info.ModTime().UnixNano()}
	isTimed := care == ByTime || info.Size() > smallFile
	if !info.Mode().IsRegular() || isTimed && compare(c.To, now, ByTime) != same {
		return Copy{}, false
	}
	sum, err := sumOf(c.From, name)
	if err != nil {
		return Copy{}, false
	}
	if info.Size() <= smallFile {
		now.Sum = sum
		return now, compare(c.To, now, ByContent) == same
	}
	got, err := sumOf(c.To, name)
	return now, err == nil && got == sum
}
