//go:build unix

package battery

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// manifest describes every path.
type manifest map[string]string

// skip reports which paths a manifest leaves out, relative to its root.
type skip func(rel string, d fs.DirEntry) bool

// manifestOf describes a tree: type, mode, link target, and the hash of every
// file's content.
func manifestOf(t *testing.T, root string, without skip) manifest {
	t.Helper()
	m := manifest{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if without != nil && without(rel, d) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		m[rel], err = describe(path, d)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func describe(path string, d fs.DirEntry) (string, error) {
	info, err := d.Info()
	if err != nil {
		return "", err
	}
	switch {
	case info.IsDir():
		return info.Mode().String(), nil
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(path)
		return "link to " + to, err
	case !info.Mode().IsRegular():
		return info.Mode().String(), nil
	}
	b, err := os.ReadFile(path)
	sum := sha256.Sum256(b)
	return info.Mode().String() + " " + hex.EncodeToString(sum[:12]), err
}

// foreign is a manifest of everything in a project that is not Croft's own: all files
// beside its state, git's files except for objects and Croft's own directory, all refs and
// all registrations. Empty directories of git's do not count, because git makes and deletes
// them at any time.
func (p *project) foreign() manifest {
	p.t.Helper()
	m := manifestOf(p.t, p.work(), func(rel string, d fs.DirEntry) bool {
		inGit, ok := strings.CutPrefix(rel, filepath.Join("app", ".git")+"/")
		if !ok {
			return false
		}
		if d.IsDir() {
			return inGit == "objects" || inGit == "croft" || isHollow(filepath.Join(p.dir, ".git", inGit))
		}
		return inGit == "config" || inGit == "info/exclude"
	})
	p.addSettings(m)
	m["refs"] = p.git(p.dir, "for-each-ref")
	m["worktrees"] = p.git(p.dir, "worktree", "list", "--porcelain")
	return m
}

// addSettings adds git's configuration and its exclude file to a manifest, without the
// lines that Croft is documented to add: the directory of workspaces that lie in the main
// checkout, and the condition under which role files are ignored.
func (p *project) addSettings(m manifest) {
	p.t.Helper()
	exclude, err := os.ReadFile(filepath.Join(p.dir, ".git", "info", "exclude"))
	mustDo(p.t, err)
	m["exclude"] = strings.ReplaceAll(string(exclude), "\n/.worktrees/\n", "\n")
	for _, line := range lines(p.git(p.dir, "config", "--local", "--list")) {
		if !strings.HasPrefix(line, "includeif.gitdir:"+filepath.Join(p.dir, ".git", "worktrees", "croft-")) {
			m["config"] += line + "\n"
		}
	}
}

// isHollow reports whether there is no file anywhere below a directory.
func isHollow(dir string) bool {
	found := errors.New("found")
	return filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			return found
		}
		return err
	}) == nil
}

// requireSame compares two manifests.
func requireSame(t *testing.T, what string, before, after manifest) bool {
	t.Helper()
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("%s: something changed (-before +after):\n%s", what, diff)
		return false
	}
	return true
}

// exact is a manifest with the time at which each file was last changed.
func exact(t *testing.T, root string, without skip) manifest {
	t.Helper()
	m := manifestOf(t, root, without)
	for rel, what := range m {
		info, err := os.Lstat(filepath.Join(root, rel))
		if err != nil {
			t.Fatal(err)
		}
		if !info.IsDir() {
			m[rel] = fmt.Sprintf("%s %d", what, info.ModTime().UnixNano())
		}
	}
	return m
}

// difference lists the paths in which two manifests differ.
func difference(before, after manifest) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if now, ok := after[key]; !ok {
			fmt.Fprintf(&b, "\n- %s: %s", key, before[key])
		} else if now != before[key] {
			fmt.Fprintf(&b, "\n! %s: %s", key, cmp.Diff(before[key], now))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if _, ok := before[key]; !ok {
			fmt.Fprintf(&b, "\n+ %s: %s", key, after[key])
		}
	}
	return b.String()
}
