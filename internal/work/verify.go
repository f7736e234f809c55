package work

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
)

// isVerified reports whether a workspace was verified, or made, since the machine was
// started.
func isVerified(rec journal.Record) bool {
	boot := proc.Here().Boot
	return boot == "" || cmp.Or(rec.Verified, rec.Boot) == boot || rec.Workspace.Mode == croft.ModeLegacy
}

// RequireVerified refuses a workspace whose files look damaged. Croft calls it before it
// commits an agent's files or takes them into a review. It examines the files after each
// start of the machine until nothing is found, and costs nothing otherwise.
func (svc *Commits) RequireVerified(ctx context.Context, r *project.Project, rec journal.Record) error {
	found, err := svc.Verify(ctx, r, rec)
	if err != nil || len(found) == 0 {
		return err
	}
	return &croft.Error{
		Code: croft.WorkspaceBroken, Workspace: rec.Workspace.Name, Message: "its files look damaged since the machine was restarted",
		Details: strings.Join(found, "\n"),
		Hint:    "look with git status in " + shellword.Quote(rec.Workspace.Path) + ", then commit the files there that are right, and restore the others",
	}
}

// Verify examines the files of a workspace once after each start of the machine, and
// returns a sentence for each sign of damage; after twenty, one more says how many others
// there are. A power cut may leave files empty, and a worktree that was being removed looks
// healthy: its deletions would be committed. If nothing was found, that is recorded in the
// journal until the next start; rec is not changed, so with an old rec the files are
// examined again. Otherwise the next call examines the workspace again, because the user
// may have repaired it. Legacy and removed workspaces are not examined, nor are those of a
// plain directory.
func (svc *Commits) Verify(ctx context.Context, r *project.Project, rec journal.Record) ([]string, error) {
	if isVerified(rec) || r.Git == nil || rec.Workspace.State == croft.Trashed {
		return nil, nil
	}
	found, err := examineWorkspace(ctx, r, rec)
	if err != nil || len(found) > 0 {
		return found, err
	}
	return nil, svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		now, err := tx.Record(rec.Workspace.ID)
		if err != nil {
			return err
		}
		now.Verified = proc.Here().Boot
		return tx.PutRecord(now)
	})
}

// examineWorkspace examines everything that a commit of the workspace would contain.
func examineWorkspace(ctx context.Context, r *project.Project, rec journal.Record) ([]string, error) {
	if h := r.Trees.Health(project.SpecOf(rec)); h != checkout.Intact {
		return []string{"It is not a worktree any more: it is " + string(h) + "."}, nil
	}
	x := &examination{r: r, rec: rec, tree: r.Trees.At(project.SpecOf(rec)), boot: proc.BootTime()}
	for _, look := range []func(context.Context) error{x.examineRegistration, x.examineHistory, x.examineFiles, x.examineUntracked} {
		if err := look(ctx); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			x.addSuspicion("It cannot be examined: %v.", err)
		}
		if len(x.found) > 0 { // each step relies on what the steps before it examined
			break
		}
	}
	if more := len(x.found) - maxSuspicions; more > 0 {
		x.found = append(x.found[:maxSuspicions], fmt.Sprintf("There are %d more like these.", more))
	}
	return x.found, nil
}

// maxSuspicions is how many signs of damage are reported one by one.
const maxSuspicions = 20

type examination struct {
	r     *project.Project
	rec   journal.Record
	tree  *git.Worktree
	boot  time.Time
	found []string // a sentence for each sign of damage
}

func (x *examination) addSuspicion(format string, args ...any) {
	x.found = append(x.found, fmt.Sprintf(format, args...))
}

// examineRegistration examines the registration and the index of the workspace.
func (x *examination) examineRegistration(context.Context) error {
	if err := x.tree.CheckAdmin(); err != nil {
		x.addSuspicion("Its git directory was damaged: %v.", err)
	}
	return nil
}

// examineHistory checks that HEAD, and the objects that it has and the base does not,
// can be read. Git does not sync the objects that an agent commits.
func (x *examination) examineHistory(ctx context.Context) error {
	_, head, err := x.tree.Head(ctx)
	if err != nil {
		x.addSuspicion("Its HEAD cannot be read: %v.", err)
		return nil
	}
	if head == "" {
		return nil
	}
	commit, err := x.r.Git.Read(ctx, head)
	if err != nil || commit.Type != "commit" {
		x.addSuspicion("Its last commit, %s, cannot be read.", head)
		return nil
	}
	objects, err := x.r.Git.NewObjects(ctx, head, x.rec.Workspace.Base)
	if err != nil {
		x.addSuspicion("Something that its commits consist of is missing.")
		return nil
	}
	for _, oid := range objects {
		if _, err := x.r.Git.Read(ctx, oid); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			x.addSuspicion("Object %s, which its commits consist of, cannot be read.", oid)
		}
	}
	return nil
}

// examineFiles compares the tracked files with the index.
func (x *examination) examineFiles(ctx context.Context) error {
	index, err := x.tree.Index(ctx)
	if err != nil {
		x.addSuspicion("Its index cannot be read: %v.", err)
		return nil
	}
	tracked, missing := census{}, census{}
	for _, entry := range index.Entries {
		if entry.Stage != 0 || entry.Hidden || entry.Mode == "160000" {
			continue
		}
		tracked.count(entry.Path)
		info, err := os.Lstat(filepath.Join(x.tree.Path, filepath.FromSlash(entry.Path)))
		switch {
		case errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
			missing.count(entry.Path)
		case err != nil:
			return err
		default:
			if err := x.examineFile(ctx, entry, info); err != nil {
				return err
			}
		}
	}
	x.examineDeletions(tracked, missing)
	return nil
}

// examineFile examines a tracked file that was last written before the machine was
// started: it may not be empty, or hold only NUL bytes, unless the index has it so.
func (x *examination) examineFile(ctx context.Context, entry index.Entry, info os.FileInfo) error {
	blob, err := x.r.Git.Info(ctx, entry.OID)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		x.addSuspicion("What the index has of %s cannot be read.", entry.Path)
		return nil
	}
	if !info.Mode().IsRegular() || blob.Size == 0 || info.ModTime().After(x.boot) {
		return nil
	}
	if info.Size() == 0 {
		x.addSuspicion("%s is empty since before the machine was restarted, and what the index has of it is not.", entry.Path)
		return nil
	}
	zero, err := isZero(filepath.Join(x.tree.Path, filepath.FromSlash(entry.Path)))
	if err != nil || !zero {
		return err
	}
	if o, err := x.r.Git.Read(ctx, entry.OID); err == nil && len(bytes.Trim(o.Data, "\x00")) == 0 {
		return nil
	}
	x.addSuspicion("%s holds nothing but zero bytes since before the machine was restarted, and what the index has of it does.", entry.Path)
	return nil
}

// examineUntracked reports untracked files that were last written before the machine
// was started and hold only NUL bytes. It does not report empty files: an agent may
// have left them so.
func (x *examination) examineUntracked(ctx context.Context) error {
	for entry, err := range x.tree.Status(ctx, git.UntrackedAll, git.RefreshNothing) {
		if err != nil {
			return err
		}
		path := filepath.Join(x.tree.Path, filepath.FromSlash(entry.Path))
		info, err := os.Lstat(path)
		if !entry.IsUntracked() || err != nil || !info.Mode().IsRegular() || info.Size() == 0 || info.ModTime().After(x.boot) {
			continue
		}
		if zero, err := isZero(path); err == nil && zero {
			x.addSuspicion("%s, which was never committed, holds nothing but zero bytes since before the machine was restarted.", entry.Path)
		}
	}
	return nil
}

// isZero reports whether a file holds only NUL bytes. It reads the first 512 bytes, and
// more only if these are all NUL.
func isZero(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	buf := make([]byte, 512)
	for {
		n, err := f.Read(buf)
		if len(bytes.Trim(buf[:n], "\x00")) > 0 {
			return false, nil
		}
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		buf = slices.Grow(buf, 1<<16)[:1<<16]
	}
}

// census counts files by the topmost directory of their paths. Files in no directory
// count under "".
type census map[string]int

func (c census) count(path string) {
	top, _, below := strings.Cut(path, "/")
	if !below {
		top = ""
	}
	c[top]++
}

func (c census) total() (n int) {
	for _, k := range c {
		n += k
	}
	return n
}

// examineDeletions reports missing files if an interrupted removal may have deleted
// them: most of the files, or all files of a directory.
func (x *examination) examineDeletions(tracked, missing census) {
	if n, all := missing.total(), tracked.total(); 2*n > all {
		x.addSuspicion("%d of its %d files are missing, as an interrupted removal leaves it.", n, all)
		return
	}
	for _, top := range slices.Sorted(maps.Keys(tracked)) {
		if n := tracked[top]; top != "" && n > 1 && missing[top] == n {
			x.addSuspicion("All %d files of %s are missing, as an interrupted removal leaves it.", n, top)
		}
	}
}
