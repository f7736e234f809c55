package git

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/proc"
)

// configEntry is one setting with the class and the name of the file that it
// came from.
type configEntry struct {
	scope, file, key, value string
	bare                    bool // a key without a value, which means true
}

func (e configEntry) ofUser() bool { return e.scope == "global" || e.scope == "system" }

// isCommand reports whether a setting of a filter names a program.
func (e configEntry) isCommand() bool { return !strings.HasSuffix(e.key, ".required") }

// settings is what the calls on one git directory take from configuration.
type settings struct {
	user *userConfig
	host *hostState

	file        string            // the generated global file
	filters     [][2]string       // which of the repository's filters run
	refused     []string          // those that do not
	credentials [][2]string       // settings of calls that use the network
	values      map[string]string // settings that are read here, by key
	hasFilters  bool              // filters other than that of large files may run
	hasLFS      bool              // that of large files may run
}

// userConfig is what the user's own configuration says.
type userConfig struct {
	entries []configEntry
	watched map[string]string // the files that decided it, and what they held
	// isAnywhere says that no part of it depends on the repository.
	isAnywhere bool
}

// keepUser lists the user's settings that calls need so that a checkout and a
// commit come out as they do with plain git. An entry that ends in a dot keeps
// the whole section. Keys are lower case, as git prints them.
var keepUser = []string{
	"user.", "author.", "committer.",
	"core.excludesfile", "core.attributesfile", "core.autocrlf", "core.eol", "core.safecrlf",
	"core.longpaths", "core.symlinks", "core.precomposeunicode", "core.protecthfs", "core.protectntfs",
	"safe.directory", "filter.", "lfs.", "i18n.commitencoding",
	"commit.gpgsign", "gpg.", "credential.", "http.", "url.", "init.defaultbranch",
}

// readSelf lists the settings that Croft reads itself.
var readSelf = []string{
	"user.name", "user.email", "author.name", "author.email", "committer.name", "committer.email", "commit.gpgsign",
	"core.autocrlf", "core.eol", "core.attributesfile", "core.excludesfile", "core.sshcommand", "core.askpass",
}

func kept(key string) bool {
	return slices.ContainsFunc(keepUser, func(k string) bool {
		return key == k || strings.HasSuffix(k, ".") && strings.HasPrefix(key, k)
	})
}

// settingsCache holds the settings of a repository's git directories.
type settingsCache struct {
	mu    sync.Mutex
	byDir map[string]*settings
}

// settingsOf returns the settings of a git directory: the user may have includes
// that depend on where it lies and on its branch. They are the same as before
// as long as no file that decides them is another.
func (r *Repository) settingsOf(ctx context.Context, gitDir string) (*settings, error) {
	h, err := r.ensureHostDir()
	if err != nil {
		return nil, err
	}
	r.config.mu.Lock()
	defer r.config.mu.Unlock()
	was := r.config.byDir[gitDir]
	if was != nil && was.host == h && fsx.IsThere(was.file) && unchanged(was.user.watched) {
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
		r.config.byDir = map[string]*settings{}
	}
	r.config.byDir[gitDir] = s
	return s, nil
}

// userConfig reads the user's own configuration, if it may be another than it
// was, or than it is for other git directories.
func (r *Repository) userConfig(ctx context.Context, gitDir string, was *settings) (*userConfig, error) {
	if was != nil && was.user.isAnywhere && unchanged(was.user.watched) {
		return was.user, nil
	}
	for _, other := range r.config.byDir {
		if other.user.isAnywhere && unchanged(other.user.watched) {
			return other.user, nil
		}
	}
	if kept := r.git.rememberedUser(); kept != nil {
		return kept, nil
	}
	entries, err := r.configEntries(ctx, gitDir)
	if err != nil {
		return nil, err
	}
	u := &userConfig{isAnywhere: true, watched: map[string]string{}}
	for _, f := range r.configFiles(gitDir, entries) {
		u.watched[f] = digest(f)
	}
	for _, e := range entries {
		if !e.ofUser() {
			continue
		}
		u.isAnywhere = u.isAnywhere && !strings.HasPrefix(e.key, "includeif.")
		if kept(e.key) || slices.Contains(readSelf, e.key) {
			u.entries = append(u.entries, e)
		}
	}
	if u.isAnywhere {
		r.git.rememberUser(u)
	}
	return u, nil
}

// combineSettings joins the user's configuration and the repository's.
func (r *Repository) combineSettings(u *userConfig, h *hostState) (*settings, error) {
	s := &settings{user: u, host: h, values: map[string]string{}}
	var global []configEntry
	for _, e := range u.entries {
		if kept(e.key) {
			global = append(global, e)
		}
		if slices.Contains(readSelf, e.key) {
			s.values[e.key] = e.setting().Value
		}
		name, ok := subsection(e.key, "filter.")
		s.hasFilters = s.hasFilters || ok && name != "lfs"
	}
	askPass, _ := r.git.environ("SSH_ASKPASS")
	s.credentials = credentials(s.values, u.entries, askPass)
	for _, p := range h.record.Pinned {
		if slices.Contains(readSelf, p.Key) {
			s.values[p.Key] = p.Value
		}
	}
	for _, e := range h.entries {
		switch {
		case e.class() == classData && slices.Contains(readSelf, e.key):
			s.values[e.key] = e.setting().Value
		case e.class() == classContent && h.files[e.key] != nil:
			s.values[e.key] = r.contentFile(e.key)
		}
	}
	byName := map[string][]configEntry{}
	for _, f := range h.filters {
		name, _ := subsection(f.key, "filter.")
		byName[name] = append(byName[name], f)
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		r.judgeFilter(s, name, byName[name])
	}
	for _, f := range s.filters {
		s.mayFilter(f[0], f[1])
	}
	for _, e := range s.user.entries {
		s.mayFilter(e.key, e.value)
	}
	var err error
	s.file, err = r.git.writeConfig(global)
	return s, err
}

// mayFilter notes a command of a filter that may run.
func (s *settings) mayFilter(key, command string) {
	name, ok := subsection(key, "filter.")
	isCommand := strings.HasSuffix(key, ".clean") || strings.HasSuffix(key, ".smudge") || strings.HasSuffix(key, ".process")
	if !ok || !isCommand || command == "" {
		return
	}
	if name == "lfs" {
		s.hasLFS = true
	} else {
		s.hasFilters = true
	}
}

// judgeFilter decides about a filter of the repository's. Commands that are
// approved run. If one is not, the user's own filter of that name takes its
// place; where there is none, the filter is required and empty, so that git
// fails: without it content would be stored as it is.
func (r *Repository) judgeFilter(s *settings, name string, all []configEntry) {
	isOwn := slices.ContainsFunc(s.user.entries, func(e configEntry) bool {
		own, _ := subsection(e.key, "filter.")
		return own == name
	})
	isRefused, isRequired := false, false
	commands := [][2]string{}
	for _, f := range all {
		switch {
		case !f.isCommand():
			isRequired = f.bare || isTrue(f.value)
		case r.approves(s.host, f):
			commands = append(commands, [2]string{f.key, f.value})
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

// approves reports whether a person approved the command of a filter, exactly
// as it stands there: for this repository, or for all. That of large files is
// known to run git-lfs and nothing else.
func (r *Repository) approves(h *hostState, f configEntry) bool {
	name, _ := subsection(f.key, "filter.")
	return slices.Contains(h.record.Filters, f.setting()) || slices.Contains(r.git.opts.Filters, f.value) && f.value != "" ||
		name == "lfs" && slices.Contains(lfsCommands, f.value)
}

// RefusedFilters names the filters of the repository's own configuration that
// are not allowed to run.
func (r *Repository) RefusedFilters() ([]string, error) {
	s, err := r.settingsOf(context.Background(), r.CommonDir)
	if err != nil {
		return nil, err
	}
	return s.refused, nil
}

// subsection returns the middle part of a key such as filter.lfs.clean.
func subsection(key, section string) (string, bool) {
	rest, ok := strings.CutPrefix(key, section)
	i := strings.LastIndexByte(rest, '.')
	if !ok || i <= 0 {
		return "", false
	}
	return rest[:i], true
}

// offline are the settings of calls that have no business with the network.
// Such a call may still fetch objects that a partial clone lacks.
var offline = [][2]string{{"core.sshCommand", "ssh"}, {"core.askPass", ""}, {"credential.helper", ""}}

// credentials are the programs by which the user answers when a server asks
// who is there.
func credentials(values map[string]string, entries []configEntry, sshAskPass string) [][2]string {
	either := func(value, otherwise string) string {
		if value == "" {
			return otherwise
		}
		return value
	}
	kv := [][2]string{
		{"core.sshCommand", either(values["core.sshcommand"], "ssh")},
		{"core.askPass", either(values["core.askpass"], sshAskPass)},
		{"credential.helper", ""}, // this ends the list that came before
	}
	for _, e := range entries {
		if strings.HasPrefix(e.key, "credential.") && strings.HasSuffix(e.key, ".helper") {
			kv = append(kv, [2]string{e.key, e.value})
		}
	}
	return kv
}

// userEnv are the variables by which a user says where the configuration is.
var userEnv = []string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"}

// configEntries reads the user's configuration as git sees it in a git
// directory, conditional includes among it, and with it that of the host
// directory. Reading runs nothing.
func (r *Repository) configEntries(ctx context.Context, gitDir string) ([]configEntry, error) {
	env := append(r.git.baseEnv(), "GIT_COMMON_DIR="+r.hostDir(), "GIT_OBJECT_DIRECTORY="+r.commonPath("objects"))
	for _, name := range userEnv {
		if v, ok := r.git.environ(name); ok {
			env = append(env, name+"="+v)
		}
	}
	args := []string{"--git-dir=" + gitDir, "config", "--list", "-z", "--show-scope", "--show-origin", "--includes"}
	ctx, end := r.git.watchDeadline(ctx, door{repo: r, gitDir: gitDir}, call{args: args})
	defer end()
	res, err := proc.Run(ctx, proc.Command{Path: r.git.opts.Path, Args: args, Env: env, Dir: r.hostDir()})
	if err != nil {
		return nil, r.git.wrap(args, r.CommonDir, err)
	}
	return parseConfigList(res.Stdout)
}

// parseConfigList reads `git config --list -z --show-scope --show-origin`: a
// scope, an origin, and a key and its value with a newline between them, each
// ended by NUL.
func parseConfigList(out []byte) ([]configEntry, error) {
	var entries []configEntry
	fields := strings.Split(string(out), "\x00")
	if len(fields)%3 != 1 || fields[len(fields)-1] != "" {
		return nil, fmt.Errorf("configuration: output ends within an entry: %w", io.ErrUnexpectedEOF)
	}
	for f := range slices.Chunk(fields[:len(fields)-1], 3) {
		key, value, hasValue := strings.Cut(f[2], "\n")
		if f[0] == "" || !strings.Contains(key, ".") {
			return nil, fmt.Errorf("configuration: not an entry: %q", f)
		}
		entries = append(entries, configEntry{f[0], strings.TrimPrefix(f[1], "file:"), key, value, !hasValue})
	}
	return entries, nil
}

// configFiles lists the files that decide what configEntries returns, whether
// they are there or not.
func (r *Repository) configFiles(gitDir string, entries []configEntry) []string {
	home := r.git.home()
	files := r.git.systemConfig()
	if global, ok := r.git.environ("GIT_CONFIG_GLOBAL"); ok {
		files = append(files, global)
	} else if home != "" {
		files = append(files, filepath.Join(home, ".gitconfig"), filepath.Join(r.git.configHome(), "git", "config"))
	}
	for _, e := range entries {
		if !e.ofUser() {
			continue
		}
		if filepath.IsAbs(e.file) {
			files = append(files, e.file)
		}
		if strings.HasPrefix(e.key, "includeif.onbranch:") {
			files = append(files, filepath.Join(gitDir, "HEAD"))
		}
		if strings.HasPrefix(e.key, "includeif.hasconfig:") {
			files = append(files, filepath.Join(r.hostDir(), "config"))
		}
		if strings.HasPrefix(e.key, "include.") || strings.HasPrefix(e.key, "includeif.") {
			files = append(files, includedFile(e.value, e.file, home))
		}
	}
	return files
}

func unchanged(watched map[string]string) bool {
	for f, was := range watched {
		if digest(f) != was {
			return false
		}
	}
	return true
}

// digest is what a configuration file holds, in short.
func digest(file string) string {
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

// writeConfig writes settings as a configuration file named after its
// contents: written once, never changed, safe to share by many processes.
func (g *Git) writeConfig(entries []configEntry) (string, error) {
	var b bytes.Buffer
	for _, e := range entries {
		writeEntry(&b, e)
	}
	sum := sha256.Sum256(b.Bytes())
	path := filepath.Join(g.opts.ConfigDir, "config-"+hex.EncodeToString(sum[:8]))
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, b.Bytes()) {
		return path, nil
	}
	if err := os.MkdirAll(g.opts.ConfigDir, 0o700); err != nil {
		return "", err
	}
	return path, fsx.ReplaceFile(path, b.Bytes(), 0o600)
}

func writeEntry(b *bytes.Buffer, e configEntry) {
	first, last := strings.IndexByte(e.key, '.'), strings.LastIndexByte(e.key, '.')
	if first < 0 {
		return
	}
	b.WriteString("[" + e.key[:first])
	if last > first {
		b.WriteString(` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(e.key[first+1:last]) + `"`)
	}
	b.WriteString("]\n\t" + e.key[last+1:])
	if !e.bare {
		b.WriteString(` = "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`).Replace(e.value) + `"`)
	}
	b.WriteString("\n")
}
