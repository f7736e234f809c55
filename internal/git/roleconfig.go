package git

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// LocalExclude makes git ignore patterns in the linked worktrees whose admin
// directories match a pattern such as "croft-*", and nowhere else.
//
// The exclude file of a repository is shared by all its checkouts, so it would
// hide the user's own files too. Instead one conditional include in the
// repository's configuration gives those worktrees an ignore file that holds
// the user's own patterns and these. The caller holds the repository's lock.
func (r *Repository) LocalExclude(ctx context.Context, admins string, patterns []string) error {
	dir := filepath.Join(r.CommonDir, "croft")
	ignore, err := r.userIgnore(ctx)
	if err != nil {
		return err
	}
	text := string(ignore)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	text += "# Put there by Croft: files of its own in a workspace.\n" + strings.Join(patterns, "\n") + "\n"
	if err := writeIfChanged(filepath.Join(dir, "exclude"), text); err != nil {
		return err
	}
	config := "[core]\n\texcludesFile = \"" + filepath.ToSlash(filepath.Join(dir, "exclude")) + "\"\n"
	if err := writeIfChanged(filepath.Join(dir, "gitconfig"), config); err != nil {
		return err
	}
	key := "includeIf.gitdir:" + filepath.ToSlash(filepath.Join(r.CommonDir, "worktrees", admins)) + ".path"
	if out, err := r.run(ctx, "config", "--file", filepath.Join(r.CommonDir, "config"), "--get", key); err == nil && len(bytes.TrimSpace(out)) > 0 {
		return nil
	}
	_, err = r.run(ctx, "config", "--file", filepath.Join(r.CommonDir, "config"), key, "croft/gitconfig")
	return err
}

// userIgnore is the content of the ignore file that the user has for all
// repositories.
func (r *Repository) userIgnore(ctx context.Context) ([]byte, error) {
	out, err := r.run(ctx, "config", "--type=path", "--get", "core.excludesFile")
	path := strings.TrimSpace(string(out))
	if err != nil || path == "" {
		path = r.git.defaultIgnore()
	}
	if !filepath.IsAbs(path) {
		return nil, nil
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// defaultIgnore is where git looks when core.excludesFile is not set.
func (g *Git) defaultIgnore() string {
	var home, config string
	for _, kv := range g.opts.Environ {
		switch name, value, _ := strings.Cut(kv, "="); name {
		case "HOME":
			home = value
		case "XDG_CONFIG_HOME":
			config = value
		}
	}
	if config == "" {
		if home == "" {
			return ""
		}
		config = filepath.Join(home, ".config")
	}
	return filepath.Join(config, "git", "ignore")
}

func writeIfChanged(path, text string) error {
	if old, err := os.ReadFile(path); err == nil && string(old) == text {
		return nil
	}
	return replaceFile(path, []byte(text), 0o644)
}
