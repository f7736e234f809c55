package git

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/croft-sh/croft/internal/git/gitcmd"
)

// Irregular lists symbolic links, pipes and devices where git keeps refs, reflogs,
// worktree registrations and other files of its own. Croft writes nothing through them,
// and git blocks on pipes.
func (r *Repository) Irregular() []string {
	var found []string
	for _, name := range slices.Concat(gitcmd.ReadInGitDir, gitcmd.ReadInCommon, []string{"objects", "objects/pack", "objects/info", "info"}) {
		path := filepath.Join(r.CommonDir, filepath.FromSlash(name))
		info, err := os.Lstat(path)
		if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
			found = append(found, path)
		}
	}
	looked := 0
	for _, area := range []string{"refs", "logs", "worktrees"} {
		_ = filepath.WalkDir(filepath.Join(r.CommonDir, area), func(path string, e fs.DirEntry, err error) error {
			if looked++; looked > gitcmd.MaxExamined || len(found) > maxIrregular {
				return fs.SkipAll
			}
			if err == nil && !e.IsDir() && !e.Type().IsRegular() && !slices.Contains(found, path) {
				found = append(found, path)
			}
			return nil
		})
	}
	return found
}

// maxIrregular bounds how many are listed.
const maxIrregular = 100
