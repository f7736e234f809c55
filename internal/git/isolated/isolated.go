package isolated

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
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitconfig"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// Isolated returns an isolated worktree by the name of its admin directory.
func (r *Repository) Isolated(admin, path string) *Worktree {
	return r.WorktreeOf(worktree.Worktree{Path: path, Admin: filepath.Join(r.IsolatedDir(), admin)})
}

// PrivateDir is the agent's git directory.
func (w *Worktree) PrivateDir() string { return filepath.Join(w.Path, ".git") }

// ErrCannotIsolate says that the repository cannot have isolated checkouts.
var ErrCannotIsolate = errors.New("isolated checkouts are not possible here")

// CanIsolate returns an ErrCannotIsolate with the reason if the repository cannot have
// isolated checkouts.
func (r *Repository) CanIsolate() error {
	switch {
	case !r.HasNativeRefs():
		return fmt.Errorf("%w: its refs are kept as %s", ErrCannotIsolate, r.Format.RefStorage)
	case r.Format.Partial:
		return fmt.Errorf("%w: it is a partial clone, which lacks objects", ErrCannotIsolate)
	}
	return nil
}

// AddIsolated registers an isolated worktree: it makes the admin directory, and the
// checkout's directory with a complete git directory and no files. After an error the
// admin directory, the store, the sync state and a temporary directory beside the path
// may be left; git.Worktree.Discard removes them.
func (r *Repository) AddIsolated(ctx context.Context, s worktree.AddSpec) (*Worktree, error) {
	w := r.Isolated(s.Admin, s.Path)
	if err := r.CanIsolate(); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(s.Path); err == nil {
		return nil, fmt.Errorf("%s: %w", s.Path, worktree.ErrExists)
	}
	if err := r.AddAdmin(&w.Worktree, s); err != nil {
		return nil, err
	}
	if err := failpoint.Hit("git.add.admin"); err != nil {
		return nil, err
	}
	store, err := r.AssignStore(ctx, s.Admin)
	if err != nil {
		return nil, err
	}
	shown := map[string]string{}
	for name, oid := range s.Branches {
		shown["refs/heads/"+name] = oid
	}
	if err := w.WriteSyncState(SyncState{Branch: s.Branch, Base: s.Head, Shown: shown}); err != nil {
		return nil, err
	}
	return w, w.AddPrivate(s, store)
}

// makePrivate writes the agent's git directory: it has the worktree's branch or commit
// checked out, takes objects from an alternates store, and has no remote, no hooks and
// only the configuration that decides what files and commits look like.
func (w *Worktree) makePrivate(dir *fsx.Dir, s worktree.AddSpec, store string) error {
	// The pointer is written first: a directory with it is known to be Croft's.
	if err := dir.WriteFile(worktree.PointerFile, []byte(w.PointerText()), 0o666); err != nil {
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
	sparse, patterns, err := w.sparseParts()
	if err != nil {
		return err
	}
	config += sparse
	files := map[string]string{
		"HEAD":                    s.Head + "\n",
		"config":                  config,
		"objects/info/alternates": gitdir.QuoteAlternate(store) + "\n",
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
		if !gitdir.CanBeRef("refs/heads/" + name) {
			return fmt.Errorf("not a branch: %q", name)
		}
		files["refs/heads/"+name] = oid + "\n"
	}
	files["info/exclude"] = w.Repo.sharedExcludes()
	if patterns != "" {
		files["info/sparse-checkout"] = patterns
	}
	for name, text := range files {
		if err := dir.WriteBelow(path.Dir(name), path.Base(name), []byte(text)); err != nil {
			return err
		}
	}
	for _, name := range []string{"shallow", "info/attributes"} {
		text, err := fsx.ReadFile(filepath.Join(w.Repo.CommonDir, filepath.FromSlash(name)), worktree.MaxWorktreeConfig)
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

// privateKeys are the settings that an isolated checkout copies from its repository: those
// that decide what files and commits look like.
var privateKeys = []string{
	"core.filemode", "core.symlinks", "core.ignorecase", "core.precomposeunicode", "core.protecthfs", "core.protectntfs",
	"core.autocrlf", "core.eol", "core.safecrlf", "core.longpaths", "user.name", "user.email",
	"filter.lfs.clean", "filter.lfs.smudge", "filter.lfs.process", "filter.lfs.required",
}

func (r *Repository) privateConfig() (string, error) {
	version := "0"
	if r.Format.ObjectFormat != "" && r.Format.ObjectFormat != "sha1" {
		version = "1"
	}
	var b bytes.Buffer
	b.WriteString("[core]\n\trepositoryformatversion = " + version + "\n\tbare = false\n\tlogallrefupdates = true\n")
	if version == "1" {
		b.WriteString("[extensions]\n\tobjectformat = " + r.Format.ObjectFormat + "\n")
	}
	h, err := r.EnsureHostDir()
	if err != nil {
		return "", err
	}
	for _, e := range h.Entries {
		isLFS := strings.HasPrefix(e.Key, "filter.lfs.") && (!e.IsCommand() || slices.Contains(gitconfig.LFSCommands, e.Value))
		if slices.Contains(privateKeys, e.Key) && (e.Class() != gitconfig.ClassNever && e.Class() != gitconfig.ClassFilter || isLFS) {
			gitconfig.Write(&b, e)
		}
	}
	return b.String(), nil
}

// sparseParts returns the settings and the patterns by which the agent's git leaves out the files that Croft's leaves out.
func (w *Worktree) sparseParts() (config, patterns string, err error) {
	h, err := w.Repo.EnsureHostDir()
	if err != nil {
		return "", "", err
	}
	settings, err := w.Repo.CheckoutConfig(h, w.Admin)
	if err != nil {
		return "", "", err
	}
	var b bytes.Buffer
	for _, s := range settings {
		if s[0] == "core.sparsecheckout" || s[0] == "core.sparsecheckoutcone" {
			gitconfig.Write(&b, gitconfig.Entry{Key: s[0], Value: s[1]})
		}
	}
	if b.Len() == 0 {
		return "", "", nil
	}
	text, err := fsx.ReadFile(filepath.Join(w.Admin, "info", "sparse-checkout"), worktree.MaxWorktreeConfig)
	if errors.Is(err, os.ErrNotExist) {
		return "", "", nil
	}
	return b.String(), string(text), err
}

// sharedExcludes returns the ignore patterns of the repository's info/exclude and of
// Croft's role files.
func (r *Repository) sharedExcludes() string {
	b, _ := fsx.ReadFile(r.CommonPath("info/exclude"), gitconfig.MaxSize)
	text := string(b)
	own, _ := os.ReadFile(r.OwnExcludes())
	if _, patterns, ok := strings.Cut(string(own), gitcmd.RoleMark+"\n"); ok {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		text += gitcmd.RoleMark + "\n" + patterns
	}
	return text
}

// OwnsIsolated reports whether the git directory inside dir is the one that Croft made for
// this worktree.
func (w *Worktree) OwnsIsolated(dir string) bool {
	dot := filepath.Join(dir, ".git")
	if info, err := os.Lstat(dot); err != nil || !info.IsDir() {
		return false
	}
	b, err := fsx.ReadSmall(filepath.Join(dot, worktree.PointerFile))
	return err == nil && string(b) == w.PointerText()
}

// DeletePinRef deletes the worktree's pin ref.
func (w *Worktree) DeletePinRef(ctx context.Context) error {
	oid, err := w.Repo.ReadRef(ctx, w.PinRef())
	if errors.Is(err, refs.ErrNoRef) {
		return nil
	}
	if err != nil {
		return err
	}
	return w.Repo.UpdateRefs(ctx, refs.Update{Ref: w.PinRef(), Old: oid})
}

// RejoinIsolated is Rejoin for an isolated worktree: it rewrites the alternates of the
// agent's git directory, and the paths in the admin directory.
func (w *Worktree) RejoinIsolated() error {
	if !w.OwnsIsolated(w.Path) {
		return nil
	}
	if _, err := os.Lstat(w.Admin); err != nil {
		return nil
	}
	if err := w.WriteAlternates(); err != nil {
		return err
	}
	if err := w.WriteAdmin("commondir", w.RelativeCommonDir()+"\n"); err != nil {
		return err
	}
	if w.Names(w.Path) {
		return nil
	}
	return w.WriteAdmin("gitdir", filepath.ToSlash(filepath.Join(w.Path, ".git"))+"\n")
}

// HasWrongAlternates reports whether the agent's git directory names an alternates store
// other than the one that the repository keeps for it.
func (w *Worktree) HasWrongAlternates() bool {
	p, err := w.openPrivate()
	if err != nil {
		return false
	}
	defer p.close()
	store, err := w.Repo.StoreOf(filepath.Base(w.Admin))
	if err != nil {
		return true
	}
	have, err := p.read("objects/info/alternates")
	return err != nil || !bytes.Equal(have, []byte(gitdir.QuoteAlternate(store)+"\n"))
}

// WriteAlternates writes the alternates of the agent's git directory: the store that the
// repository keeps for it, or a new one if that is gone.
func (w *Worktree) WriteAlternates() error {
	p, err := w.openPrivate()
	if err != nil {
		return err
	}
	defer p.close()
	store, err := w.Repo.StoreOf(filepath.Base(w.Admin))
	if err != nil {
		if store, err = w.Repo.AssignStore(context.Background(), filepath.Base(w.Admin)); err != nil {
			return err
		}
	}
	want := []byte(gitdir.QuoteAlternate(store) + "\n")
	if have, err := p.read("objects/info/alternates"); err == nil && bytes.Equal(have, want) {
		return nil
	}
	return p.replace("objects/info/alternates", want)
}

// AddPrivate makes the directory of an isolated checkout, with a git directory and no
// files.
func (w *Worktree) AddPrivate(s worktree.AddSpec, store string) error {
	return w.AddTree(s, func(tree *fsx.Dir) error {
		if err := tree.Mkdir(".git", 0o777); err != nil {
			return err
		}
		dot, err := tree.OpenDir(".git")
		if err != nil {
			return err
		}
		defer dot.Close()
		return w.makePrivate(dot, s, store)
	})
}
