package git

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitconfig"
)

// LocalExclude makes git ignore patterns in the linked worktrees whose admin directories
// match a pattern such as "croft-*", and nowhere else.
//
// All checkouts of a repository share its exclude file, so that would hide the user's own
// files, too. Instead a conditional include in the repository's configuration gives those
// worktrees an ignore file with the user's own patterns and these. Croft's own git uses a
// copy that no agent can write. The caller holds the repository's lock.
func (r *Repository) LocalExclude(ctx context.Context, admins string, patterns []string) error {
	ignore, err := r.userIgnore(ctx)
	if err != nil {
		return err
	}
	text := string(ignore)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	text += gitcmd.RoleMark + "\n" + strings.Join(patterns, "\n") + "\n"
	var config bytes.Buffer
	gitconfig.Write(&config, gitconfig.Entry{Key: "core.excludesfile", Value: filepath.ToSlash(r.CommonPath("croft/exclude"))})
	for name, text := range map[string]string{"croft/exclude": text, gitconfig.RoleInclude: config.String()} {
		if err := (commonFile{name: name, limit: gitconfig.MaxSize}).replaceText(r, func(string) string { return text }); err != nil {
			return err
		}
	}
	if err := r.includeRoles(admins); err != nil {
		return err
	}
	return fsx.ReplaceIfChanged(r.OwnExcludes(), text)
}

// LiteralPattern returns a .gitignore pattern that matches only this path.
func LiteralPattern(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// includeRoles adds the conditional include to the repository's configuration, unless it
// is there.
func (r *Repository) includeRoles(admins string) error {
	places := []string{r.CommonPath("worktrees")}
	if fsx.IsThere(r.IsolatedDir()) {
		places = append(places, r.IsolatedDir())
	}
	h, err := r.EnsureHostDir()
	if err != nil {
		return err
	}
	for _, place := range places {
		e := gitconfig.Entry{Key: "includeif.gitdir:" + LiteralPattern(filepath.ToSlash(place)) + "/" + admins + ".path", Value: gitconfig.RoleInclude}
		if slices.Contains(h.Entries, e) {
			continue
		}
		if err := r.changeConfig(func(old string) string { return addSetting(old, e) }); err != nil {
			return err
		}
	}
	return nil
}

// userIgnore returns the content of the user's global ignore file.
func (r *Repository) userIgnore(ctx context.Context) ([]byte, error) {
	s, err := r.SettingsOf(ctx, r.CommonDir)
	if err != nil {
		return nil, err
	}
	path, isSet := s.Values["core.excludesfile"]
	if !isSet {
		path = filepath.Join(r.Git.ConfigHome(), "git", "ignore")
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		path = filepath.Join(r.Git.Home(), rest)
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
