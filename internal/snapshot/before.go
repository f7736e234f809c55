package snapshot

import (
	"context"
	"path/filepath"
	"slices"
)

// overwrittenFiles picks, of the untracked files in a worktree, those that another
// snapshot would overwrite if it were restored: at its paths, below its files
// and repositories, and above any of them. The second list are those that it
// would overwrite by private files.
func (s *saver) overwrittenFiles(ctx context.Context, untracked []string) (files, secrets []string, err error) {
	if s.sel.Before == "" {
		return nil, nil, nil
	}
	p, err := ReadPaths(ctx, s.w.Repo, s.sel.Before)
	if err != nil {
		return nil, nil, err
	}
	at, above, private := map[string]bool{}, map[string]bool{}, map[string]bool{}
	add := func(path string, set map[string]bool) {
		set[path] = true
		for d := filepath.Dir(path); d != "." && !above[d]; d = filepath.Dir(d) {
			above[d] = true
		}
	}
	for _, path := range slices.Concat(p.Files, p.Nested) {
		add(path, at)
	}
	for _, path := range p.Empty {
		add(path, above) // a directory there may stay
	}
	for _, path := range p.Secrets {
		add(path, private)
	}
	for _, u := range untracked {
		if private[u] {
			secrets = append(secrets, u)
			continue
		}
		hit := at[u] || above[u]
		for d := filepath.Dir(u); d != "." && !hit; d = filepath.Dir(d) {
			hit = at[d] || private[d]
		}
		if hit {
			files = append(files, u)
		}
	}
	return files, secrets, nil
}
