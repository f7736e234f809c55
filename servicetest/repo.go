package servicetest

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
)

// repo is a repository on a Host.
type repo struct {
	Dir  string // the main checkout
	Home string // a directory beside it for what belongs to no repository

	t    *testing.T
	host Host
}

// newRepo makes a repository called "app" with one commit on main, in a directory below
// root that nothing else is in.
func newRepo(t *testing.T, host Host, root string) *repo {
	t.Helper()
	r := newEmptyRepo(t, host, root)
	r.Write("README.md", "# app\n")
	r.Write("src/main.txt", "one\ntwo\nthree\n")
	r.Commit("first")
	return r
}

// newEmptyRepo makes a repository without a commit.
func newEmptyRepo(t *testing.T, host Host, root string) *repo {
	t.Helper()
	r := &repo{Dir: path.Join(root, "work", "app"), Home: path.Join(host.Root(), "home"), t: t, host: host}
	r.makeDir(r.Dir)
	r.Git("init", "--quiet", "--initial-branch=main")
	return r
}

// Beside is a path next to the main checkout.
func (r *repo) Beside(name string) string { return path.Join(path.Dir(r.Dir), name) }

// Git runs git in the main checkout and returns what it printed, without the last newline.
// A failure ends the test.
func (r *repo) Git(args ...string) string {
	r.t.Helper()
	return r.GitIn(r.Dir, args...)
}

// GitIn runs git in a directory.
func (r *repo) GitIn(dir string, args ...string) string {
	r.t.Helper()
	out, err := r.TryGit(dir, args...)
	if err != nil {
		r.t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// TryGit runs git in a directory and returns its failure.
func (r *repo) TryGit(dir string, args ...string) (string, error) { return r.host.Git(dir, args...) }

// Write writes a file of the main checkout.
func (r *repo) Write(name, content string) {
	r.t.Helper()
	r.write(path.Join(r.Dir, name), content)
}

// Commit commits everything in the main checkout and returns the commit.
func (r *repo) Commit(message string) string {
	r.t.Helper()
	r.Git("add", "--all")
	r.Git("commit", "--quiet", "--message", message)
	return r.Git("rev-parse", "HEAD")
}

// Roles writes a configuration for each role.
func (r *repo) Roles(names ...string) {
	r.t.Helper()
	for _, n := range names {
		r.Write("roles/"+n+"/CLAUDE.md", "You are the "+n+".\n")
	}
}

// makeDir makes an empty directory.
func (r *repo) makeDir(dir string) {
	r.t.Helper()
	r.write(path.Join(dir, ".keep"), "")
	r.delete(path.Join(dir, ".keep"))
}

// write writes a file and the directories above it.
func (r *repo) write(path, content string) {
	r.t.Helper()
	must(r.t, r.host.Write(path, content))
}

// delete deletes a file, or a directory with all that is in it.
func (r *repo) delete(path string) {
	r.t.Helper()
	must(r.t, r.host.Remove(path))
}

// exists reports whether there is a file or a directory.
func (r *repo) exists(path string) bool {
	r.t.Helper()
	_, err := r.host.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.t.Fatal(err)
	}
	return err == nil
}

// read returns the content of a file, or ends the test.
func (r *repo) read(path string) string {
	r.t.Helper()
	content, err := r.host.Read(path)
	must(r.t, err)
	return content
}

// wantFile fails the test unless a file has this content.
func (r *repo) wantFile(path, want string) {
	r.t.Helper()
	if got := r.read(path); got != want {
		r.t.Errorf("%s is %q, want %q", path, got, want)
	}
}

// tree lists what is below a directory, except for one directory in it.
func (r *repo) tree(dir, except string) []string {
	r.t.Helper()
	list, err := r.host.List(dir)
	must(r.t, err)
	return slices.DeleteFunc(list, func(path string) bool {
		return except != "" && (path == except || strings.HasPrefix(path, except+"/"))
	})
}

// match lists what is below a directory at paths that have a pattern, as that of path.Match.
func (r *repo) match(dir, pattern string) []string {
	r.t.Helper()
	return slices.DeleteFunc(r.tree(dir, ""), func(p string) bool {
		ok, err := path.Match(pattern, strings.TrimPrefix(p, dir+"/"))
		must(r.t, err)
		return !ok
	})
}

// loseState loses the records of all Services.
func (r *repo) loseState() {
	r.t.Helper()
	must(r.t, r.host.LoseState())
}

// link puts a link into a checkout, in the place of what is there. Git makes it: a Host has
// no call for it.
func (r *repo) link(dir, name, target string) {
	r.t.Helper()
	r.delete(path.Join(dir, name))
	r.write(path.Join(dir, name), target)
	blob := r.GitIn(dir, "hash-object", "-w", "--no-filters", name)
	r.checkOut(dir, name, "--add", "--replace", "--cacheinfo", "120000,"+blob+","+name)
}

// makeExecutable makes a file of a checkout executable.
func (r *repo) makeExecutable(dir, name string) {
	r.t.Helper()
	r.checkOut(dir, name, "--add", "--chmod=+x", name)
}

// checkOut changes the index, makes a file anew as the index has it, and then takes the
// change of the index back.
func (r *repo) checkOut(dir, name string, change ...string) {
	r.t.Helper()
	r.GitIn(dir, append([]string{"update-index"}, change...)...)
	r.delete(path.Join(dir, name))
	r.GitIn(dir, "checkout-index", "--", name)
	r.GitIn(dir, "reset", "--quiet", "--", name)
}
