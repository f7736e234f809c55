package worktree

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitconfig"
)

// AllFiles in AddSpec.Sparse means that a checkout has all files of its commits.
const AllFiles = "/"

// everything is the pattern of a sparse checkout that leaves nothing out.
const everything = "/*\n"

// writeSparse writes which files of its commits a new worktree has, and its settings: those of the main checkout, as git
// does, without those that name the main checkout's location. dirs, if there are any, replace the main
// checkout's patterns.
func (r *Repository) writeSparse(w *Worktree, dirs []string, admin *fsx.Dir) error {
	patterns, err := r.sparsePatterns(dirs)
	if err == nil && patterns != nil {
		err = admin.WriteBelow("info", "sparse-checkout", patterns)
	}
	if err != nil {
		return err
	}
	hasOwn, err := r.HasWorktreeConfig()
	if err != nil || !hasOwn && (!w.IsIsolated() || len(dirs) == 0) {
		return err
	}
	var text bytes.Buffer
	if hasOwn {
		entries, err := gitconfig.ReadFile(r.CommonPath("config.worktree"))
		if errors.Is(err, os.ErrNotExist) && len(dirs) == 0 {
			return nil
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			isOther := len(dirs) > 0 && slices.Contains(gitconfig.SparseKeys, e.Key)
			if e.Key != "core.bare" && e.Key != "core.worktree" && !isOther {
				gitconfig.Write(&text, e)
			}
		}
	}
	if len(dirs) > 0 {
		isSparse := "true"
		if slices.Contains(dirs, AllFiles) {
			isSparse = "false"
		}
		for _, key := range []string{"core.sparsecheckout", "core.sparsecheckoutcone"} {
			gitconfig.Write(&text, gitconfig.Entry{Key: key, Value: isSparse})
		}
	}
	return admin.WriteFile("config.worktree", text.Bytes(), 0o666)
}

// sparsePatterns returns the patterns of a new worktree, or nil if it has none.
func (r *Repository) sparsePatterns(dirs []string) ([]byte, error) {
	if len(dirs) > 0 {
		return []byte(ConePatterns(dirs)), nil
	}
	text, err := fsx.ReadFile(filepath.Join(r.CommonDir, "info", "sparse-checkout"), MaxWorktreeConfig)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// ConePatterns returns the patterns by which a checkout has these directories, the files directly in those above them, and
// nothing else, as `git sparse-checkout set --cone` writes them.
func ConePatterns(dirs []string) string {
	wanted, above := map[string]bool{}, map[string]bool{}
	for _, dir := range dirs {
		if dir = strings.Trim(path.Clean("/"+dir), "/"); dir == "" {
			return everything
		}
		wanted[dir] = true
	}
	isBelow := func(dir string) bool {
		for dir = path.Dir(dir); dir != "."; dir = path.Dir(dir) {
			if wanted[dir] {
				return true
			}
		}
		return false
	}
	maps.DeleteFunc(wanted, func(dir string, _ bool) bool { return isBelow(dir) })
	for dir := range wanted {
		for up := path.Dir(dir); up != "."; up = path.Dir(up) {
			above[up] = true
		}
	}
	var b strings.Builder
	b.WriteString("/*\n!/*/\n")
	for _, dir := range slices.Sorted(maps.Keys(above)) {
		b.WriteString("/" + escaped(dir) + "/\n!/" + escaped(dir) + "/*/\n")
	}
	for _, dir := range slices.Sorted(maps.Keys(wanted)) {
		b.WriteString("/" + escaped(dir) + "/\n")
	}
	return b.String()
}

// escaped returns a path in which no character has the meaning of a pattern.
func escaped(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}
