package refs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitconfig"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/object"
)

// reflogger writes the reflogs of the refs that one transaction moves.
type reflogger struct {
	w     *writer
	files *fsx.Tree
	ctx   context.Context
	who   string
	made  *string // core.logAllRefUpdates, once it has been read
}

func (w *writer) logger(ctx context.Context, files *fsx.Tree) *reflogger {
	return &reflogger{w: w, files: files, ctx: ctx}
}

// add appends a move to the reflog of a ref. A reflog that is a symbolic link or no
// regular file is not written; [Repository.Unlogged] reports it, and the ref moves
// nevertheless.
func (l *reflogger) add(ref, old, now string) {
	if err := l.append(ref, old, now); err != nil {
		l.w.noteUnlogged(ref, err)
	}
}

// noteUnlogged records that the reflog of a ref could not be written.
func (w *writer) noteUnlogged(ref string, err error) {
	w.unlogged = append(w.unlogged, fmt.Errorf("the log of %s was not written: %w", ref, err))
	if len(w.unlogged) > maxUnlogged {
		w.unlogged = w.unlogged[1:]
	}
}

// LogHead appends to the reflog of a worktree's HEAD that the branch which is checked out
// there has moved, as git does. admin is the open git directory of the worktree.
func (r *Repository) LogHead(ctx context.Context, admin *fsx.Dir, old, now string) {
	writer := &r.writer
	writer.mu.Lock()
	defer writer.mu.Unlock()
	l := writer.logger(ctx, nil)
	logs, err := admin.MakeBelow("logs", 0o777)
	if err == nil {
		defer logs.Close()
		err = logs.Append("HEAD", []byte(l.line(old, now)), 0o666)
	}
	if err != nil {
		writer.noteUnlogged("HEAD", err)
	}
}

// maxUnlogged bounds how many failures to write a reflog are recorded.
const maxUnlogged = 20

// Unlogged returns the errors of writing reflogs since the last call of Unlogged, at most
// maxUnlogged.
func (r *Repository) Unlogged() []error {
	r.writer.mu.Lock()
	defer r.writer.mu.Unlock()
	errs := r.writer.unlogged
	r.writer.unlogged = nil
	return errs
}

func (l *reflogger) append(ref, old, now string) error {
	f, err := l.open("logs/" + ref)
	if errors.Is(err, os.ErrNotExist) {
		if !l.isEnabledFor(ref) {
			return nil
		}
		f, err = l.create("logs/" + ref)
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(l.line(old, now))
	return errors.Join(err, f.Close())
}

// line returns the line of a reflog for a move.
func (l *reflogger) line(old, now string) string {
	none := l.w.repo.ZeroOID()
	return fmt.Sprintf("%s %s %s\tcroft\n", cmp.Or(old, none), cmp.Or(now, none), object.Signature(l.committer(), time.Now()))
}

// open opens an existing reflog.
func (l *reflogger) open(log string) (*os.File, error) {
	d, err := l.files.Dir(gitdir.ParentDir(log))
	if err != nil {
		return nil, err
	}
	f, info, err := l.files.OpenRegular(d, log, os.O_WRONLY|os.O_APPEND)
	if err == nil && fsx.LinkCount(info) > 1 {
		_ = f.Close()
		err = &fsx.LinkError{Path: l.files.Path(log), Mode: info.Mode()}
	}
	return f, err
}

// create creates a reflog, and first removes empty directories in its place.
func (l *reflogger) create(log string) (*os.File, error) {
	if _, err := l.files.Dir(log); err == nil {
		if err := l.files.RemoveEmpty(log, refDepth); err != nil {
			return nil, err
		}
	}
	d, err := l.files.MakeDir(gitdir.ParentDir(log))
	if err != nil {
		return nil, err
	}
	return d.CreateShared(filepath.Base(filepath.FromSlash(log)))
}

// remove removes the reflog of a deleted ref, or empty directories in its place: a later
// branch of the same name must not continue it.
func (l *reflogger) remove(ref string) {
	log := "logs/" + ref
	d, err := l.files.Dir(gitdir.ParentDir(log))
	if err != nil {
		return
	}
	if info, err := d.Lstat(filepath.Base(filepath.FromSlash(log))); err != nil {
		return
	} else if info.IsDir() {
		_ = l.files.RemoveEmpty(log, refDepth)
	} else {
		_ = l.files.Remove(log)
	}
	l.files.RemoveEmptyUpwards(gitdir.ParentDir(log), func(dir string) bool { return strings.Count(dir, "/") < 3 })
}

// isEnabledFor reports whether a ref without a reflog gets one, by core.logAllRefUpdates.
func (l *reflogger) isEnabledFor(ref string) bool {
	if l.made == nil {
		value := ""
		entries, _ := gitconfig.ReadFile(l.w.repo.CommonPath("config"))
		for _, e := range entries {
			if e.Key == "core.logallrefupdates" {
				value = strings.ToLower(e.Value)
			}
		}
		l.made = &value
	}
	switch {
	case *l.made == "always":
		return true
	case *l.made == "" && l.w.repo.Bare || *l.made != "" && !gitconfig.IsTrue(*l.made):
		return false
	}
	return ref == "HEAD" || slices.ContainsFunc([]string{"refs/heads/", "refs/remotes/", "refs/notes/"}, func(prefix string) bool {
		return strings.HasPrefix(ref, prefix)
	})
}

// committer returns the identity for the reflog. Characters are removed that would end the
// line or the name.
func (l *reflogger) committer() string {
	if l.who != "" {
		return l.who
	}
	w := l.w
	s, err := w.repo.SettingsOf(l.ctx, w.repo.CommonDir)
	if err == nil && s != w.signer {
		w.who, w.signer = "", s
		if w.repo.Git.KnowsCommitter(s) {
			w.who, err = w.repo.Ident(l.ctx, s, "committer")
		}
	}
	l.who = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return -1
		}
		return c
	}, w.who)
	if err != nil || l.who == "" {
		l.who = gitcmd.UnknownCommitter
	}
	return l.who
}
