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

// reflogger writes the logs of the refs that one transaction moves.
type reflogger struct {
	w     *writer
	files *fsx.Tree
	ctx   context.Context
	who   string
	made  *string // which refs get a log, once it is known
}

func (w *writer) logger(ctx context.Context, files *fsx.Tree) *reflogger {
	return &reflogger{w: w, files: files, ctx: ctx}
}

// add notes in a ref's log that it moved. A log that is a link or no file is not
// written; that is noted, and the ref moves nevertheless.
func (l *reflogger) add(ref, old, now string) {
	if err := l.append(ref, old, now); err != nil {
		l.w.note(ref, err)
	}
}

// note remembers that the log of a ref could not be written.
func (w *writer) note(ref string, err error) {
	w.unlogged = append(w.unlogged, fmt.Errorf("the log of %s was not written: %w", ref, err))
	if len(w.unlogged) > maxUnlogged {
		w.unlogged = w.unlogged[1:]
	}
}

// LogHead notes in the log of a worktree's HEAD that the branch which is checked
// out there has moved, as git does. The log is written in the git directory that
// is held.
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
		writer.note("HEAD", err)
	}
}

// maxUnlogged bounds how many failures to write a log are remembered.
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
		if !l.wants(ref) {
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

// line is what a log says of a move.
func (l *reflogger) line(old, now string) string {
	none := l.w.repo.ZeroOID()
	return fmt.Sprintf("%s %s %s\tcroft\n", cmp.Or(old, none), cmp.Or(now, none), object.Signature(l.committer(), time.Now()))
}

// open opens a log that is there.
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

// create makes a log, in the place of empty directories.
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

// drop removes the log of a ref that goes, or empty directories in its place:
// the next branch of the same name would go on with the log of another.
func (l *reflogger) drop(ref string) {
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

// wants reports whether a ref without a log gets one, by core.logAllRefUpdates.
func (l *reflogger) wants(ref string) bool {
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

// committer is who moves refs. It cannot end the line or be taken for more than
// a name and an address.
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
