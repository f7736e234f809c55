package gitcmd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitconfig"
)

// FileRules are what decides, beside a checkout's own files, how git compares and ignores them.
type FileRules struct {
	// IsKnown says that they are the same for every checkout, and that nothing outside of what
	// the digest is of belongs to them.
	IsKnown bool
	// Digest changes with any of them.
	Digest string
	// HasAttributes says that attributes are set outside of the checkout.
	HasAttributes bool
	// HasFilters says that a program may decide whether a file has changed.
	HasFilters bool

	repo *Repository
	host *hostState
}

// IsFull reports whether the checkout of a git directory has all files of its commit: it is not
// sparse.
func (f FileRules) IsFull(gitDir string) bool {
	sparse, err := f.repo.sparseOf(f.host, gitDir)
	return err == nil && len(sparse) == 0
}

// FileRules reads them.
func (r *Repository) FileRules(ctx context.Context) (FileRules, error) {
	s, err := r.SettingsOf(ctx, r.CommonDir)
	if err != nil {
		return FileRules{}, err
	}
	v, err := r.Version()
	if err != nil {
		return FileRules{}, err
	}
	rules := FileRules{IsKnown: s.user.isAnywhere, HasFilters: s.HasFilters || s.hasLFS, repo: r, host: s.host}
	sum := sha256.New()
	fmt.Fprintf(sum, "%v %q %q %q\n", v, s.File, s.filters, r.hostConfig(s.host))
	for _, name := range append([]string{"info/exclude", "info/attributes"}, gitconfig.ContentKeys...) {
		fmt.Fprintf(sum, "%s %q\n", name, s.host.files[name])
	}
	rules.HasAttributes = len(s.host.files["info/attributes"])+len(s.host.files["core.attributesfile"]) > 0
	files := []string{r.OwnExcludes()}
	if home := r.Git.ConfigHome(); home != "" {
		files = append(files, filepath.Join(home, "git", "ignore"), filepath.Join(home, "git", "attributes"))
	}
	for _, config := range r.Git.systemConfig() {
		files = append(files, filepath.Join(filepath.Dir(config), "gitattributes"))
	}
	for _, e := range s.user.entries {
		if e.Class() != gitconfig.ClassContent || e.Bare || e.Value == "" {
			continue
		}
		path := gitconfig.IncludedFile(e.Value, "", r.Git.Home())
		if !filepath.IsAbs(path) { // git reads it in the checkout
			rules.IsKnown = false
		}
		files = append(files, path)
		rules.HasAttributes = rules.HasAttributes || e.Key == "core.attributesfile"
	}
	for _, path := range files {
		fmt.Fprintf(sum, "%q %s\n", path, Digest(path))
		isAttributes := filepath.Base(path) == "attributes" || filepath.Base(path) == "gitattributes"
		rules.HasAttributes = rules.HasAttributes || isAttributes && fsx.IsThere(path)
	}
	rules.Digest = hex.EncodeToString(sum.Sum(nil))
	return rules, nil
}

// CheckTarget fails where a call on a checkout would, before git is started.
func (r *Repository) CheckTarget(d Target, c Call) error {
	if err := d.refuseBlocking(c); err != nil {
		return err
	}
	return d.checkGitDir()
}
