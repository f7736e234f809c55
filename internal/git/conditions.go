package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/croft-sh/croft/internal/git/gitcmd"
)

// MergeConditions digests what merges and histories of commits depend on besides the
// commits: the version of git, its settings and attributes, and where a shallow history
// ends. A caller may remember a result of git's as long as they are the same.
func (r *Repository) MergeConditions(ctx context.Context) (string, error) {
	v, err := r.Version()
	if err != nil {
		return "", err
	}
	now, err := r.SettingsOf(ctx, r.CommonDir)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n", v)
	for _, key := range slices.Sorted(maps.Keys(now.Values)) {
		fmt.Fprintf(sum, "%q %q\n", key, now.Values[key])
	}
	files, _ := systemAttributes(r.Git)
	if given := now.Values["core.attributesfile"]; filepath.IsAbs(given) {
		files = append(files, given)
	} else if given != "" {
		return "", fmt.Errorf("core.attributesFile: not an absolute path: %q", given)
	}
	files = append(files, now.File, filepath.Join(r.Git.ConfigHome(), "git", "attributes"))
	for _, name := range []string{"config", filepath.Join("info", "attributes"), "shallow"} {
		files = append(files, filepath.Join(r.HostDir(), name))
	}
	for _, f := range files {
		fmt.Fprintf(sum, "%q %s\n", f, gitcmd.Digest(f))
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
