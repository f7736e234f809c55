package servicetest

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

type commitScenarios struct{}

// finish finishes a workspace's work, without a merge.
func (f *fixture) finish(name string) croft.Merge {
	f.t.Helper()
	m, err := f.Finish(f.t.Context(), croft.FinishRequest{Workspace: name, Policy: croft.MergeNever})
	must(f.t, err)
	return *m
}

// TakenOutOfTheIndex: a file that an agent removed from the index and had git ignore stays
// out of the index; its copy on disk is not committed.
func (commitScenarios) TakenOutOfTheIndex(t *testing.T, f *fixture) {
	f.Write(".env", "PASSWORD=old\n")
	f.Write("cache/a.txt", "tracked by mistake\n")
	f.Write("again.txt", "old\n")
	f.Commit("a password")
	w := f.create(croft.CreateRequest{Name: "a"})
	f.GitIn(w.Path, "rm", "--quiet", "--cached", ".env", "cache/a.txt", "again.txt")
	f.writeIn(w, ".gitignore", ".env\ncache/\n")
	f.writeIn(w, ".env", "PASSWORD=new\n")
	f.writeIn(w, "again.txt", "new\n")
	m := f.finish("a")
	f.WantTree(m.Head, ".gitignore\nREADME.md\nagain.txt\nsrc/main.txt")
	f.WantContent(m.Head+":again.txt", "new")
	if b, err := f.Host.Read(filepath.Join(w.Path, ".env")); err != nil || b != "PASSWORD=new\n" {
		t.Errorf("the file on disk: %q, %v", b, err)
	}
	if st, err := f.Status(t.Context(), croft.StatusRequest{Workspace: w.ID}); err != nil || st.Dirty() {
		t.Errorf("%+v, %v", st, err)
	}
}

// TakenOutAndSecret: a file that was removed from the index, looks like a secret and is not
// ignored is held back like any other new file.
func (commitScenarios) TakenOutAndSecret(t *testing.T, f *fixture) {
	f.commitIn(f.Dir, ".env", "PASSWORD=old\n")
	w := f.create(croft.CreateRequest{Name: "a"})
	f.GitIn(w.Path, "rm", "--quiet", "--cached", ".env")
	f.writeIn(w, ".env", "PASSWORD=new\n")
	m := f.finish("a")
	if got := f.Git("ls-tree", "-r", "--name-only", m.Head); got != "README.md\nsrc/main.txt" || strings.Join(m.HeldBack, " ") != ".env" {
		t.Errorf("committed:\n%s\nheld back: %v", got, m.HeldBack)
	}
}

// Hidden: edits of files that git was told not to look at (assume-unchanged, skip-worktree)
// are not committed, and the answer names them.
func (commitScenarios) Hidden(t *testing.T, f *fixture) {
	f.Write("one.txt", "1\n")
	f.Write("two.txt", "2\n")
	f.Write("gone.txt", "3\n")
	f.Write("same.txt", "4\n")
	f.Commit("files")
	w := f.create(croft.CreateRequest{Name: "a"})
	f.GitIn(w.Path, "update-index", "--assume-unchanged", "one.txt", "gone.txt", "same.txt")
	f.GitIn(w.Path, "update-index", "--skip-worktree", "two.txt", "README.md")
	if st, err := f.Status(t.Context(), croft.StatusRequest{Workspace: w.ID}); err != nil || st.Dirty() {
		t.Errorf("nothing is edited: %+v, %v", st, err)
	}
	f.writeIn(w, "one.txt", "edited\n")
	f.writeIn(w, "two.txt", "edited\n")
	f.writeIn(w, "same.txt", "4\n")
	f.writeIn(w, "new.txt", "new\n")
	f.Delete(filepath.Join(w.Path, "gone.txt"))
	const held = "gone.txt one.txt two.txt"
	work, err := f.Diff(t.Context(), croft.DiffRequest{Workspace: "a"})
	must(t, err)
	if got := strings.Join(work.HeldBack, " "); got != held || len(work.Files) != 1 {
		t.Errorf("the diff leaves out %q and shows %+v", got, work.Files)
	}
	m := f.finish("a")
	if got := f.Git("diff", "--name-status", w.Base, m.Head); got != "A\tnew.txt" || strings.Join(m.HeldBack, " ") != held {
		t.Errorf("committed:\n%s\nheld back: %v", got, m.HeldBack)
	}
	res, err := f.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}})
	if err != nil || len(res.Kept) != 1 || !errors.Is(res.Kept[0].Reason, croft.WorkspaceDirty) {
		t.Fatalf("removed without force: %+v, %v", res, err)
	}
	for name := range strings.FieldsSeq(held) {
		if !strings.Contains(res.Kept[0].Reason.Details, name) {
			t.Errorf("%s is not named: %s", name, res.Kept[0].Reason.Details)
		}
	}
	f.mustMerge(croft.MergeRequest{Workspace: "a"})
	if b, err := f.Host.Read(filepath.Join(w.Path, "one.txt")); err != nil || b != "edited\n" {
		t.Errorf("after the merge: %q, %v", b, err)
	}
}

// HiddenSparse: files that a sparse checkout leaves out are not committed as deleted.
func (commitScenarios) HiddenSparse(t *testing.T, f *fixture) {
	f.Write("far/a.txt", "1\n")
	f.Write("far/away/b.txt", "2\n")
	f.Commit("files")
	w := f.create(croft.CreateRequest{Name: "a"})
	f.GitIn(w.Path, "sparse-checkout", "set", "src")
	if _, err := f.Host.Stat(filepath.Join(w.Path, "far")); err == nil {
		t.Fatal("the checkout is not sparse")
	}
	f.writeIn(w, "src/new.txt", "new\n")
	m := f.finish("a")
	if got := f.Git("diff", "--name-status", w.Base, m.Head); got != "A\tsrc/new.txt" || len(m.HeldBack) > 0 {
		t.Errorf("committed:\n%s\nheld back: %v", got, m.HeldBack)
	}
	res, err := f.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}})
	if err != nil || len(res.Removed) != 1 {
		t.Errorf("%+v, %v", res, err)
	}
}

// Kinds: files, directories and links replace each other.
func (commitScenarios) Kinds(t *testing.T, f *fixture) {
	f.Write("dir/a.txt", "a\n")
	f.Write("dir/sub/b.txt", "b\n")
	f.Write("file", "f\n")
	f.Write("other/c.txt", "c\n")
	f.Commit("files")
	f.Link(f.Dir, "link", "src")
	f.Commit("a link")
	w := f.create(croft.CreateRequest{Name: "a"})
	in := func(name string) string { return filepath.Join(w.Path, name) }
	for _, name := range []string{"dir", "file", "link", "other"} {
		f.Delete(in(name))
	}
	f.Link(w.Path, "dir", "src")
	f.Link(w.Path, "file", "README.md")
	f.writeIn(w, "link/sub/d.txt", "d\n")
	f.writeIn(w, "other", "a file\n")
	m := f.finish("a")
	got := f.Git("ls-tree", "-r", "--format=%(objectmode) %(path)", m.Head)
	if got != "100644 README.md\n120000 dir\n120000 file\n100644 link/sub/d.txt\n100644 other\n100644 src/main.txt" {
		t.Errorf("committed:\n%s", got)
	}
}

// RepositoryInstead: a repository that has replaced a file is held back, and the file is
// not deleted.
func (commitScenarios) RepositoryInstead(t *testing.T, f *fixture) {
	w := f.createWith("a", "new", "going to be added\n")
	f.GitIn(w.Path, "add", "--intent-to-add", "new")
	for _, name := range []string{"README.md", "new"} {
		f.Delete(filepath.Join(w.Path, name))
		f.GitIn(w.Path, "init", "--quiet", name)
		f.GitIn(filepath.Join(w.Path, name), "commit", "--quiet", "--allow-empty", "-m", "nested")
	}
	f.writeIn(w, "work.txt", "work\n")
	m := f.finish("a")
	if got := f.Git("diff", "--name-status", w.Base, m.Head); got != "A\twork.txt" || strings.Join(m.HeldBack, " ") != "README.md/ new/" {
		t.Errorf("committed:\n%s\nheld back: %v", got, m.HeldBack)
	}
}

// Message: a message for the commit does not change which files are committed and which are
// named.
func (commitScenarios) Message(t *testing.T, f *fixture) {
	w := f.createWith("a", "work.txt", "work\n")
	f.writeIn(w, ".env", "TOKEN=1\n")
	f.GitIn(w.Path, "add", "--all")
	f.writeIn(w, ".gitignore", ".env\n")
	m, err := f.Finish(t.Context(), croft.FinishRequest{Workspace: "a", Policy: croft.MergeAlways, Message: "What the agent says"})
	must(t, err)
	if done, err := f.WaitMerge(t.Context(), croft.WaitRequest{Merge: m.ID}); err != nil || strings.Join(done.HeldBack, " ") != ".env" {
		t.Errorf("held back: %+v, %v", done, err)
	}
	if got := f.Git("log", "-1", "--format=%s", m.Head); got != "What the agent says" {
		t.Errorf("committed as %q", got)
	}
}

// LinkInstead: a directory with an assume-unchanged file that was replaced by a link to
// itself is committed as a link.
func (commitScenarios) LinkInstead(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.Link(w.Path, "src", "src")
	f.GitIn(w.Path, "update-index", "--assume-unchanged", "src/main.txt")
	m := f.finish("a")
	if got := f.Git("diff", "--name-status", w.Base, m.Head); got != "A\tsrc\nD\tsrc/main.txt" {
		t.Errorf("committed:\n%s", got)
	}
}
