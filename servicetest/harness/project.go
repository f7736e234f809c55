package harness

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
)

// Project is a repository on a Host, in the hands of the suite. A call that fails ends the test.
type Project struct {
	Dir  string // the main checkout
	Home string // a directory beside it for what belongs to no repository

	Host Host

	t *testing.T
}

// NewProject makes a repository called "app" with one commit on main, in a directory below
// root that nothing else is in.
func NewProject(t *testing.T, host Host, root string) *Project {
	t.Helper()
	r := NewEmptyProject(t, host, root)
	r.Write("README.md", "# app\n")
	r.Write("src/main.txt", "one\ntwo\nthree\n")
	r.Commit("first")
	return r
}

// NewEmptyProject makes a repository without a commit.
func NewEmptyProject(t *testing.T, host Host, root string) *Project {
	t.Helper()
	r := &Project{Dir: path.Join(root, "work", "app"), Home: path.Join(host.Root(), "home"), t: t, Host: host}
	r.MakeDir(r.Dir)
	r.Git("init", "--quiet", "--initial-branch=main")
	return r
}

// Beside is a path next to the main checkout.
func (r *Project) Beside(name string) string { return path.Join(path.Dir(r.Dir), name) }

// Git runs git in the main checkout and returns what it printed, without the last newline.
// A failure ends the test.
func (r *Project) Git(args ...string) string {
	r.t.Helper()
	return r.GitIn(r.Dir, args...)
}

// GitIn runs git in a directory.
func (r *Project) GitIn(dir string, args ...string) string {
	r.t.Helper()
	out, err := r.TryGit(dir, args...)
	if err != nil {
		r.t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// TryGit runs git in a directory and returns its failure.
func (r *Project) TryGit(dir string, args ...string) (string, error) { return r.Host.Git(dir, args...) }

// Write writes a file of the main checkout.
func (r *Project) Write(name, content string) {
	r.t.Helper()
	r.WriteFile(path.Join(r.Dir, name), content)
}

// Commit commits everything in the main checkout and returns the commit.
func (r *Project) Commit(message string) string {
	r.t.Helper()
	r.Git("add", "--all")
	r.Git("commit", "--quiet", "--message", message)
	return r.Git("rev-parse", "HEAD")
}

// Roles writes a configuration for each role.
func (r *Project) Roles(names ...string) {
	r.t.Helper()
	for _, n := range names {
		r.Write("roles/"+n+"/CLAUDE.md", "You are the "+n+".\n")
	}
}

// MakeDir makes an empty directory.
func (r *Project) MakeDir(dir string) {
	r.t.Helper()
	r.WriteFile(path.Join(dir, ".keep"), "")
	r.Delete(path.Join(dir, ".keep"))
}

// WriteFile writes a file and the directories above it.
func (r *Project) WriteFile(path, content string) {
	r.t.Helper()
	must(r.t, r.Host.Write(path, content))
}

// Delete deletes a file, or a directory with all that is in it.
func (r *Project) Delete(path string) {
	r.t.Helper()
	must(r.t, r.Host.Remove(path))
}

// Exists reports whether there is a file or a directory.
func (r *Project) Exists(path string) bool {
	r.t.Helper()
	_, err := r.Host.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.t.Fatal(err)
	}
	return err == nil
}

// ReadFile returns the content of a file, or ends the test.
func (r *Project) ReadFile(path string) string {
	r.t.Helper()
	content, err := r.Host.Read(path)
	must(r.t, err)
	return content
}

// WantFile fails the test unless a file has this content.
func (r *Project) WantFile(path, want string) {
	r.t.Helper()
	if got := r.ReadFile(path); got != want {
		r.t.Errorf("%s is %q, want %q", path, got, want)
	}
}

// Tree lists what is below a directory, except for one directory in it.
func (r *Project) Tree(dir, except string) []string {
	r.t.Helper()
	list, err := r.Host.List(dir)
	must(r.t, err)
	return slices.DeleteFunc(list, func(path string) bool {
		return except != "" && (path == except || strings.HasPrefix(path, except+"/"))
	})
}

// Match lists what is below a directory at paths that have a pattern, as that of path.Match.
func (r *Project) Match(dir, pattern string) []string {
	r.t.Helper()
	return slices.DeleteFunc(r.Tree(dir, ""), func(p string) bool {
		ok, err := path.Match(pattern, strings.TrimPrefix(p, dir+"/"))
		must(r.t, err)
		return !ok
	})
}

// LoseState loses the records of all Services.
func (r *Project) LoseState() {
	r.t.Helper()
	must(r.t, r.Host.LoseState())
}

// Link puts a link into a checkout, in the place of what is there. Git makes it: a Host has
// no call for it.
func (r *Project) Link(dir, name, target string) {
	r.t.Helper()
	r.Delete(path.Join(dir, name))
	r.WriteFile(path.Join(dir, name), target)
	blob := r.GitIn(dir, "hash-object", "-w", "--no-filters", name)
	r.checkOut(dir, name, "--add", "--replace", "--cacheinfo", "120000,"+blob+","+name)
}

// MakeExecutable makes a file of a checkout executable.
func (r *Project) MakeExecutable(dir, name string) {
	r.t.Helper()
	r.checkOut(dir, name, "--add", "--chmod=+x", name)
}

// checkOut changes the index, makes a file anew as the index has it, and then takes the
// change of the index back.
func (r *Project) checkOut(dir, name string, change ...string) {
	r.t.Helper()
	r.GitIn(dir, append([]string{"update-index"}, change...)...)
	r.Delete(path.Join(dir, name))
	r.GitIn(dir, "checkout-index", "--", name)
	r.GitIn(dir, "reset", "--quiet", "--", name)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
