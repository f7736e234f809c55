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
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	ignore, err := r.userIgnore(ctx)
	if err != nil {
		return err
	}
	text := string(ignore)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	text += roleMark + "\n" + strings.Join(patterns, "\n") + "\n"
	if err := writeIfChanged(filepath.Join(dir, "exclude"), text); err != nil {
		return err
	}
	var config bytes.Buffer
	writeEntry(&config, configEntry{key: "core.excludesFile", value: filepath.ToSlash(filepath.Join(dir, "exclude"))})
	if err := writeIfChanged(filepath.Join(dir, "gitconfig"), config.String()); err != nil {
		return err
	}
	literal := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)
	places := []string{filepath.Join(r.CommonDir, "worktrees")}
	if isThere(r.isolatedDir()) {
		places = append(places, r.isolatedDir())
	}
	for _, place := range places {
		key := "includeIf.gitdir:" + literal.Replace(filepath.ToSlash(place)) + "/" + admins + ".path"
		if out, err := r.run(ctx, "config", "--file", filepath.Join(r.CommonDir, "config"), "--get", key); err == nil && len(bytes.TrimSpace(out)) > 0 {
			continue
		}
		if err := r.setConfig(ctx, key, "croft/gitconfig"); err != nil {
			return err
		}
	}
	return nil
}

// userIgnore is the content of the ignore file that the user has for all
// repositories.
func (r *Repository) userIgnore(ctx context.Context) ([]byte, error) {
	const notSet = 1
	out, err := r.run(ctx, "config", "--type=path", "--get", "core.excludesFile")
	path := strings.TrimSuffix(string(out), "\n")
	switch {
	case exitCode(err) == notSet:
		path = filepath.Join(r.git.configHome(), "git", "ignore")
	case err != nil:
		return nil, err
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

func writeIfChanged(path, text string) error {
	if old, err := os.ReadFile(path); err == nil && string(old) == text {
		return nil
	}
	return replaceFile(path, []byte(text), 0o644)
}
