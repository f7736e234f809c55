package gitcmd

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitconfig"
	"github.com/croft-sh/croft/internal/git/index"
)

// The host directory is what Croft's git takes for the common directory of a repository.
// Git reads configuration, hooks, attributes and excludes from there, and no agent can
// write there. Refs, HEAD and index come from the real git directory, objects from the
// directory that the environment names, so that every lock file is where the user's git
// has it.
//
//	config     generated; see hostConfig
//	refs/      empty; git insists on it
//	info/      copies of exclude and attributes
//	shallow    a copy
//	commondir  where the main checkout's refs are, seen from a linked one
//	HEAD index logs reftable worktrees
//	           symbolic links to the real ones, only read: what other checkouts have
//
// Croft runs none of git's commands that delete unreachable objects (gc, repack, prune)
// through it.

// hostState is what the host directory was generated from.
type hostState struct {
	files   map[string][]byte // the files of the repository that were read; nil: absent
	record  record
	Entries []gitconfig.Entry // the repository's own configuration
	filters []gitconfig.Entry // the filters in it and in the files that it includes
	changed []ConfigChange

	readAt time.Time
	stats  []index.FileStat // of the files, before they were read
	// isAlone says that no files other than these decide about the host directory.
	isAlone bool
}

// hostCache has the current state of the host directory.
type hostCache struct {
	mu  sync.Mutex
	now *hostState
}

// hostCopies are the files that are copied unchanged.
var hostCopies = []string{"info/exclude", "info/attributes", "shallow"}

// hostLinks are the parts of the repository that git needs in its common directory to know
// what other checkouts have.
var hostLinks = []string{"HEAD", "index", "logs", "reftable", "worktrees"}

// HostDir is the host directory, which every git process gets as its common directory.
func (r *Repository) HostDir() string { return filepath.Join(r.ScratchDir(), "host") }

// CommonPath returns a path in the repository's common directory.
func (r *Repository) CommonPath(name string) string {
	return filepath.Join(r.CommonDir, filepath.FromSlash(name))
}

// EnsureHostDir brings the host directory up to date with the repository, and returns the
// state that it was generated from: the same as before if nothing has changed.
func (r *Repository) EnsureHostDir() (*hostState, error) {
	r.host.mu.Lock()
	defer r.host.mu.Unlock()
	s := &hostState{files: map[string][]byte{}, readAt: time.Now(), stats: r.hostStats()}
	if was := r.host.now; was != nil && was.isAlone && was.isUnchanged(s.stats) && fsx.IsThere(filepath.Join(r.HostDir(), "config")) {
		return was, nil
	}
	for _, name := range append([]string{"config"}, hostCopies...) {
		limit := int64(gitconfig.MaxSize)
		if name == "shallow" {
			limit = maxShallow
		}
		b, err := fsx.ReadFile(r.CommonPath(name), limit)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%w: %w", gitconfig.ErrConfig, err)
		}
		s.files[name] = b
	}
	b, err := os.ReadFile(r.RecordFile())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	s.files["record"] = b
	if s.Entries, err = gitconfig.Parse(s.files["config"]); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", gitconfig.ErrConfig, r.CommonPath("config"), err)
	}
	r.readContents(s)
	r.readFilters(s)
	s.isAlone = !slices.ContainsFunc(s.Entries, func(e gitconfig.Entry) bool {
		return strings.HasPrefix(e.Key, "include") && e.Value != gitconfig.RoleInclude || e.Class() == gitconfig.ClassContent || e.Key == "extensions.worktreeconfig"
	})
	if isWorktreeConfig(s.Entries) {
		s.files["config.worktree"], _ = fsx.ReadFile(r.CommonPath("config.worktree"), gitconfig.MaxSize)
	}
	if was := r.host.now; was != nil && hasSameFiles(was.files, s.files) && slices.Equal(was.filters, s.filters) {
		was.readAt, was.stats = s.readAt, s.stats
		return was, r.writeHost(was) // another process may have written an older state meanwhile
	}
	if err := r.makeHost(s); err != nil {
		return nil, err
	}
	r.host.now = s
	return s, nil
}

// hostStats returns the stat data of the files that the host directory is generated from.
func (r *Repository) hostStats() []index.FileStat {
	stats := make([]index.FileStat, 0, len(hostCopies)+2)
	for _, name := range hostCopies {
		st, _ := index.Lstat(r.CommonPath(name))
		stats = append(stats, st)
	}
	config, _ := index.Lstat(r.CommonPath("config"))
	own, _ := index.Lstat(r.RecordFile())
	return append(stats, config, own)
}

// statGrain is more than the resolution of a ctime.
const statGrain = 50 * time.Millisecond

// isUnchanged reports whether the files are provably those that were read. No process can
// set the ctime of a file, but two writes within its resolution have the same.
func (s *hostState) isUnchanged(now []index.FileStat) bool {
	for i, st := range now {
		if st != s.stats[i] || st != (index.FileStat{}) && s.readAt.Sub(st.Changed()) < statGrain {
			return false
		}
	}
	return true
}

// readContents reads the ignore and attributes files that the repository's configuration
// names. One that cannot be read counts as empty.
func (r *Repository) readContents(s *hostState) {
	for _, e := range s.Entries {
		if e.Class() != gitconfig.ClassContent {
			continue
		}
		s.files[e.Key] = nil
		if e.Bare {
			continue
		}
		s.files[e.Key] = []byte{} // git would use no other file then
		if b, err := fsx.ReadFile(gitconfig.IncludedFile(e.Value, r.CommonPath("config"), r.Git.Home()), gitconfig.MaxSize); err == nil {
			s.files[e.Key] = b
		}
	}
}

// readFilters collects the filters in the repository's configuration and in the files that
// it includes.
func (r *Repository) readFilters(s *hostState) {
	s.filters = gitconfig.FilterSettings(s.Entries, r.CommonPath("config"), r.Git.Home(), gitconfig.IncludeDepth)
	if isWorktreeConfig(s.Entries) {
		if more, err := gitconfig.ReadFile(r.CommonPath("config.worktree")); err == nil {
			s.filters = append(s.filters, gitconfig.FilterSettings(more, r.CommonPath("config.worktree"), r.Git.Home(), gitconfig.IncludeDepth)...)
		}
	}
}

// contentFile is the path of the copy of such a file.
func (r *Repository) contentFile(key string) string { return filepath.Join(r.HostDir(), key) }

// maxShallow bounds the size of the file shallow.
const maxShallow = 64 << 20

func hasSameFiles(a, b map[string][]byte) bool {
	for name, text := range b {
		if !bytes.Equal(a[name], text) || (a[name] == nil) != (text == nil) {
			return false
		}
	}
	return true
}

// isHosted reports whether the host directory exists, for the current path of the
// repository.
func (r *Repository) isHosted() bool {
	b, err := os.ReadFile(filepath.Join(r.HostDir(), "commondir"))
	return err == nil && string(b) == r.CommonDir+"\n" && fsx.IsThere(filepath.Join(r.HostDir(), "config"))
}

// makeHost reads the repository's files into s and writes the host directory. Several
// processes may do so at once.
func (r *Repository) makeHost(s *hostState) error {
	err := gitconfig.CheckExtensions(s.Entries)
	if err != nil {
		return err
	}
	if s.record, err = r.recordedConfig(s.Entries); err != nil {
		return err
	}
	s.files["record"], _ = os.ReadFile(r.RecordFile())
	s.changed = settingChanges(s.record.Pinned, pinnedIn(s.Entries, s.record.Secrets.Shown))
	s.changed = append(s.changed, settingChanges(s.record.Sparse[""], r.sparseNow(s.Entries, r.CommonDir))...)
	return r.writeHost(s)
}

// writeHost writes the files of the host directory that differ.
func (r *Repository) writeHost(s *hostState) error {
	if !r.isHosted() {
		if err := r.makeHostDirs(); err != nil {
			return err
		}
	}
	for _, name := range slices.Concat(hostCopies, gitconfig.ContentKeys) {
		to := filepath.Join(r.HostDir(), filepath.FromSlash(name))
		var err error
		if s.files[name] == nil {
			err = os.Remove(to)
		} else {
			err = fsx.ReplaceIfChanged(to, string(s.files[name]))
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return fsx.ReplaceIfChanged(filepath.Join(r.HostDir(), "config"), string(r.hostConfig(s)))
}

// makeHostDirs makes the directories and the symbolic links, which only depend on the path
// of the repository.
func (r *Repository) makeHostDirs() error {
	dir := r.HostDir()
	for _, sub := range []string{"refs", "info"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return err
		}
	}
	for _, name := range hostLinks {
		link := filepath.Join(dir, name)
		if to, err := os.Readlink(link); err == nil && to == r.CommonPath(name) {
			continue
		}
		_ = os.Remove(link)
		err := os.Symlink(r.CommonPath(name), link)
		if err != nil && !errors.Is(err, os.ErrExist) && runtime.GOOS != "windows" {
			return err
		}
	}
	return fsx.ReplaceIfChanged(filepath.Join(dir, "commondir"), r.CommonDir+"\n")
}

func isWorktreeConfig(entries []gitconfig.Entry) bool {
	is := false
	for _, e := range entries {
		if e.Key == "extensions.worktreeconfig" {
			is = e.Bare || gitconfig.IsTrue(e.Value)
		}
	}
	return is
}

// HasWorktreeConfig reports whether each checkout of the repository has settings of its own, beside those of all.
func (r *Repository) HasWorktreeConfig() (bool, error) {
	h, err := r.EnsureHostDir()
	return err == nil && isWorktreeConfig(h.Entries), err
}

// sparseNow reads the sparse-checkout settings of a checkout: from the repository's
// configuration and, where checkouts have one of their own, from that. It uses nothing
// else of that file.
func (r *Repository) sparseNow(entries []gitconfig.Entry, gitDir string) []gitconfig.Setting {
	if isWorktreeConfig(entries) || filepath.Dir(gitDir) == r.IsolatedDir() {
		if own, err := gitconfig.ReadFile(filepath.Join(gitDir, "config.worktree")); err == nil {
			entries = slices.Concat(entries, own)
		}
	}
	values := map[string]bool{}
	for _, e := range entries {
		if slices.Contains(gitconfig.SparseKeys, e.Key) {
			values[e.Key] = e.Bare || gitconfig.IsTrue(e.Value)
		}
	}
	var out []gitconfig.Setting
	if !values["core.sparsecheckout"] {
		return nil
	}
	for _, key := range gitconfig.SparseKeys {
		if v, ok := values[key]; ok {
			out = append(out, gitconfig.Setting{Key: key, Value: fmt.Sprint(v)})
		}
	}
	return out
}

// sparseOf returns the sparse-checkout settings of a checkout. Those of a checkout that
// Croft made are up to its agent. Those of any other are pinned when Croft first sees it:
// an agent could otherwise remove files from a user's checkout with a few lines of
// configuration.
func (r *Repository) sparseOf(h *hostState, gitDir string) ([]gitconfig.Setting, error) {
	admin := ""
	if gitDir != r.CommonDir {
		admin = filepath.Base(gitDir)
	}
	if admin != "" && (filepath.Dir(gitDir) != r.CommonPath("worktrees") || strings.HasPrefix(admin, ownPrefix)) {
		return r.sparseNow(h.Entries, gitDir), nil
	}
	if known, ok := h.record.Sparse[admin]; ok {
		return known, nil
	}
	rec, err := r.readRecord()
	if err != nil {
		return nil, err
	}
	known, ok := rec.Sparse[admin]
	if ok {
		return known, nil
	}
	known = r.sparseNow(h.Entries, gitDir)
	if rec.Sparse == nil {
		rec.Sparse = map[string][]gitconfig.Setting{}
	}
	rec.Sparse[admin] = known
	return known, r.writeRecord(rec)
}

// ownPrefix is the prefix of the names of admin directories of Croft's worktrees.
const ownPrefix = "croft-"

// isOwnCheckout reports whether a git directory belongs to a checkout that Croft made.
func (r *Repository) isOwnCheckout(gitDir string) bool {
	dir := filepath.Dir(gitDir)
	return strings.HasPrefix(filepath.Base(gitDir), ownPrefix) && (dir == r.CommonPath("worktrees") || dir == r.IsolatedDir())
}

// OwnExcludes is the path of the ignore file of Croft's checkouts: the user's own
// patterns, and those of role files.
func (r *Repository) OwnExcludes() string { return filepath.Join(r.Dir, "exclude") }

// CheckoutConfig returns the settings of calls on one checkout.
func (r *Repository) CheckoutConfig(h *hostState, gitDir string) ([][2]string, error) {
	sparse, err := r.sparseOf(h, gitDir)
	if err != nil {
		return nil, err
	}
	var kv [][2]string
	for _, s := range sparse {
		kv = append(kv, [2]string{s.Key, s.Value})
	}
	if r.isOwnCheckout(gitDir) && fsx.IsThere(r.OwnExcludes()) {
		kv = append(kv, [2]string{"core.excludesFile", r.OwnExcludes()})
	}
	return kv, nil
}
