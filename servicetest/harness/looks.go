package harness

import (
	"path"
	"strings"
)

// Trace is everything that a repository and its surroundings hold besides objects: it must
// be the same before and after an act that failed.
type Trace struct {
	Refs, Worktrees, Exclude, Status, Beside string
}

// CollectGarbage has git delete every object that no ref keeps.
func (r *Project) CollectGarbage() {
	r.t.Helper()
	r.Git("reflog", "expire", "--expire=now", "--all")
	r.Git("gc", "--quiet", "--prune=now")
}

// Trace returns everything that must be the same after an act that failed.
func (r *Project) Trace() Trace {
	r.t.Helper()
	exclude, _ := r.Host.Read(path.Join(r.Dir, ".git", "info", "exclude"))
	return Trace{
		Refs:      r.Git("for-each-ref", "--format=%(refname) %(objectname)"),
		Worktrees: r.Git("worktree", "list", "--porcelain"),
		Exclude:   exclude,
		Status:    r.Git("status", "--porcelain", "--untracked-files=all"),
		Beside:    strings.Join(r.Tree(path.Dir(r.Dir), r.Dir), "\n") + "\n" + strings.Join(r.Tree(path.Join(r.Dir, ".worktrees"), ""), "\n"),
	}
}

// WantAt fails the test unless a revision is this commit.
func (r *Project) WantAt(rev, commit string) {
	r.t.Helper()
	if got := r.Git("rev-parse", rev); got != commit {
		r.t.Errorf("%s is at %s, want %s", rev, got, commit)
	}
}

// WantCommit fails the test unless the repository still has a commit.
func (r *Project) WantCommit(commit string) {
	r.t.Helper()
	if got := r.Git("cat-file", "-t", commit); got != "commit" {
		r.t.Errorf("%s is %q, want a commit", commit, got)
	}
}

// WantContent fails the test unless a file, as "revision:path", has this content.
func (r *Project) WantContent(file, want string) {
	r.t.Helper()
	if got := r.Git("show", file); got != want {
		r.t.Errorf("%s is %q, want %q", file, got, want)
	}
}

// WantTree fails the test unless a revision has these files, a line each.
func (r *Project) WantTree(rev, want string) {
	r.t.Helper()
	if got := r.Git("ls-tree", "-r", "--name-only", rev); got != want {
		r.t.Errorf("%s has the files\n%s\nwant\n%s", rev, got, want)
	}
}

// WantStatus fails the test unless git status prints this in a checkout.
func (r *Project) WantStatus(dir, want string) {
	r.t.Helper()
	if got := r.GitIn(dir, "status", "--porcelain"); got != want {
		r.t.Errorf("status of %s: %q, want %q", dir, got, want)
	}
}

// WantClean fails the test unless git finds nothing changed and nothing new in a checkout.
func (r *Project) WantClean(dir string) {
	r.t.Helper()
	r.WantStatus(dir, "")
}

// Manifest lists files with their modes and contents.
func (r *Project) Manifest(dir string) map[string]string {
	r.t.Helper()
	list := map[string]string{}
	for _, path := range r.Tree(dir, dir+"/.git") { // git's answers cover a directory of that name
		list[strings.TrimPrefix(path, dir)] = r.DescribeFile(path)
	}
	return list
}

// WantManifest compares the files of a directory.
func (r *Project) WantManifest(dir string, want map[string]string) {
	r.t.Helper()
	got := r.Manifest(dir)
	for name := range want {
		if got[name] != want[name] {
			r.t.Errorf("%s is %q, was %q", name, got[name], want[name])
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			r.t.Errorf("%s is new", name)
		}
	}
}

// DescribeFile returns the mode of a file, and its content if it has one.
func (r *Project) DescribeFile(path string) string {
	r.t.Helper()
	mode, err := r.Host.Stat(path)
	must(r.t, err)
	if !mode.IsRegular() {
		return mode.String()
	}
	return mode.String() + " " + r.ReadFile(path)
}

// FindFile returns the content of the only file of that name below dir.
func (r *Project) FindFile(dir, name string) string {
	r.t.Helper()
	for _, file := range r.Tree(dir, "") {
		if path.Base(file) == name {
			return r.ReadFile(file)
		}
	}
	return ""
}
