package git

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/croft-sh/croft/internal/proc"
)

// configEntry is one setting with the class and the name of the file that it
// came from.
type configEntry struct {
	scope, file, key, value string
	bare                    bool // a key without a value, which means true
}

func (e configEntry) ofUser() bool       { return e.scope == "global" || e.scope == "system" }
func (e configEntry) ofRepository() bool { return e.scope == "local" || e.scope == "worktree" }

// settings is what the calls on one git directory take from configuration.
type settings struct {
	file        string            // the generated global file
	closed      [][2]string       // settings that close what the repository's own configuration would run
	refused     []string          // filters among them
	credentials [][2]string       // settings of calls that use the network
	effective   map[string]string // values that are read here, by key
	filters     bool              // there are filters other than that of large files

	values map[string]string // settings that Croft itself looks at

	watched map[string]string // the files that decided all this, and what they held
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

// readSelf lists the settings that Croft reads itself, with those of the
// repository.
var readSelf = []string{
	"user.name", "user.email", "author.name", "author.email", "committer.name", "committer.email", "commit.gpgsign",
}

func kept(key string) bool {
	return slices.ContainsFunc(keepUser, func(k string) bool {
		return key == k || strings.HasSuffix(k, ".") && strings.HasPrefix(key, k)
	})
}

// settingsCache holds the settings of a repository's git directories.
type settingsCache struct {
	mu    sync.Mutex
	byDir map[string]*cachedSettings
}

type cachedSettings struct {
	mu  sync.Mutex
	now *settings
}

// settingsOf returns the settings of a git directory: a linked worktree has a
// configuration file of its own, and includes that depend on where it lies and
// on its branch. They are read again as soon as a file that decided them is
// another, because who works in a checkout can write the repository's
// configuration at any time.
func (r *Repository) settingsOf(ctx context.Context, gitDir string) (*settings, error) {
	r.config.mu.Lock()
	c := r.config.byDir[gitDir]
	if c == nil {
		c = &cachedSettings{}
		if r.config.byDir == nil {
			r.config.byDir = map[string]*cachedSettings{}
		}
		r.config.byDir[gitDir] = c
	}
	r.config.mu.Unlock()

	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now != nil && unchanged(c.now.watched) {
		return c.now, nil
	}
	s, err := r.readSettings(ctx, gitDir)
	if err != nil {
		return nil, err
	}
	c.now = s
	return s, nil
}

func (r *Repository) readSettings(ctx context.Context, gitDir string) (*settings, error) {
	entries, err := r.configEntries(ctx, gitDir)
	if err != nil {
		return nil, err
	}
	p := newPolicy(entries, r.git.opts.Filters)
	askPass, _ := r.git.environ("SSH_ASKPASS")
	s := &settings{closed: p.closed, refused: p.refused, credentials: p.credentials(entries, askPass), values: map[string]string{}}
	for _, e := range entries {
		if slices.Contains(readSelf, e.key) && (e.ofUser() || e.ofRepository()) {
			s.values[e.key] = e.value
			if e.bare {
				s.values[e.key] = "true"
			}
		}
		if e.ofUser() && kept(e.key) {
			p.first = append(p.first, e)
		}
	}
	s.effective = effective(entries)
	for _, e := range entries {
		name, ok := subsection(e.key, "filter.")
		s.filters = s.filters || ok && name != "lfs"
	}
	if s.file, err = r.git.writeConfig(p.first); err != nil {
		return nil, err
	}
	s.watched = map[string]string{}
	for _, f := range append(r.configFiles(gitDir, entries), s.file) {
		s.watched[f] = digest(f)
	}
	return s, nil
}

// effective picks the settings that are needed here, as git would with the
// generated file: the last one counts.
func effective(entries []configEntry) map[string]string {
	values := map[string]string{}
	for _, e := range entries {
		switch e.key {
		case "core.autocrlf", "core.eol", "core.attributesfile":
			if !e.ofUser() && !e.ofRepository() {
				continue
			}
			values[e.key] = e.value
			if e.bare {
				values[e.key] = "true"
			}
		}
	}
	return values
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

// configEntries reads all configuration as git sees it in a git directory,
// conditional includes among it. Reading runs nothing.
func (r *Repository) configEntries(ctx context.Context, gitDir string) ([]configEntry, error) {
	env := append(r.git.baseEnv(), "GIT_COMMON_DIR="+r.CommonDir)
	for _, name := range []string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"} {
		if v, ok := r.git.environ(name); ok {
			env = append(env, name+"="+v)
		}
	}
	args := []string{"--git-dir=" + gitDir, "config", "--list", "-z", "--show-scope", "--show-origin", "--includes"}
	ctx, end := r.git.watch(ctx, door{repo: r, gitDir: gitDir}, args)
	defer end()
	res, err := proc.Run(ctx, proc.Command{Path: r.git.opts.Path, Args: args, Env: env, Dir: r.CommonDir})
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
	files := []string{filepath.Join(r.CommonDir, "config"), filepath.Join(gitDir, "config.worktree")}
	home := r.git.home()
	if global, ok := r.git.environ("GIT_CONFIG_GLOBAL"); ok {
		files = append(files, global)
	} else if home != "" {
		files = append(files, filepath.Join(home, ".gitconfig"), filepath.Join(r.git.configHome(), "git", "config"))
	}
	for _, e := range entries {
		if filepath.IsAbs(e.file) {
			files = append(files, e.file)
		}
		if strings.HasPrefix(e.key, "includeif.onbranch:") {
			files = append(files, filepath.Join(gitDir, "HEAD"))
		}
		if strings.HasPrefix(e.key, "include.") || strings.HasPrefix(e.key, "includeif.") {
			path := e.value
			if rest, ok := strings.CutPrefix(path, "~/"); ok {
				path = filepath.Join(home, rest)
			} else if !filepath.IsAbs(path) {
				path = filepath.Join(filepath.Dir(e.file), path)
			}
			files = append(files, path)
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
	return string(sum[:])
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
	return path, replaceFile(path, b.Bytes(), 0o600)
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

// replaceFile writes a file whole or not at all.
func replaceFile(path string, data []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".croft-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}
