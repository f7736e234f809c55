package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
)

// An isolated worktree is a checkout with a git directory of its own inside,
// where its agent works: refs, index, configuration and hooks there are
// nobody's but the agent's, and its objects are borrowed from a store that the
// repository keeps for it. Croft never works through that directory. In the
// repository the checkout has an admin directory like a linked worktree's, but
// in a place where git does not look for worktrees, and what the two know of
// each other goes through [Worktree.Pull] and [Worktree.Change].

// Isolated returns an isolated worktree by the name of its admin directory.
func (r *Repository) Isolated(admin, path string) *Worktree {
	return &Worktree{Repo: r, Path: path, Admin: filepath.Join(r.isolatedDir(), admin)}
}

func (r *Repository) isolatedDir() string { return filepath.Join(r.Dir, isolatedName) }

// isolatedName is the directory that admin directories of isolated worktrees lie
// in.
const isolatedName = "isolated"

// IsolatedDir is the admin directory of an isolated worktree of a repository that
// Croft keeps its own files about in dir.
func IsolatedDir(dir, admin string) string { return filepath.Join(dir, isolatedName, admin) }

// IsIsolated reports whether the checkout has a git directory of its own.
func (w *Worktree) IsIsolated() bool {
	return w.Repo != nil && filepath.Dir(w.Admin) == w.Repo.isolatedDir()
}

// privateDir is the agent's git directory.
func (w *Worktree) privateDir() string { return filepath.Join(w.Path, ".git") }

// pointerFile is the file of a private git directory that says which checkout
// it is.
const pointerFile = "croft"

// ErrCannotIsolate says that a repository cannot lend its objects.
var ErrCannotIsolate = errors.New("isolated checkouts are not possible here")

// CanIsolate says why a repository can have no isolated checkouts.
func (r *Repository) CanIsolate() error {
	switch {
	case !r.NativeRefs():
		return fmt.Errorf("%w: its refs are kept as %s", ErrCannotIsolate, r.format.refStorage)
	case r.format.partial:
		return fmt.Errorf("%w: it is a partial clone, which lacks objects", ErrCannotIsolate)
	}
	return nil
}

// addIsolated registers an isolated worktree: the admin directory, and the
// checkout's directory with a whole git directory in it and no files.
func (r *Repository) addIsolated(ctx context.Context, s AddSpec) (*Worktree, error) {
	w := r.Isolated(s.Admin, s.Path)
	if err := r.CanIsolate(); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(s.Path); err == nil {
		return nil, fmt.Errorf("%s: %w", s.Path, ErrExists)
	}
	if err := r.addAdmin(w, s); err != nil {
		return nil, err
	}
	if err := failpoint.Hit("git.add.admin"); err != nil {
		return nil, err
	}
	store, err := r.lendObjects(ctx, s.Admin)
	if err != nil {
		return nil, err
	}
	shown := map[string]string{}
	for name, oid := range s.Branches {
		shown["refs/heads/"+name] = oid
	}
	if err := w.writeSyncState(syncState{Branch: s.Branch, Base: s.Head, Shown: shown}); err != nil {
		return nil, err
	}
	return w, w.addPrivate(s, store)
}

// makePrivate writes a git directory that has the worktree's branch, or its
// commit, checked out, borrows objects from a store, and has no remote, no
// hooks and no configuration but what files need to come out alike.
func (w *Worktree) makePrivate(dir *fsx.Dir, s AddSpec, store string) error {
	// The pointer comes first: with it the rest is known to be Croft's.
	if err := dir.WriteFile(pointerFile, []byte(w.pointerText()), 0o666); err != nil {
		return err
	}
	for _, sub := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags", "info"} {
		made, err := dir.MakeBelow(sub, 0o777)
		if err != nil {
			return err
		}
		_ = made.Close()
	}
	config, err := w.Repo.privateConfig()
	if err != nil {
		return err
	}
	files := map[string]string{
		"HEAD":                    s.Head + "\n",
		"config":                  config,
		"objects/info/alternates": quoteAlternate(store) + "\n",
	}
	refs := map[string]string{}
	maps.Copy(refs, s.Branches)
	if s.Branch != "" {
		files["HEAD"] = "ref: refs/heads/" + s.Branch + "\n"
		tip, err := w.Repo.RefSnapshot().Ref("refs/heads/" + s.Branch)
		if err != nil {
			return err
		}
		refs[s.Branch] = tip
	}
	for name, oid := range refs {
		if !canBeRef("refs/heads/" + name) {
			return fmt.Errorf("not a branch: %q", name)
		}
		files["refs/heads/"+name] = oid + "\n"
	}
	files["info/exclude"] = w.Repo.sharedExcludes()
	for name, text := range files {
		if err := dir.WriteBelow(path.Dir(name), path.Base(name), []byte(text)); err != nil {
			return err
		}
	}
	for _, name := range []string{"shallow", "info/attributes"} {
		text, err := fsx.ReadFile(filepath.Join(w.Repo.CommonDir, filepath.FromSlash(name)), maxWorktreeConfig)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = dir.WriteBelow(path.Dir(name), path.Base(name), text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// canBeRef is a plain check of a ref's name; git's own is stricter.
func canBeRef(name string) bool {
	if !filepath.IsLocal(filepath.FromSlash(name)) || strings.ContainsAny(name, " ~^:?*[\\\x7f") || strings.Contains(name, "..") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' })
}

// privateKeys are the settings of a repository that an isolated checkout of it
// has too: those that decide what files and commits look like.
var privateKeys = []string{
	"core.filemode", "core.symlinks", "core.ignorecase", "core.precomposeunicode", "core.protecthfs", "core.protectntfs",
	"core.autocrlf", "core.eol", "core.safecrlf", "core.longpaths", "user.name", "user.email",
	"filter.lfs.clean", "filter.lfs.smudge", "filter.lfs.process", "filter.lfs.required",
}

func (r *Repository) privateConfig() (string, error) {
	version := "0"
	if r.format.objectFormat != "" && r.format.objectFormat != "sha1" {
		version = "1"
	}
	var b bytes.Buffer
	b.WriteString("[core]\n\trepositoryformatversion = " + version + "\n\tbare = false\n\tlogallrefupdates = true\n")
	if version == "1" {
		b.WriteString("[extensions]\n\tobjectformat = " + r.format.objectFormat + "\n")
	}
	h, err := r.ensureHostDir()
	if err != nil {
		return "", err
	}
	for _, e := range h.entries {
		isLFS := strings.HasPrefix(e.key, "filter.lfs.") && (!e.isCommand() || slices.Contains(lfsCommands, e.value))
		if slices.Contains(privateKeys, e.key) && (e.class() != classNever && e.class() != classFilter || isLFS) {
			writeEntry(&b, e)
		}
	}
	return b.String(), nil
}

// quoteConfig writes a value so that git reads the same.
func quoteConfig(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(value) + `"`
}

// roleMark begins the patterns that Croft adds to the user's own.
const roleMark = "# Put there by Croft: files of its own in a workspace."

// sharedExcludes are the patterns that git ignores in every checkout of the
// repository, and in those that Croft made.
func (r *Repository) sharedExcludes() string {
	b, _ := fsx.ReadFile(r.commonPath("info/exclude"), maxConfig)
	text := string(b)
	own, _ := os.ReadFile(r.ownExcludes())
	if _, patterns, ok := strings.Cut(string(own), roleMark+"\n"); ok {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		text += roleMark + "\n" + patterns
	}
	return text
}

// ownsIsolated reports whether the directory's own git directory is the one
// that was made for this worktree.
func (w *Worktree) ownsIsolated(dir string) bool {
	dot := filepath.Join(dir, ".git")
	if info, err := os.Lstat(dot); err != nil || !info.IsDir() {
		return false
	}
	b, err := fsx.ReadSmall(filepath.Join(dot, pointerFile))
	return err == nil && string(b) == w.pointerText()
}

// dropHeld deletes the ref that keeps what is not on the branch.
func (w *Worktree) dropHeld(ctx context.Context) error {
	oid, err := w.Repo.ReadRef(ctx, w.HeldRef())
	if errors.Is(err, ErrNoRef) {
		return nil
	}
	if err != nil {
		return err
	}
	return w.Repo.UpdateRefs(ctx, RefUpdate{Ref: w.HeldRef(), Old: oid})
}

// rejoinIsolated is Rejoin for an isolated worktree: the pointer, where the
// objects are borrowed from, and the admin directory's way back.
func (w *Worktree) rejoinIsolated() error {
	if !w.ownsIsolated(w.Path) {
		return nil
	}
	if _, err := os.Lstat(w.Admin); err != nil {
		return nil
	}
	if err := w.borrowAgain(); err != nil {
		return err
	}
	if err := w.writeAdmin("commondir", w.toCommon()+"\n"); err != nil {
		return err
	}
	if w.names(w.Path) {
		return nil
	}
	return w.writeAdmin("gitdir", filepath.ToSlash(filepath.Join(w.Path, ".git"))+"\n")
}

// BorrowsElsewhere reports whether the agent's git directory does not borrow from
// the store that is kept for it.
func (w *Worktree) BorrowsElsewhere() bool {
	p, err := w.openPrivate()
	if err != nil {
		return false
	}
	defer p.close()
	store, err := w.Repo.storeBorrowedBy(filepath.Base(w.Admin))
	if err != nil {
		return true
	}
	have, err := p.read("objects/info/alternates")
	return err != nil || !bytes.Equal(have, []byte(quoteAlternate(store)+"\n"))
}

// borrowAgain has the agent's git directory borrow from the store that is kept
// for it, or from a new one if that is gone.
func (w *Worktree) borrowAgain() error {
	p, err := w.openPrivate()
	if err != nil {
		return err
	}
	defer p.close()
	store, err := w.Repo.storeBorrowedBy(filepath.Base(w.Admin))
	if err != nil {
		if store, err = w.Repo.lendObjects(context.Background(), filepath.Base(w.Admin)); err != nil {
			return err
		}
	}
	want := []byte(quoteAlternate(store) + "\n")
	if have, err := p.read("objects/info/alternates"); err == nil && bytes.Equal(have, want) {
		return nil
	}
	return p.replace("objects/info/alternates", want)
}

// isolatedPointer begins the pointer of an isolated checkout.
const isolatedPointer = "admin: "
