package git

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/proc"
)

// configEntry is one setting with the file class that it came from.
type configEntry struct {
	scope, key, value string
	bare              bool // a key without a value, which means true
}

// userSettings is what a repository's calls take from configuration.
type userSettings struct {
	file   string      // the generated global file
	closed [][2]string // settings that blank what the repository's own configuration must not run
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

func (r *Repository) readUserConfig() (userSettings, error) {
	entries, err := r.configEntries(context.Background())
	if err != nil {
		return userSettings{}, err
	}
	var user []configEntry
	filters := map[string]bool{"lfs": true}
	for _, f := range r.git.opts.Filters {
		filters[f] = true
	}
	for _, e := range entries {
		if (e.scope == "global" || e.scope == "system") && kept(e.key) {
			user = append(user, e)
			if name, ok := subsection(e.key, "filter."); ok {
				filters[name] = true
			}
		}
	}
	file, err := r.git.writeConfig(user)
	if err != nil {
		return userSettings{}, err
	}
	return userSettings{file: file, closed: closing(entries, filters)}, nil
}

// closing blanks every program that the repository's own configuration would
// make git run: filters that nobody allowed, merge drivers, diff programs and
// configured hooks. Their names are the repository's choice, so they are taken
// from its configuration.
func closing(entries []configEntry, filters map[string]bool) [][2]string {
	var kv [][2]string
	seen := map[string]bool{}
	add := func(key, value string) {
		if !seen[key] {
			seen[key] = true
			kv = append(kv, [2]string{key, value})
		}
	}
	for _, e := range entries {
		if e.scope != "local" && e.scope != "worktree" {
			continue
		}
		if name, ok := subsection(e.key, "filter."); ok && !filters[name] {
			for _, v := range []string{"clean", "smudge", "process"} {
				add("filter."+name+"."+v, "")
			}
		}
		if name, ok := subsection(e.key, "merge."); ok && strings.HasSuffix(e.key, ".driver") {
			add("merge."+name+".driver", "false")
		}
		if name, ok := subsection(e.key, "diff."); ok {
			add("diff."+name+".command", "")
			add("diff."+name+".textconv", "")
		}
		if name, ok := subsection(e.key, "hook."); ok {
			add("hook."+name+".enabled", "false")
		}
	}
	return kv
}

// RefusedFilters names the filters of the repository's own configuration that
// are not allowed to run.
func (r *Repository) RefusedFilters() ([]string, error) {
	user, err := r.userConfig()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, kv := range user.closed {
		if name, ok := subsection(kv[0], "filter."); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

func kept(key string) bool {
	return slices.ContainsFunc(keepUser, func(k string) bool {
		return key == k || strings.HasSuffix(k, ".") && strings.HasPrefix(key, k)
	})
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

// configEntries reads all configuration as git sees it in this repository,
// conditional includes of the user's included. Reading runs nothing.
func (r *Repository) configEntries(ctx context.Context) ([]configEntry, error) {
	env := r.git.baseEnv()
	for _, kv := range r.git.opts.Environ {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM":
			env = append(env, kv)
		}
	}
	args := []string{"--git-dir=" + r.CommonDir, "config", "--list", "-z", "--show-scope", "--includes"}
	res, err := proc.Run(ctx, proc.Command{Path: r.git.opts.Path, Args: args, Env: env, Dir: r.CommonDir})
	if err != nil {
		return nil, r.git.wrap(args, r.CommonDir, err)
	}
	return parseConfigList(res.Stdout), nil
}

// parseConfigList reads `git config --list -z --show-scope`: a scope, then a
// key and its value with a newline between them, each ended by NUL.
func parseConfigList(out []byte) []configEntry {
	var entries []configEntry
	fields := bytes.Split(out, []byte{0})
	for i := 0; i+1 < len(fields); i += 2 {
		key, value, hasValue := strings.Cut(string(fields[i+1]), "\n")
		entries = append(entries, configEntry{string(fields[i]), key, value, !hasValue})
	}
	return entries
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
