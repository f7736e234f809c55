package gitcmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/index"
)

// An agent can put a named pipe where git reads a file, and git would wait for it forever.
// So every call has a deadline, and Croft searches the directories of a call that takes
// long for a pipe much earlier.

// DefaultTimeout is the deadline of a call, unless the user sets another.
const DefaultTimeout = 30 * time.Minute

// firstSearch is the time after which Croft first searches for a pipe. Each further search
// comes after twice the time.
const firstSearch = 400 * time.Millisecond

// TimeoutError says that a git process did not end in time and was killed.
type TimeoutError struct {
	Verb  string
	After time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("git %s did not end within %v and was stopped", e.Verb, e.After)
}

// PipeError says that there is a pipe, a socket or a device where git reads a file, so
// that git would wait.
type PipeError struct {
	Verb string // of the git that was stopped; empty: none was started
	Path string
	Mode os.FileMode
}

// Unwrap returns [fsx.ErrNotPlain].
func (e *PipeError) Unwrap() error { return fsx.ErrNotPlain }

func (e *PipeError) Error() string {
	what := "a device"
	switch {
	case e.Mode&os.ModeNamedPipe != 0:
		what = "a pipe"
	case e.Mode&os.ModeSocket != 0:
		what = "a socket"
	}
	if e.Verb == "" {
		return fmt.Sprintf("%s is %s, where git reads a file", e.Path, what)
	}
	return fmt.Sprintf("git %s was stopped: %s is %s, where git reads a file", e.Verb, e.Path, what)
}

// IsStopped reports whether Croft stopped git: after its deadline, or because it would
// have waited for a pipe.
func IsStopped(err error) bool {
	_, late := errors.AsType[*TimeoutError](err)
	_, blocked := errors.AsType[*PipeError](err)
	return late || blocked
}

// WatchDeadline bounds the time of a call. The context that it returns ends with a
// *TimeoutError or a *PipeError as its cause; the caller calls end when the call has
// ended.
func (g *Git) WatchDeadline(ctx context.Context, d Target, c Call) (watched context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watcher{target: d, call: c, verb: verbOf(c.Args), begun: time.Now(), limit: g.Options.Timeout, cancel: cancel, ctx: ctx}
	if w.limit <= 0 {
		w.limit = DefaultTimeout
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next = min(firstSearch, w.limit)
	w.timer = time.AfterFunc(w.next, w.stopIfStuck)
	return ctx, w.end
}

// watcher watches one call.
type watcher struct {
	target Target
	call   Call
	verb   string
	begun  time.Time
	limit  time.Duration
	cancel context.CancelCauseFunc
	ctx    context.Context

	mu    sync.Mutex
	timer *time.Timer
	next  time.Duration
	ended bool
}

func (w *watcher) end() {
	w.mu.Lock()
	w.ended = true
	w.timer.Stop()
	w.mu.Unlock()
	w.cancel(nil)
}

// stopIfStuck is called by the timer. It cancels the call if its time is over or if git
// would wait for a pipe, and otherwise sets the timer for the next look.
func (w *watcher) stopIfStuck() {
	if left := w.limit - time.Since(w.begun); left <= 0 {
		w.cancel(&TimeoutError{w.verb, w.limit})
		return
	}
	if found := w.target.findBlocking(w.ctx, w.call); found != nil {
		found.Verb = w.verb
		w.cancel(found)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		w.next *= 2
		w.timer.Reset(min(w.next, max(0, w.limit-time.Since(w.begun))))
	}
}

// verbOf returns the command among git's arguments.
func verbOf(args []string) string {
	for i, a := range args {
		isValue := i > 0 && args[i-1] == "-c"
		if !isValue && !strings.HasPrefix(a, "-") {
			return a
		}
	}
	return ""
}

// The files that git reads in a git directory, and in a checkout.
var (
	ReadInGitDir = []string{
		"HEAD", "index", "commondir", "gitdir", "config.worktree", "MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "AUTO_MERGE", "ORIG_HEAD",
		"CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "FETCH_HEAD", "BISECT_START", "logs/HEAD", "info/sparse-checkout",
	}
	ReadInCommon = []string{
		"packed-refs", "config", "shallow", "info/exclude", "info/attributes", "info/grafts", "objects/info/alternates", "objects/info/commit-graph",
		"objects/pack/multi-pack-index", "refs/stash",
	}
	readInWork = []string{".git", ".gitignore", ".gitattributes", ".gitmodules", ".mailmap"}
)

// writtenInGitDir are the files of a git directory that git opens for writing instead of
// renaming a new file, so that it would write through a symbolic link.
var writtenInGitDir = []string{
	"logs", "logs/HEAD", "MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "SQUASH_MSG", "AUTO_MERGE", "ORIG_HEAD", "info", "info/sparse-checkout",
}

// refuseBlocking fails with a *PipeError before git is started, after a look at the few
// files that git always opens. It fails with KindIndex if the index would take git all memory.
func (d Target) refuseBlocking(c Call) error {
	if d.Repo == nil {
		return nil
	}
	dir := d.gitDirectory()
	for _, path := range []string{filepath.Join(dir, "HEAD"), filepath.Join(d.Repo.CommonDir, "packed-refs")} {
		if info, err := os.Lstat(path); err == nil && blocks(info.Mode()) {
			return &PipeError{Path: path, Mode: info.Mode()}
		}
	}
	if d.Work != "" {
		for _, name := range readInWork {
			path := filepath.Join(d.Work, name)
			if info, err := os.Lstat(path); err == nil && blocks(info.Mode()) && !IsNull(info) {
				return &PipeError{Path: path, Mode: info.Mode()}
			}
		}
	}
	file := filepath.Join(dir, "index")
	if info, err := os.Lstat(file); err == nil && !info.Mode().IsRegular() {
		return &fsx.LinkError{Path: file, Mode: info.Mode()}
	}
	if err := d.refuseHugeIndex(dir, c); err != nil {
		return err
	}
	if !c.Locks {
		return nil
	}
	for _, name := range writtenInGitDir {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			return &fsx.LinkError{Path: path, Mode: info.Mode()}
		}
	}
	return nil
}

// refuseHugeIndex fails with KindIndex if an index that git will read may take far more memory than its file. A call
// without a checkout reads none.
func (d Target) refuseHugeIndex(dir string, c Call) error {
	var files []string
	for _, v := range c.Env {
		if file, ok := strings.CutPrefix(v, "GIT_INDEX_FILE="); ok {
			files = append(files, file)
		}
	}
	if len(files) == 0 && d.Work != "" {
		shared, _ := filepath.Glob(filepath.Join(gitdir.GlobLiteral(dir), "sharedindex.*"))
		files = append(shared, filepath.Join(dir, "index"))
	}
	for _, file := range files {
		if err := index.CheckSize(file, d.Repo.ObjectFormat().Size()); err != nil {
			return &Error{Args: c.Args, Dir: d.Work, ExitCode: -1, Stderr: "fatal: the index is too large, or damaged: " + file, Kind: KindIndex, Err: err}
		}
	}
	return nil
}

// blocks reports whether opening or reading a file of this mode may wait for another
// process, as with a named pipe, or for a device.
func blocks(mode os.FileMode) bool {
	return mode&(os.ModeNamedPipe|os.ModeSocket|os.ModeDevice|os.ModeCharDevice|os.ModeIrregular) != 0
}

// MaxExamined bounds how many files are examined when a call takes long.
const MaxExamined = 1_000_000

var errFound = errors.New("found")

// area is a directory in which git reads files.
type area struct {
	root string
	any  bool // examine every file, not only those that git reads by name
}

// nestedGit is part of every path in the git directory of a repository inside a checkout.
const nestedGit = string(filepath.Separator) + ".git" + string(filepath.Separator)

// findBlocking returns a pipe that git may be waiting for.
func (d Target) findBlocking(ctx context.Context, c Call) (found *PipeError) {
	if d.Repo == nil {
		return nil
	}
	common, dir := d.Repo.CommonDir, d.gitDirectory()
	var places []string
	for _, name := range ReadInGitDir {
		places = append(places, filepath.Join(dir, filepath.FromSlash(name)))
	}
	for _, name := range ReadInCommon {
		places = append(places, filepath.Join(common, filepath.FromSlash(name)))
	}
	shared, _ := filepath.Glob(filepath.Join(gitdir.GlobLiteral(dir), "sharedindex.*"))
	for _, path := range append(places, shared...) {
		if info, err := os.Stat(path); err == nil && blocks(info.Mode()) {
			return &PipeError{Path: path, Mode: info.Mode()}
		}
	}
	areas := []area{{filepath.Join(common, "refs"), true}, {filepath.Join(common, "worktrees"), true}, {d.Work, false}}
	for _, dir := range d.objectDirs(c) {
		areas = append(areas, area{dir, true})
	}
	for _, area := range areas {
		if area.root == "" {
			continue
		}
		looked := 0
		_ = filepath.WalkDir(area.root, func(path string, e fs.DirEntry, err error) error {
			if looked++; looked > MaxExamined || ctx.Err() != nil {
				return errFound
			}
			if err != nil || e.IsDir() {
				return nil
			}
			if blocks(e.Type()) && (area.any || slices.Contains(readInWork, e.Name()) || strings.Contains(path[len(area.root):], nestedGit)) {
				if info, err := e.Info(); err == nil && IsNull(info) {
					return nil
				}
				found = &PipeError{Path: path, Mode: e.Type()}
				return errFound
			}
			return nil
		})
		if found != nil {
			return found
		}
	}
	return nil
}

// objectDirs returns the directories in which a call reads objects: the repository's, the
// one that it is given instead, and the alternates of both.
func (d Target) objectDirs(c Call) []string {
	own := []string{filepath.Join(d.Repo.CommonDir, "objects")}
	for _, kv := range c.Env {
		if dir, ok := strings.CutPrefix(kv, "GIT_OBJECT_DIRECTORY="); ok {
			own = append(own, dir)
		}
	}
	dirs := slices.Clone(own)
	for _, dir := range own {
		borrowed, _ := gitdir.AlternatesOf(dir) // as far as they can be read
		dirs = append(dirs, borrowed...)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
