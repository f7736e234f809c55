package refs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
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

// UpdateRefs moves refs in one transaction: all of them, or none. It fails with
// KindRefStale if a ref is not at its Old.
func (r *Repository) UpdateRefs(ctx context.Context, updates ...Update) error {
	return r.UpdateRefsAfter(ctx, nil, updates...)
}

// UpdateRefsAfter moves refs like UpdateRefs. It calls meanwhile when all refs are locked
// and verified to be at their Old, before any moves; if meanwhile fails, none moves.
// meanwhile must not move refs itself.
func (r *Repository) UpdateRefsAfter(ctx context.Context, meanwhile func() error, updates ...Update) error {
	unsynced, err := r.updateRefs(ctx, meanwhile, updates)
	if err != nil {
		return err
	}
	return fsx.SyncAll(unsynced...)
}

// UpdateRefsUnsynced moves refs like UpdateRefs, but the caller has to sync the returned directories
// before anything may depend on the refs. To sync several directories together costs one
// wait for the disk.
func (r *Repository) UpdateRefsUnsynced(ctx context.Context, updates ...Update) (unsynced []string, err error) {
	return r.updateRefs(ctx, nil, updates)
}

func (r *Repository) updateRefs(ctx context.Context, meanwhile func() error, updates []Update) ([]string, error) {
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
	if !r.HasNativeRefs() {
		return nil, r.UpdateByGit(ctx, meanwhile, updates)
	}
	dirs := r.RefDirs(updates)
	return dirs, r.writer.transact(ctx, meanwhile, updates)
}

// SweepRefLocks removes what a killed git left of refs since a time: their lock files, and
// the reflogs of refs that it did not get to create. The caller knows that none of its own
// processes moves these refs. It keeps a lock file that is older, or that a live process
// may hold.
func (r *Repository) SweepRefLocks(since time.Time, refs ...string) {
	if !r.HasNativeRefs() {
		return
	}
	deadline := time.Now().Add(writers.LockTime)
	files := fsx.OpenTree(r.CommonDir)
	defer files.Close()
	for _, ref := range refs {
		if !gitdir.IsRefName(ref) {
			continue
		}
		r.DeleteLocks(writers.Dead{Locks: []string{ref + ".lock"}, Since: since}, deadline)
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

// ErrNoRef says that a ref does not exist.
var ErrNoRef = errors.New("no such ref")

// ReadRef returns the object that a full ref name resolves to, or ErrNoRef.
func (r *Repository) ReadRef(ctx context.Context, ref string) (string, error) {
	if r.HasNativeRefs() {
		return r.RefSnapshot().Ref(ref)
	}
	if !isRefPath(ref) {
		return "", ErrNoRef
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

// ReadRefs returns the objects that refs resolve to, without the refs that do not exist.
// It reads packed-refs once.
func (r *Repository) ReadRefs(ctx context.Context, names ...string) (map[string]string, error) {
	at := make(map[string]string, len(names))
	if r.HasNativeRefs() {
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
			if slices.Contains(some, ref.Name) { // for-each-ref also lists refs below the name
				at[ref.Name] = ref.OID
			}
		}
	}
	return at, nil
}

// refsInOneCall is how many names are passed to one git process.
const refsInOneCall = 200

// ConflictingBranch returns an existing branch that cannot exist beside the given one, because one
// of the two names is a directory of the other.
func (r *Repository) ConflictingBranch(ctx context.Context, branch string) (string, error) {
	for i := strings.LastIndexByte(branch, '/'); i > 0; i = strings.LastIndexByte(branch[:i], '/') {
		_, err := r.ReadRef(ctx, "refs/heads/"+branch[:i])
		if err == nil {
			return branch[:i], nil
		}
		if !errors.Is(err, ErrNoRef) {
			return "", err
		}
	}
	below, err := r.refBelow(ctx, "refs/heads/"+branch)
	return strings.TrimPrefix(below, "refs/heads/"), err
}

// refBelow returns a ref whose name begins with another one and a slash, or "".
func (r *Repository) refBelow(ctx context.Context, ref string) (string, error) {
	if !r.HasNativeRefs() || !isRefPath(ref) {
		list, err := r.Refs(ctx, ref+"/")
		if err != nil || len(list) == 0 {
			return "", err
		}
		return list[0].Name, nil
	}
	// Git would read every ref beside it.
	if info, err := os.Lstat(filepath.Join(r.CommonDir, filepath.FromSlash(ref))); err == nil && info.IsDir() {
		t := &refTx{files: fsx.OpenTree(r.CommonDir)}
		defer t.files.Close()
		loose, err := t.looseRefsBelow(ref, refDepth)
		if err != nil || len(loose) > 0 {
			return strings.Join(loose[:min(1, len(loose))], ""), err
		}
	}
	name, _, err := r.packed().findBelow(ref + "/")
	return name, err
}

// Reader reads refs from git's files. It opens packed-refs once, so it is for a single
// listing.
type Reader struct {
	repo   *Repository
	packed func() *packedFile
	known  *sync.Map // what each ref was when it was asked for first; nil: it is read each time
}

// foundRef is what a ref was.
type foundRef struct {
	oid string
	err error
}

// RefSnapshot returns a reader of the refs as they are now.
func (r *Repository) RefSnapshot() *Reader {
	return &Reader{repo: r, packed: sync.OnceValue(r.packed)}
}

// RefMoment returns a reader that reads each ref once: what it was then it is for this reader.
func (r *Repository) RefMoment() *Reader {
	s := r.RefSnapshot()
	s.known = &sync.Map{}
	return s
}

// Ref returns the object that a full ref name resolves to, or ErrNoRef. A ref that exists
// and cannot be read is another error: its name is taken.
func (s *Reader) Ref(ref string) (string, error) {
	if s.known == nil {
		return s.ref(ref)
	}
	if was, ok := s.known.Load(ref); ok {
		return was.(foundRef).oid, was.(foundRef).err
	}
	oid, err := s.ref(ref)
	s.known.Store(ref, foundRef{oid, err})
	return oid, err
}

func (s *Reader) ref(ref string) (string, error) {
	for range 5 { // git follows no more symbolic refs either
		if !isRefPath(ref) {
			return "", ErrNoRef
		}
		b, err := gitdir.ReadRefFile(filepath.Join(s.repo.CommonDir, filepath.FromSlash(ref)))
		if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ENAMETOOLONG) {
			return "", err
		}
		if err != nil {
			return s.packedRef(ref)
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

// packedRef returns the object of a ref that has no file, or ErrNoRef.
func (s *Reader) packedRef(ref string) (string, error) {
	packed := s.packed()
	if oid, ok, _ := packed.find(ref); ok {
		return oid, nil
	}
	// The ref may have been packed after packed-refs was read.
	oid, ok, err := s.repo.packed().find(ref)
	if err == nil && !ok {
		err = ErrNoRef
	}
	return oid, err
}

// isRefPath reports whether a ref could be a file below a git directory.
func isRefPath(ref string) bool {
	return filepath.IsLocal(ref) && path.Clean(ref) == ref && !strings.Contains(ref, "\x00")
}

// Head returns the branch and the commit that a git directory has checked out. The branch
// is empty when HEAD is detached; the commit is empty when the branch has none yet.
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

// HeadByGit returns what a git directory has checked out, by asking git. It is for ref
// storages that cannot be read as files.
func (r *Repository) HeadByGit(ctx context.Context, gitDir string) (branch, oid string, err error) {
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
