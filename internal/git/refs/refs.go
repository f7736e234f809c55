package refs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitconfig"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/writers"
)

// Update moves one ref by compare-and-swap. An empty New deletes the ref;
// an empty Old means that it must not exist yet. With both empty nothing
// moves, but the ref must not exist.
type Update struct{ Ref, New, Old string }

// UpdateRefs moves refs in one transaction: all of them, or none. A ref that
// is not where Old says fails with KindRefStale.
func (r *Repository) UpdateRefs(ctx context.Context, updates ...Update) error {
	return r.UpdateRefsAfter(ctx, nil, updates...)
}

// UpdateRefsAfter moves refs like UpdateRefs. When all of them are locked and
// known to be where Old says, and before any moves, it calls meanwhile; if that
// fails, none moves. meanwhile must not move refs itself.
func (r *Repository) UpdateRefsAfter(ctx context.Context, meanwhile func() error, updates ...Update) error {
	unsynced, err := r.moveRefs(ctx, meanwhile, updates)
	if err != nil {
		return err
	}
	return fsx.SyncAll(unsynced...)
}

// MoveRefs moves refs like UpdateRefs, but the caller has to sync the
// directories that it returns before anything may depend on the refs.
// Directories that are synced together cost one wait for the disk.
func (r *Repository) MoveRefs(ctx context.Context, updates ...Update) (unsynced []string, err error) {
	return r.moveRefs(ctx, nil, updates)
}

func (r *Repository) moveRefs(ctx context.Context, meanwhile func() error, updates []Update) ([]string, error) {
	if len(updates) == 0 {
		return nil, nil
	}
	for _, u := range updates {
		if !gitdir.IsRefName(u.Ref) {
			return nil, fmt.Errorf("not a ref: %q", u.Ref)
		}
		for _, oid := range []string{u.New, u.Old} {
			if oid != "" && (!object.IsOID(oid) || len(oid) != r.ObjectFormat().HexLen()) {
				return nil, fmt.Errorf("%s: not the name of an object: %q", u.Ref, oid)
			}
		}
	}
	if !r.NativeRefs() {
		return nil, r.UpdateByGit(ctx, meanwhile, updates)
	}
	dirs := r.RefDirs(updates)
	return dirs, r.writer.transact(ctx, meanwhile, updates)
}

// DropRemains removes what a git that was killed left of refs since a time:
// their locks, and the reflogs of refs that it did not get to make. The caller
// knows that none of its own processes is at work on these refs. A lock that is
// older, or that somebody who is alive may hold, stays.
func (r *Repository) DropRemains(since time.Time, refs ...string) {
	if !r.NativeRefs() {
		return
	}
	deadline := time.Now().Add(writers.LockTime)
	files := fsx.OpenTree(r.CommonDir)
	defer files.Close()
	for _, ref := range refs {
		if !gitdir.IsRefName(ref) {
			continue
		}
		r.DropLocks(writers.Dead{Locks: []string{ref + ".lock"}, Since: since}, deadline)
		if _, err := r.RefSnapshot().Ref(ref); !errors.Is(err, ErrNoRef) {
			continue
		}
		if _, _, ok := r.LockFile("logs/"+ref, since); ok {
			_ = files.Remove("logs/" + ref)
		}
	}
}

// Ref is a ref and the object that it names.
type Ref struct{ Name, OID string }

// Refs lists the refs under prefixes, such as "refs/croft/ws/".
func (r *Repository) Refs(ctx context.Context, prefixes ...string) ([]Ref, error) {
	args := append([]string{"for-each-ref", "--format=%(objectname) %(refname)", "--"}, prefixes...)
	out, err := r.RunGit(ctx, args...)
	if err != nil {
		return nil, err
	}
	var refs []Ref
	for line := range bytes.Lines(out) {
		oid, name, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		if ok {
			refs = append(refs, Ref{name, oid})
		}
	}
	return refs, nil
}

// FindRefs lists the refs whose names are a prefix, one word, a slash and a
// last word. Among very many, one that has a file of its own is found without
// reading the others.
func (r *Repository) FindRefs(ctx context.Context, prefix, last string) ([]Ref, error) {
	if r.NativeRefs() {
		words, err := os.ReadDir(filepath.Join(r.CommonDir, filepath.FromSlash(prefix)))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		for _, word := range words {
			name := prefix + word.Name() + "/" + last
			if _, err := os.Lstat(filepath.Join(r.CommonDir, filepath.FromSlash(name))); err != nil {
				continue
			}
			if oid, err := r.ReadRef(ctx, name); err == nil {
				return []Ref{{name, oid}}, nil
			}
		}
	}
	return r.Refs(ctx, prefix+"*/"+last)
}

// ErrNoRef says that a ref does not exist.
var ErrNoRef = errors.New("no such ref")

// ReadRef returns the object that a full ref name leads to.
func (r *Repository) ReadRef(ctx context.Context, ref string) (string, error) {
	if r.NativeRefs() {
		return r.RefSnapshot().Ref(ref)
	}
	out, err := r.RunGit(ctx, "for-each-ref", "--format=%(objectname) %(refname)", "--", ref)
	if err != nil {
		return "", err
	}
	for line := range bytes.Lines(out) {
		oid, name, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		if name == ref {
			return oid, nil
		}
	}
	return "", ErrNoRef
}

// ReadRefs returns what refs name, without those that are not there. Packed refs
// are read once for all of them.
func (r *Repository) ReadRefs(ctx context.Context, names ...string) (map[string]string, error) {
	at := make(map[string]string, len(names))
	if r.NativeRefs() {
		now := r.RefSnapshot()
		for _, name := range names {
			oid, err := now.Ref(name)
			if err != nil && !errors.Is(err, ErrNoRef) {
				return nil, err
			}
			if err == nil {
				at[name] = oid
			}
		}
		return at, nil
	}
	for some := range slices.Chunk(names, refsInOneCall) {
		list, err := r.Refs(ctx, some...)
		if err != nil {
			return nil, err
		}
		for _, ref := range list {
			if slices.Contains(some, ref.Name) { // and not one below it
				at[ref.Name] = ref.OID
			}
		}
	}
	return at, nil
}

// refsInOneCall is how many names are given to one git.
const refsInOneCall = 200

// Blocking returns an existing branch that cannot stand beside the given one,
// because one of the two names is a directory of the other.
func (r *Repository) Blocking(ctx context.Context, branch string) (string, error) {
	for i := strings.LastIndexByte(branch, '/'); i > 0; i = strings.LastIndexByte(branch[:i], '/') {
		_, err := r.ReadRef(ctx, "refs/heads/"+branch[:i])
		if err == nil {
			return branch[:i], nil
		}
		if !errors.Is(err, ErrNoRef) {
			return "", err
		}
	}
	refs, err := r.Refs(ctx, "refs/heads/"+branch+"/")
	if err != nil || len(refs) == 0 {
		return "", err
	}
	return strings.TrimPrefix(refs[0].Name, "refs/heads/"), nil
}

// Reader reads refs from git's files. Packed refs are read once, so a
// reader serves one listing and is then thrown away.
type Reader struct {
	repo   *Repository
	packed func() *packedRefs
}

// RefSnapshot returns a reader of the refs as they are now.
func (r *Repository) RefSnapshot() *Reader {
	return &Reader{repo: r, packed: sync.OnceValue(r.packed)}
}

// Ref returns the object that a full ref name leads to, or ErrNoRef. A ref
// that is there and cannot be read is another error: it is not free.
func (s *Reader) Ref(ref string) (string, error) {
	for range 5 { // git follows no more symbolic refs either
		if !filepath.IsLocal(ref) || path.Clean(ref) != ref {
			return "", ErrNoRef
		}
		b, err := gitdir.ReadRefFile(filepath.Join(s.repo.CommonDir, filepath.FromSlash(ref)))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		if err != nil {
			if oid, ok := s.packed().find(ref); ok {
				return oid, nil
			}
			// It may have been packed after packed-refs was read.
			packed := s.repo.packed()
			if oid, ok := packed.find(ref); ok {
				return oid, nil
			}
			return "", cmp.Or(packed.err, ErrNoRef)
		}
		text, next := gitdir.ParseRefFile(b)
		if next == "" {
			if !object.IsOID(text) {
				return "", fmt.Errorf("%s is broken: %.80q", ref, text)
			}
			return text, nil
		}
		ref = next
	}
	return "", ErrNoRef
}

// Head returns the branch and the commit that are checked out in a git
// directory. The branch is empty when HEAD is detached; the commit is empty
// when the branch has none yet.
func (s *Reader) Head(gitDir string) (branch, oid string, err error) {
	b, err := gitdir.ReadRefFile(filepath.Join(gitDir, "HEAD"))
	if err != nil {
		return "", "", err
	}
	text, ref := gitdir.ParseRefFile(b)
	if ref == "" {
		if !object.IsOID(text) {
			return "", "", fmt.Errorf("%s: not a HEAD: %.80q", gitDir, text)
		}
		return "", text, nil
	}
	oid, err = s.Ref(ref)
	if errors.Is(err, ErrNoRef) {
		err = nil
	}
	return strings.TrimPrefix(ref, "refs/heads/"), oid, err
}

// HeadOf returns what a git directory has checked out, by asking git. It is
// for ref storages that cannot be read as files.
func (r *Repository) HeadOf(ctx context.Context, gitDir string) (branch, oid string, err error) {
	d := gitcmd.Target{Repo: r.Core(), GitDir: gitDir}
	out, err := r.Git.Run(ctx, d, gitcmd.Call{Args: []string{"symbolic-ref", "--quiet", "HEAD"}})
	if err == nil {
		branch = strings.TrimPrefix(strings.TrimSpace(string(out)), "refs/heads/")
	} else if gitcmd.ExitCode(err) != 1 {
		return "", "", err
	}
	out, err = r.Git.Run(ctx, d, gitcmd.Call{Args: []string{"rev-parse", "--quiet", "--verify", "HEAD^{commit}"}})
	if gitcmd.ExitCode(err) == 1 {
		return branch, "", nil
	}
	return branch, strings.TrimSpace(string(out)), err
}

// SymbolicRef returns the ref that a symbolic ref names, or "".
func (r *Repository) SymbolicRef(ctx context.Context, ref string) (string, error) {
	out, err := r.RunGit(ctx, "symbolic-ref", "--quiet", ref)
	if gitcmd.ExitCode(err) == 1 {
		return "", nil
	}
	return strings.TrimSpace(string(out)), err
}

// HasRemote reports whether the repository has a remote of that name.
func (r *Repository) HasRemote(name string) (bool, error) {
	h, err := r.EnsureHostDir()
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(h.Entries, func(e gitconfig.Entry) bool {
		return e.Key == "remote."+name+".url" && e.Class() == gitconfig.ClassPinned
	}), nil
}

// CheckedOut reports where a branch is checked out: the git directories, but
// for the one given. A branch that is being rebased or bisected counts, as it
// does for git, although HEAD is detached meanwhile.
func (r *Repository) CheckedOut(branch, except string) []string {
	dirs := []string{r.CommonDir}
	admins, _ := os.ReadDir(filepath.Join(r.CommonDir, "worktrees"))
	for _, a := range admins {
		dirs = append(dirs, filepath.Join(r.CommonDir, "worktrees", a.Name()))
	}
	isolated, _ := os.ReadDir(r.IsolatedDir())
	for _, a := range isolated {
		dirs = append(dirs, filepath.Join(r.IsolatedDir(), a.Name()))
	}
	var found []string
	for _, dir := range dirs {
		if dir == except || dir == r.CommonDir && r.Bare {
			continue
		}
		if r.IsOn(dir, branch) || holdsBranch(dir, branch) {
			found = append(found, dir)
		}
	}
	return found
}

// holdsBranch reports whether a branch is being rebased or bisected.
func holdsBranch(gitDir, branch string) bool {
	full := "refs/heads/" + branch
	for name, holds := range map[string]string{
		filepath.Join("rebase-merge", "head-name"): full,
		filepath.Join("rebase-apply", "head-name"): full,
		"BISECT_START": branch,
	} {
		if b, err := fsx.ReadSmall(filepath.Join(gitDir, name)); err == nil && strings.TrimSpace(string(b)) == holds {
			return true
		}
	}
	return false
}
