package gitcmd

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitconfig"
	"github.com/croft-sh/croft/internal/proc"
)

// Settings are the settings of calls on one git directory.
type Settings struct {
	user *userConfig
	host *hostState

	File       string      // the generated global file
	filters    [][2]string // the repository's filters that run
	refused    []string    // the repository's filters that do not run
	remotes    []gitconfig.Remote
	Values     map[string]string // settings that Croft reads itself, by key
	HasFilters bool              // filters other than git-lfs may run
	hasLFS     bool              // git-lfs may run
}

// userConfig is the user's own configuration.
type userConfig struct {
	entries []gitconfig.Entry
	watched map[string]string // the files that it was read from, and their digests
	// isAnywhere says that no part of it depends on the repository.
	isAnywhere bool
}

// userKeys lists the user's settings that calls need so that checkouts and commits are the
// same as with plain git. An entry that ends in a dot is a whole section. Keys are lower
// case, as git prints them.
var userKeys = []string{
	"user.", "author.", "committer.",
	"core.excludesfile", "core.attributesfile", "core.autocrlf", "core.eol", "core.safecrlf",
	"core.longpaths", "core.symlinks", "core.precomposeunicode", "core.protecthfs", "core.protectntfs",
	"safe.directory", "filter.", "lfs.", "i18n.commitencoding",
	"commit.gpgsign", "gpg.", "credential.", "http.", "url.", "init.defaultbranch",
}

var ownKeys = []string{
	"user.name", "user.email", "author.name", "author.email", "committer.name", "committer.email", "commit.gpgsign",
	"core.autocrlf", "core.eol", "core.filemode", "core.symlinks", "core.ignorecase", "core.attributesfile", "core.excludesfile", "core.sshcommand", "core.askpass",
}

// isUserKey reports whether git gets the setting with this key from the user's
// configuration.
func isUserKey(key string) bool {
	return slices.ContainsFunc(userKeys, func(k string) bool {
		return key == k || strings.HasSuffix(k, ".") && strings.HasPrefix(key, k)
	})
}

// settingsCache has the settings of a repository's git directories.
type settingsCache struct {
	mu    sync.Mutex
	byDir map[string]*Settings
}

// SettingsOf returns the settings of a git directory: the user may have includes that
// depend on its path and its branch. It returns the same pointer as long as none of the
// files has changed.
func (r *Repository) SettingsOf(ctx context.Context, gitDir string) (*Settings, error) {
	h, err := r.EnsureHostDir()
	if err != nil {
		return nil, err
	}
	r.config.mu.Lock()
	defer r.config.mu.Unlock()
	was := r.config.byDir[gitDir]
	if was != nil && was.host == h && fsx.IsThere(was.File) && isUnchanged(was.user.watched) {
		return was, nil
	}
	user, err := r.userConfig(ctx, gitDir, was)
	if err != nil {
		return nil, err
	}
	s, err := r.combineSettings(user, h)
	if err != nil {
		return nil, err
	}
	if r.config.byDir == nil {
		r.config.byDir = map[string]*Settings{}
	}
	r.config.byDir[gitDir] = s
	return s, nil
}

// userConfig returns the user's own configuration. It runs git only if none that was read
// before, for this or another git directory or in the cache file, is still valid.
func (r *Repository) userConfig(ctx context.Context, gitDir string, was *Settings) (*userConfig, error) {
	if was != nil && was.user.isAnywhere && isUnchanged(was.user.watched) {
		return was.user, nil
	}
	for _, other := range r.config.byDir {
		if other.user.isAnywhere && isUnchanged(other.user.watched) {
			return other.user, nil
		}
	}
	if kept := r.Git.readUserCache(); kept != nil {
		return kept, nil
	}
	entries, err := r.ConfigEntries(ctx, gitDir)
	if err != nil {
		return nil, err
	}
	u := &userConfig{isAnywhere: true, watched: map[string]string{}}
	for _, f := range r.configFiles(gitDir, entries) {
		u.watched[f] = Digest(f)
	}
	for _, e := range entries {
		if !e.IsOfUser() {
			continue
		}
		u.isAnywhere = u.isAnywhere && !strings.HasPrefix(e.Key, "includeif.")
		if isUserKey(e.Key) || slices.Contains(ownKeys, e.Key) {
			u.entries = append(u.entries, e)
		}
	}
	if u.isAnywhere && !slices.ContainsFunc(u.entries, gitconfig.Entry.IsSecret) {
		r.Git.writeUserCache(u)
	}
	return u, nil
}

// combineSettings combines the user's configuration and the repository's, and writes the
// file with the user's settings that git gets.
func (r *Repository) combineSettings(u *userConfig, h *hostState) (*Settings, error) {
	s := &Settings{user: u, host: h, Values: map[string]string{}}
	var global []gitconfig.Entry
	for _, e := range u.entries {
		if isUserKey(e.Key) && !e.IsSecret() {
			global = append(global, e)
		}
		if slices.Contains(ownKeys, e.Key) {
			s.Values[e.Key] = e.Setting().Value
		}
		name, ok := gitconfig.Subsection(e.Key, "filter.")
		s.HasFilters = s.HasFilters || ok && name != "lfs"
	}
	s.remotes = gitconfig.Remotes(h.record.Pinned, h.Entries, h.record.Secrets)
	for _, p := range h.record.Pinned {
		if slices.Contains(ownKeys, p.Key) {
			s.Values[p.Key] = p.Value
		}
	}
	for _, e := range h.Entries {
		switch {
		case e.Class() == gitconfig.ClassData && slices.Contains(ownKeys, e.Key):
			s.Values[e.Key] = e.Setting().Value
		case e.Class() == gitconfig.ClassContent && h.files[e.Key] != nil:
			s.Values[e.Key] = r.contentFile(e.Key)
		}
	}
	byName := map[string][]gitconfig.Entry{}
	for _, f := range h.filters {
		name, _ := gitconfig.Subsection(f.Key, "filter.")
		byName[name] = append(byName[name], f)
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		r.decideFilter(s, name, byName[name])
	}
	for _, f := range s.filters {
		s.allowFilter(f[0], f[1])
	}
	for _, e := range s.user.entries {
		s.allowFilter(e.Key, e.Value)
	}
	var err error
	s.File, err = r.Git.WriteConfig(global)
	return s, err
}

// allowFilter records that the command of a filter may run.
func (s *Settings) allowFilter(key, command string) {
	name, ok := gitconfig.Subsection(key, "filter.")
	isCommand := strings.HasSuffix(key, ".clean") || strings.HasSuffix(key, ".smudge") || strings.HasSuffix(key, ".process")
	if !ok || !isCommand || command == "" {
		return
	}
	if name == "lfs" {
		s.hasLFS = true
	} else {
		s.HasFilters = true
	}
}

// decideFilter decides about a filter of the repository. Approved commands run. If one is
// not approved, the user's own filter of that name is used; if there is none, the filter
// is required and empty, so that git fails: without it content would be stored unfiltered.
func (r *Repository) decideFilter(s *Settings, name string, all []gitconfig.Entry) {
	isOwn := slices.ContainsFunc(s.user.entries, func(e gitconfig.Entry) bool {
		own, _ := gitconfig.Subsection(e.Key, "filter.")
		return own == name
	})
	isRefused, isRequired := false, false
	commands := [][2]string{}
	for _, f := range all {
		switch {
		case !f.IsCommand():
			isRequired = f.Bare || gitconfig.IsTrue(f.Value)
		case r.isApproved(s.host, f):
			commands = append(commands, [2]string{f.Key, f.Value})
		case !isOwn:
			isRefused = true
		}
	}
	if isRefused {
		s.refused = append(s.refused, name)
		commands = slices.Concat([][2]string{{"filter." + name + ".clean", ""}, {"filter." + name + ".smudge", ""}}, commands)
	}
	if isRefused || isRequired {
		commands = append(commands, [2]string{"filter." + name + ".required", "true"})
	}
	s.filters = append(s.filters, commands...)
}

// isApproved reports whether a person approved this exact command of a filter, for this
// repository or for all. The command of git-lfs is known to run nothing else.
func (r *Repository) isApproved(h *hostState, f gitconfig.Entry) bool {
	name, _ := gitconfig.Subsection(f.Key, "filter.")
	return slices.Contains(h.record.Filters, f.Setting()) || slices.Contains(r.Git.Options.Filters, f.Value) && f.Value != "" ||
		name == "lfs" && slices.Contains(gitconfig.LFSCommands, f.Value)
}

// RefusedFilters returns the names of the filters in the repository's own configuration
// that may not run.
func (r *Repository) RefusedFilters() ([]string, error) {
	s, err := r.SettingsOf(context.Background(), r.CommonDir)
	if err != nil {
		return nil, err
	}
	return s.refused, nil
}

// offline are the settings of calls without Network. Such a call may still fetch objects
// that a partial clone lacks.
var offline = [][2]string{{"core.sshCommand", "ssh"}, {"core.askPass", ""}, {"credential.helper", ""}}

// access returns the settings and variables of a call by which it reaches remotes: with all
// that belongs to the remote that it names, and with nothing else.
func (g *Git) access(s *Settings, d Target, c Call) (kv [][2]string, env []string) {
	isAny := d.Repo.Format.Partial || c.Network && s.hasLFS
	user := s.user.entries
	if !c.Network { // no program of the user's runs
		user = slices.DeleteFunc(slices.Clone(user), func(e gitconfig.Entry) bool { return strings.HasPrefix(e.Key, "credential.") })
	}
	var a gitconfig.Access
	switch i := slices.IndexFunc(s.remotes, func(r gitconfig.Remote) bool { return r.Name == c.Remote }); {
	case c.Remote != "" && i >= 0 && verbOf(c.Args) == "push":
		a = gitconfig.AccessTo(s.remotes[i], gitconfig.PushRule, user)
	case c.Remote != "" && i >= 0:
		a = gitconfig.AccessTo(s.remotes[i], gitconfig.FetchRule, user)
	case c.Remote == "" && isAny:
		a = gitconfig.AccessToAll(s.remotes, user)
	case c.Remote == "" && c.Network:
		a = gitconfig.AccessToAll(nil, user)
	}
	kv = slices.Clone(offline) // an empty helper clears those that git has read so far
	if c.Network && a.Way != gitconfig.WayFile && a.Way != "" {
		askPass, _ := g.environ("SSH_ASKPASS")
		kv[0][1], kv[1][1] = cmp.Or(s.Values["core.sshcommand"], "ssh"), cmp.Or(s.Values["core.askpass"], askPass)
		env = g.credentialEnviron(a.Way)
	}
	return append(kv, a.Config...), append(env, a.Env...)
}

// userEnv are the variables that name the user's configuration files.
var userEnv = []string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"}

// ConfigEntries reads the user's configuration as git sees it in a git directory, with
// conditional includes, and the host directory's. Reading runs no program.
func (r *Repository) ConfigEntries(ctx context.Context, gitDir string) ([]gitconfig.Entry, error) {
	if _, err := r.Git.Version(); err != nil { // this may be the first git that runs
		return nil, err
	}
	env := append(r.Git.baseEnv(), "GIT_COMMON_DIR="+r.HostDir(), "GIT_OBJECT_DIRECTORY="+r.CommonPath("objects"))
	for _, name := range userEnv {
		if v, ok := r.Git.environ(name); ok {
			env = append(env, name+"="+v)
		}
	}
	args := []string{"--git-dir=" + gitDir, "config", "--list", "-z", "--show-scope", "--show-origin", "--includes"}
	ctx, end := r.Git.WatchDeadline(ctx, Target{Repo: r, GitDir: gitDir}, Call{Args: args})
	defer end()
	res, err := proc.Run(ctx, proc.Command{Path: r.Git.Options.Path, Args: args, Env: env, Dir: r.HostDir()})
	if err != nil {
		return nil, r.Git.Wrap(args, r.CommonDir, err)
	}
	return gitconfig.ParseList(res.Stdout)
}

// configFiles lists the files that decide what ConfigEntries returns, whether they exist
// or not.
func (r *Repository) configFiles(gitDir string, entries []gitconfig.Entry) []string {
	home := r.Git.Home()
	files := r.Git.systemConfig()
	if global, ok := r.Git.environ("GIT_CONFIG_GLOBAL"); ok {
		files = append(files, global)
	} else if home != "" {
		files = append(files, filepath.Join(home, ".gitconfig"), filepath.Join(r.Git.ConfigHome(), "git", "config"))
	}
	for _, e := range entries {
		if !e.IsOfUser() {
			continue
		}
		if filepath.IsAbs(e.File) {
			files = append(files, e.File)
		}
		if strings.HasPrefix(e.Key, "includeif.onbranch:") {
			files = append(files, filepath.Join(gitDir, "HEAD"))
		}
		if strings.HasPrefix(e.Key, "includeif.hasconfig:") {
			files = append(files, filepath.Join(r.HostDir(), "config"))
		}
		if strings.HasPrefix(e.Key, "include.") || strings.HasPrefix(e.Key, "includeif.") {
			files = append(files, gitconfig.IncludedFile(e.Value, e.File, home))
		}
	}
	return files
}

func isUnchanged(watched map[string]string) bool {
	for f, was := range watched {
		if Digest(f) != was {
			return false
		}
	}
	return true
}

// Digest returns a digest of a configuration file.
func Digest(file string) string {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return "no file"
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "not readable"
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// WriteConfig writes settings to a configuration file named after its content: it never
// changes, so many processes can share it.
func (g *Git) WriteConfig(entries []gitconfig.Entry) (string, error) {
	var b bytes.Buffer
	for _, e := range entries {
		gitconfig.Write(&b, e)
	}
	sum := sha256.Sum256(b.Bytes())
	path := filepath.Join(g.Options.ConfigDir, "config-"+hex.EncodeToString(sum[:8]))
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, b.Bytes()) {
		return path, nil
	}
	if err := os.MkdirAll(g.Options.ConfigDir, 0o700); err != nil {
		return "", err
	}
	return path, fsx.ReplaceFile(path, b.Bytes(), 0o600)
}
