// Package gittest makes real repositories for tests: with a fixed identity, a
// fixed clock and an environment that nothing outside the test reaches.
package gittest

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/proc"
)

// Repo is a repository in a directory of the test's own.
type Repo struct {
	Dir  string   // the main checkout
	Home string   // the user's home directory
	Env  []string // for every process of the test

	t testing.TB
}

// Environ is an environment whose home directory is home: no configuration of
// the machine's, a fixed identity, a fixed clock, and Croft's state below home.
func Environ(home string) []string {
	return []string{
		"PATH=" + path(),
		"HOME=" + home,
		"USERPROFILE=" + home,
		"XDG_CONFIG_HOME=" + filepath.Join(home, ".config"),
		"CROFT_STATE_DIR=" + filepath.Join(home, "state"),
		"CROFT_DATA_DIR=" + filepath.Join(home, "data"),
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z",
		// Else a commit has git pack objects in the background, newer ones also a few.
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=maintenance.auto", "GIT_CONFIG_VALUE_0=false",
	}
}

func path() string {
	for _, kv := range proc.Environ() {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			return v
		}
	}
	return ""
}

// New makes a repository called "app" with one commit on main. Its parent
// directory is the test's alone.
func New(t testing.TB) *Repo {
	t.Helper()
	r := Empty(t)
	r.Write("README.md", "# app\n")
	r.Write("src/main.txt", "one\ntwo\nthree\n")
	r.Commit("first")
	return r
}

// Empty makes a repository without a commit.
func Empty(t testing.TB) *Repo {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(top, "home")
	r := &Repo{Dir: filepath.Join(top, "work", "app"), Home: home, Env: Environ(home), t: t}
	for _, dir := range []string{r.Dir, home} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r.Git("init", "--quiet", "--initial-branch=main")
	return r
}

// Branch commits files on a new branch from main, and returns the commit. Main is
// checked out again afterwards.
func (r *Repo) Branch(name string, files map[string]string) string {
	r.Git("switch", "--quiet", "-c", name, "main")
	for path, content := range files {
		r.Write(path, content)
	}
	oid := r.Commit(name)
	r.Git("switch", "--quiet", "main")
	return oid
}

// ObjectCount counts the files below the directory of objects.
func (r *Repo) ObjectCount() int {
	r.t.Helper()
	n := 0
	err := filepath.WalkDir(filepath.Join(r.Dir, ".git", "objects"), func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

// Beside is a path next to the main checkout.
func (r *Repo) Beside(name string) string { return filepath.Join(filepath.Dir(r.Dir), name) }

// Git runs git in the main checkout and returns what it printed, without the
// last newline. A failure ends the test.
func (r *Repo) Git(args ...string) string {
	r.t.Helper()
	return r.GitIn(r.Dir, args...)
}

// GitIn runs git in a directory.
func (r *Repo) GitIn(dir string, args ...string) string {
	r.t.Helper()
	out, err := r.TryGit(dir, args...)
	if err != nil {
		r.t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// TryGit runs git in a directory and returns its failure, with what it wrote
// to standard error.
func (r *Repo) TryGit(dir string, args ...string) (string, error) {
	res, err := proc.Run(context.Background(), proc.Command{Path: "git", Args: args, Env: r.Env, Dir: dir})
	if err != nil {
		err = errors.Join(err, errors.New(strings.TrimSpace(string(res.Stderr))))
	}
	return strings.TrimSuffix(string(res.Stdout), "\n"), err
}

// Write writes a file of the main checkout.
func (r *Repo) Write(name, content string) {
	r.t.Helper()
	WriteFile(r.t, filepath.Join(r.Dir, filepath.FromSlash(name)), content)
}

// WriteFile writes a file and the directories above it.
func WriteFile(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Commit commits everything in the main checkout and returns the commit.
func (r *Repo) Commit(message string) string {
	r.t.Helper()
	r.Git("add", "--all")
	r.Git("commit", "--quiet", "--message", message)
	return r.Git("rev-parse", "HEAD")
}

// Roles writes a configuration for each role.
func (r *Repo) Roles(names ...string) {
	r.t.Helper()
	for _, n := range names {
		r.Write("roles/"+n+"/CLAUDE.md", "You are the "+n+".\n")
	}
}

// ForgeSize puts another loose object in the place of one: its header names a size, and it
// has 1,000 bytes.
func (r *Repo) ForgeSize(oid string, size int64) {
	r.t.Helper()
	var forged bytes.Buffer
	w := zlib.NewWriter(&forged)
	_, err := w.Write(append(fmt.Appendf(nil, "blob %d\x00", size), make([]byte, 1000)...))
	file := filepath.Join(r.Dir, ".git", "objects", oid[:2], oid[2:])
	if err := errors.Join(err, w.Close(), os.Remove(file)); err != nil {
		r.t.Fatal(err)
	}
	WriteFile(r.t, file, forged.String())
}
