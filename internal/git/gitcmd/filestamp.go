package gitcmd

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
)

// UnsteadyError says why a checkout of a commit cannot be made for later: its files may be other ones then.
type UnsteadyError string

func (e UnsteadyError) Error() string { return string(e) }

// FileStamp returns a text that changes with everything that decides how git writes the files of a commit, besides
// the commit: line endings, attributes, the way git-lfs is called, and git itself. It fails with an [UnsteadyError]
// where that cannot be told, or where new worktrees do not have all files.
func (r *Repository) FileStamp(ctx context.Context) (string, error) {
	s, err := r.SettingsOf(ctx, r.CommonDir)
	if err != nil {
		return "", err
	}
	sparse, err := r.sparseOf(s.host, r.CommonDir)
	switch {
	case err != nil:
		return "", err
	case s.HasFilters || len(s.refused) > 0:
		return "", UnsteadyError("a content filter is configured")
	case r.Format.Partial:
		return "", UnsteadyError("the repository is a partial clone")
	case len(sparse) > 0:
		return "", UnsteadyError("the project's checkout is sparse")
	}
	version, err := r.Git.Version()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	fmt.Fprintln(sum, version, filepath.Base(s.File)) // named after its content
	for _, text := range [][]byte{r.hostConfig(s.host), s.host.files["info/attributes"]} {
		fmt.Fprintf(sum, "%d %s\n", len(text), text)
	}
	for _, file := range []string{s.Values["core.attributesfile"], filepath.Join(r.Git.ConfigHome(), "git", "attributes")} {
		fmt.Fprintln(sum, Digest(cmp.Or(file, "/")))
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}
