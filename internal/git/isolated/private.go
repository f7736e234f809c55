package isolated

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/git/worktree"
	"github.com/croft-sh/croft/internal/proc"
)

// PrivateError says that the git directory of an isolated checkout is not as Croft made
// it, or that its HEAD, its index or the objects that these need cannot be read, so
// that Croft does not read from it. The files of the checkout are not affected. A git
// directory that is gone is no PrivateError: Change, Push and RetryPull return
// os.ErrNotExist then.
type PrivateError struct {
	Dir  string // the git directory
	What string // what is wrong, and where
}

func (e *PrivateError) Error() string { return fmt.Sprintf("%s: %s", e.Dir, e.What) }

// private is the open git directory of an isolated worktree. The agent can write
// everything in it, so Croft follows no symbolic link that leads out of it, and reads only
// regular files.
type private struct {
	w    *Worktree
	root *os.Root
}

func (w *Worktree) openPrivate() (*private, error) {
	dir := w.PrivateDir()
	if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
		return nil, &PrivateError{Dir: dir, What: "it is not a directory"}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &private{w, root}, nil
}

// holdPrivate opens the agent's git directory if its layout is as Croft made it, and locks
// out other Croft processes until release is called.
func (w *Worktree) holdPrivate(ctx context.Context) (p *private, release func(), err error) {
	if p, err = w.openPrivate(); err != nil {
		return nil, nil, err
	}
	if err = p.checkLayout(); err == nil {
		var l *flock.Lock
		if l, err = w.lockSync(ctx); err == nil {
			return p, func() { _ = l.Unlock(); p.close() }, nil
		}
	}
	p.close()
	return nil, nil, err
}

func (p *private) close() { _ = p.root.Close() }

func (p *private) wrongError(format string, args ...any) error {
	return &PrivateError{Dir: p.w.PrivateDir(), What: fmt.Sprintf(format, args...)}
}

// maxPrivate bounds how much is read of one file: no file of git's own that Croft reads is
// nearly as large.
const maxPrivate = 1 << 30

// read reads a regular file. It fails with os.ErrNotExist if there is none.
func (p *private) read(name string) ([]byte, error) {
	info, err := p.root.Lstat(filepath.FromSlash(name))
	if err != nil {
		return nil, asNotExist(err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxPrivate {
		return nil, p.wrongError("%s is not a file of git's", name)
	}
	return p.root.ReadFile(filepath.FromSlash(name))
}

// asNotExist turns the error of a path through a regular file into os.ErrNotExist.
func asNotExist(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return os.ErrNotExist
	}
	return err
}

// replace replaces a file atomically, without following a symbolic link.
func (p *private) replace(name string, data []byte) error {
	name = filepath.FromSlash(name)
	if err := p.root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	tmp := name + ".croft"
	_ = p.root.Remove(tmp)
	f, err := p.root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = fsx.SyncOpen(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return p.root.Rename(tmp, name)
}

// checkLayout fails unless the parts of the git directory that could redirect git
// elsewhere are as Croft made them.
func (p *private) checkLayout() error {
	for _, name := range []string{"objects", "objects/info", "objects/pack", "refs", "refs/heads"} {
		info, err := p.root.Lstat(filepath.FromSlash(name))
		if err != nil || !info.IsDir() {
			return p.wrongError("%s is not a directory", name)
		}
	}
	if _, err := p.root.Lstat("commondir"); err == nil {
		return p.wrongError("commondir makes it a part of another repository")
	}
	store, err := p.w.Repo.StoreOf(filepath.Base(p.w.Admin))
	if err != nil {
		return err
	}
	have, err := p.read("objects/info/alternates")
	if err != nil || !bytes.Equal(bytes.TrimRight(have, "\n"), []byte(gitdir.QuoteAlternate(store))) {
		return p.wrongError("objects/info/alternates was changed; it must be %s", gitdir.QuoteAlternate(store))
	}
	return nil
}

// checkObjects fails unless all objects are regular files in plain directories.
func (p *private) checkObjects() error {
	return fs.WalkDir(p.root.FS(), "objects", func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // a git process of the agent's has just removed it
		case err != nil:
			return err
		case !d.IsDir() && !d.Type().IsRegular():
			return p.wrongError("%s is neither a file nor a directory", name)
		}
		return nil
	})
}

// privateState is the content of the agent's git directory at one moment.
type privateState struct {
	Head  string            `json:"head"`
	Refs  map[string]string `json:"refs,omitempty"`
	Files map[string]string `json:"files,omitempty"` // size and mtime of the index and of the files of an operation in progress
	Stash string            `json:"stash,omitempty"` // the reflog of refs/stash
	// Inner has the commits that are checked out in worktrees which the agent added, by
	// the worktree's name.
	Inner map[string]string `json:"inner,omitempty"`
}

func (s privateState) equal(other privateState) bool {
	return s.Head == other.Head && s.Stash == other.Stash && maps.Equal(s.Refs, other.Refs) && maps.Equal(s.Files, other.Files) && maps.Equal(s.Inner, other.Inner)
}

// hasTips reports whether other names the same objects as s, with a branch at head.
func (s privateState) hasTips(other privateState, branch, head string) bool {
	refs := maps.Clone(s.Refs)
	if branch != "" && head != "" && refs != nil {
		refs["refs/heads/"+branch] = head
	}
	return s.Stash == other.Stash && maps.Equal(refs, other.Refs) && maps.Equal(s.Inner, other.Inner)
}

// resolve returns the branch and the commit that HEAD names.
func (s privateState) resolve() (branch, oid string) {
	ref, ok := strings.CutPrefix(s.Head, "ref: ")
	if !ok {
		return "", s.Head
	}
	return strings.TrimPrefix(ref, "refs/heads/"), s.Refs[ref]
}

// maxRefs is how many refs, and how many worktrees, an agent may have. With more refs nothing
// is pulled from its git directory.
const maxRefs = 50_000

// state reads the agent's git directory.
func (p *private) state() (privateState, error) {
	s := privateState{Refs: map[string]string{}, Files: map[string]string{}}
	var err error
	if s.Head, err = p.readHead("HEAD"); errors.Is(err, os.ErrNotExist) {
		err = p.wrongError("HEAD cannot be read")
	}
	if err != nil {
		return s, err
	}
	if err := p.readRefs(s.Refs); err != nil {
		return s, err
	}
	s.Stash = p.readStash()
	s.Inner, _ = p.innerHeads(s.Refs) // a worktree that cannot be read must not prevent the pull of the rest
	note := func(name string) {
		if info, err := p.root.Lstat(filepath.FromSlash(name)); err == nil && info.Mode().IsRegular() {
			s.Files[name] = stampOf(info)
		}
	}
	note("index")
	for _, name := range gitdir.ProgressPaths(p.root.FS()) {
		note(name)
	}
	return s, nil
}

// readHead reads the HEAD of the git directory, or that of a worktree which the agent
// added, as privateState has it. It fails with os.ErrNotExist if there is none.
func (p *private) readHead(name string) (string, error) {
	b, err := p.read(name)
	oid, ref := gitdir.ParseRefFile(b)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", err
	case err != nil:
		return "", p.wrongError("%s cannot be read", name)
	case strings.HasPrefix(ref, "refs/") && gitdir.CanBeRef(ref):
		return "ref: " + ref, nil
	case ref == "" && p.isOID(oid):
		return oid, nil
	}
	return "", p.wrongError("%s names nothing that can be checked out", name)
}

func stampOf(info os.FileInfo) string {
	return fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
}

func (p *private) isOID(s string) bool {
	return len(s) == p.w.Repo.ObjectFormat().HexLen() && object.IsOID(s)
}

// readRefs reads all refs: packed-refs, and then the loose refs, which take precedence.
func (p *private) readRefs(refs map[string]string) error {
	packed, err := p.read("packed-refs")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for line := range strings.Lines(string(packed)) {
		oid, name, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok && p.isOID(oid) && strings.HasPrefix(name, "refs/") && gitdir.CanBeRef(name) {
			refs[name] = oid
		}
	}
	symbolic := map[string]string{}
	err = fs.WalkDir(p.root.FS(), "refs", func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			return p.wrongError("%s is not a file", name)
		case strings.HasSuffix(name, ".lock") || !gitdir.CanBeRef(name) || len(refs) > maxRefs:
			return nil
		}
		b, err := p.read(name)
		if err != nil {
			return nil // the ref was just deleted
		}
		if oid, target := gitdir.ParseRefFile(b); target != "" {
			symbolic[name] = target
		} else if p.isOID(oid) {
			refs[name] = oid
		}
		return nil
	})
	for name, target := range symbolic {
		if oid, ok := refs[target]; ok {
			refs[name] = oid
		}
	}
	if err == nil && len(refs) > maxRefs {
		err = p.wrongError("it has more than %d refs", maxRefs)
	}
	return err
}

// pendingOIDs returns the commits that an operation in progress and the reflog of HEAD
// name.
func (p *private) pendingOIDs() []string {
	oids := worktree.PendingOIDs(p.read)
	if b, err := p.read("logs/HEAD"); err == nil {
		oids = append(oids, worktree.ReflogOIDs(b)...)
	}
	return slices.DeleteFunc(oids, func(oid string) bool { return !p.isOID(oid) || oid == p.w.Repo.ZeroOID() })
}

// SyncState is what the agent's git directory and the repository last agreed on. If it
// is lost, everything in the agent's git directory counts as new, the branch is the one
// that the admin directory has checked out and moves only forward, and a Change whose
// result was not copied to the agent is not copied any more.
type SyncState struct {
	Branch  string            `json:"branch,omitempty"` // the workspace's own branch
	Base    string            `json:"base,omitempty"`
	Private privateState      `json:"private"`
	Staged  string            `json:"staged,omitempty"`    // what was staged there
	Tip     string            `json:"tip,omitempty"`       // where the repository's branch was
	Next    string            `json:"next,omitempty"`      // where a pull was about to move it
	Apart   bool              `json:"apart,omitempty"`     // the branch could not follow the agent's
	Pushed  map[string]string `json:"delivered,omitempty"` // refs that Push wrote
	Shown   map[string]string `json:"shown,omitempty"`     // refs that were written when the checkout was made
	// Left is what the last pull could not copy.
	Left []Unpulled `json:"left,omitempty"`
	// Pending says that an operation was about to change the repository's side, and that
	// the agent's git directory has not been updated since.
	Pending bool `json:"pending,omitempty"`
	// Boot identifies the boot of the machine during which this was written. The copies
	// are not synced to disk, so after a power cut everything is pulled again.
	Boot string `json:"boot,omitempty"`
}

// SyncStateDir is the directory of the worktree's SyncState.
func (w *Worktree) SyncStateDir() string { return w.Repo.SyncStateDirOf(filepath.Base(w.Admin)) }

// readSyncState reads the state of the last synchronisation, without the state of the
// agent's git directory if that is from before the last boot.
func (w *Worktree) readSyncState() SyncState {
	s := w.readSyncFile()
	if s.Boot != proc.Here().Boot {
		s.Private = privateState{}
	}
	return s
}

// readSyncFile reads the state of the last synchronisation, even one from before the last
// boot.
func (w *Worktree) readSyncFile() SyncState {
	var s SyncState
	if b, err := os.ReadFile(filepath.Join(w.SyncStateDir(), "state")); err == nil {
		_ = json.Unmarshal(b, &s)
	}
	if s.Branch == "" && s.Base == "" {
		s.Branch, _, _ = w.Repo.RefSnapshot().Head(w.Admin)
	}
	return s
}

// WriteSyncState records the state of the last synchronisation.
func (w *Worktree) WriteSyncState(s SyncState) error {
	s.Boot = proc.Here().Boot
	return w.writeSyncFile(s)
}

func (w *Worktree) writeSyncFile(s SyncState) error {
	if err := os.MkdirAll(w.SyncStateDir(), 0o777); err != nil {
		return err
	}
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return fsx.ReplaceFile(filepath.Join(w.SyncStateDir(), "state"), b, 0o644)
}

// PrivateHead returns the branch and the commit that the agent of an isolated checkout has
// checked out, read from the agent's own files without a pull. For any other worktree it
// is Head, read without starting a process.
func (w *Worktree) PrivateHead(refs *refs.Reader) (branch, oid string, err error) {
	if !w.IsIsolated() {
		return refs.Head(w.Admin)
	}
	p, err := w.openPrivate()
	if err != nil {
		return "", "", err
	}
	defer p.close()
	b, err := p.read("HEAD")
	if err != nil {
		return "", "", err
	}
	oid, ref := gitdir.ParseRefFile(b)
	if ref == "" {
		return "", oid, nil
	}
	if b, err := p.read(ref); err == nil {
		oid, _ = gitdir.ParseRefFile(b)
	} else if b, err := p.read("packed-refs"); err == nil {
		_, rest, _ := bytes.Cut(b, []byte(" "+ref+"\n"))
		line := b[:len(b)-len(rest)]
		line = bytes.TrimSuffix(line, []byte(" "+ref+"\n"))
		oid = string(line[bytes.LastIndexByte(line, '\n')+1:])
	}
	if !p.isOID(oid) {
		oid = ""
	}
	return strings.TrimPrefix(ref, "refs/heads/"), oid, nil
}

// OwnTips returns, as of the last pull since the machine was started, the objects that
// refs of the agent's other than the workspace's branch name (of the stashes the newest
// only) and the HEADs of worktrees that the agent added. It leaves out the base and
// what Push wrote.
func (w *Worktree) OwnTips() []string {
	if !w.IsIsolated() {
		return nil
	}
	last := w.readSyncState()
	var tips []string
	for name, oid := range last.Private.Refs {
		if name != "refs/heads/"+last.Branch && last.Pushed[name] != oid && oid != last.Base {
			tips = append(tips, oid)
		}
	}
	for _, oid := range last.Private.Inner {
		if oid != "" && oid != last.Base {
			tips = append(tips, oid)
		}
	}
	slices.Sort(tips)
	return slices.Compact(tips)
}

// ResetSync makes the next pull copy everything again. What the agent's git directory was
// is not forgotten: a pending change must not overwrite newer work.
func (w *Worktree) ResetSync() error {
	state := w.readSyncFile()
	state.Boot = "reset"
	return w.writeSyncFile(state)
}

// ShareExcludes adds the ignore patterns of the repository to those of an isolated
// checkout.
func (w *Worktree) ShareExcludes() error {
	if !w.IsIsolated() {
		return nil
	}
	p, err := w.openPrivate()
	if err != nil {
		return err
	}
	defer p.close()
	return p.copyExcludes()
}
