package snapshot

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/croft-sh/croft/internal/fsx"
)

// secretsOfLast returns the files that hold the private files of earlier snapshots, by
// the paths of the private files.
func (s *saver) secretsOfLast(ctx context.Context) map[string][]string {
	files := map[string][]string{}
	for _, last := range s.sel.Last {
		m, err := ReadMeta(ctx, s.w.Repo, last.Commit)
		if err != nil {
			continue
		}
		for name, path := range m.Secrets {
			if name == filepath.Base(name) {
				files[string(path)] = append(files[string(path)], filepath.Join(last.SecretsDir, name))
			}
		}
	}
	return files
}

// renameToLast renames a private file that was just copied to the name that its copy
// has in an earlier snapshot, if the contents are equal, so that snapshots of equal
// files are equal.
func (s *saver) renameToLast(name string, earlier []string) (string, error) {
	copied := filepath.Join(s.sel.SecretsDir, name)
	for _, was := range earlier {
		if info, err := os.Lstat(was); err != nil || !info.Mode().IsRegular() {
			continue
		}
		before, err := hashFile(s.w.Repo, was)
		if err != nil {
			continue
		}
		if now, err := hashFile(s.w.Repo, copied); err != nil || now != before {
			continue
		}
		dir, err := fsx.OpenOwn(s.sel.SecretsDir)
		if err != nil {
			return name, err
		}
		last := filepath.Base(was)
		s.secrets = append(s.secrets, filepath.Join(s.sel.SecretsDir, last))
		return last, errors.Join(dir.RenameNew(name, dir, last), dir.Close())
	}
	return name, nil
}

// reuseLast reports whether an earlier snapshot has the same tree and all of its
// objects exist. Then it deletes the private files that were copied for this snapshot, and
// Save returns the earlier one.
func (s *saver) reuseLast(ctx context.Context, tree string) bool {
	for _, last := range s.sel.Last {
		had, err := s.w.Repo.Info(ctx, last.Commit+"^{tree}")
		if err == nil && had.OID == tree && s.batch.IsThere(ctx) {
			s.deleteSecrets()
			s.saved.Commit, s.sel.SecretsDir = last.Commit, last.SecretsDir
			return true
		}
	}
	return false
}
