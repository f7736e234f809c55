package mergetree

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/writers"
)

func attempts(t *testing.T, repo *Repository) *Session {
	t.Helper()
	a, err := repo.OpenMergeTree(writers.OnDisk)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// A chain of merges gives the results of git merge, step by step, and writes nothing to the
// repository before it is kept.
func TestAttemptsMergeAChain(t *testing.T) {
	r := gittest.New(t)
	a1 := r.Branch("a", map[string]string{"a.txt": "a\n"})
	b1 := r.Branch("b", map[string]string{"src/main.txt": "one\ntwo\nthree\nfour\n"})
	c1 := r.Branch("c", map[string]string{"src/main.txt": "zero\none\ntwo\nthree\n"})
	repo := open(t, r)
	before := r.ObjectCount()
	at := attempts(t, repo)
	tip := r.Git("rev-parse", "main")
	r.Git("switch", "--quiet", "-c", "by-hand")
	for _, head := range []string{a1, b1, c1} {
		m, err := at.Merge(t.Context(), tip, head)
		if err != nil || !m.IsClean() {
			t.Fatalf("merge: %+v, %v", m, err)
		}
		r.Git("merge", "--quiet", "--no-ff", "-m", "m", head)
		if want := r.Git("rev-parse", "HEAD^{tree}"); m.Tree != want {
			t.Fatalf("tree %s, by hand %s", m.Tree, want)
		}
		tip, err = at.Commit(t.Context(), object.Commit{Tree: m.Tree, Parents: []string{tip, head}, Signature: SyntheticAuthor, Message: "m"}, gitcmd.Identity{})
		if err != nil {
			t.Fatal(err)
		}
	}
	r.Git("gc", "--quiet")
	if got, err := repo.Info(t.Context(), tip); err == nil {
		t.Fatalf("%s is in the repository before it was kept", got.OID)
	}
	release, err := at.Keep(t.Context(), tip)
	if err != nil {
		t.Fatal(err)
	}
	release()
	r.Git("fsck", "--strict", tip)
	if before == 0 {
		t.Fatal("no objects were counted")
	}
}

func TestAttemptsNameConflicts(t *testing.T) {
	r := gittest.New(t)
	a := r.Branch("a", map[string]string{"src/main.txt": "one\nA\nthree\n", "new": "a\n"})
	b := r.Branch("b", map[string]string{"src/main.txt": "one\nB\nthree\n", "new": "b\n"})
	repo := open(t, r)
	before := r.ObjectCount()
	at := attempts(t, repo)
	m, err := at.Merge(t.Context(), a, b)
	if err != nil {
		t.Fatal(err)
	}
	want := []MergeConflict{{"new", "contents"}, {"src/main.txt", "contents"}}
	got := m.Conflicts
	for i := range got {
		if got[i].Kind == "add/add" {
			got[i].Kind = "contents" // of later versions of git
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if again, err := at.Merge(t.Context(), b, a); err != nil || again.IsClean() {
		t.Errorf("the second question: %+v, %v", again, err)
	}
	if after := r.ObjectCount(); after != before {
		t.Errorf("%d objects before, %d after", before, after)
	}
}

// A revert is a merge whose base is the commit that is undone.
func TestMergeOverReverts(t *testing.T) {
	r := gittest.New(t)
	a := r.Branch("a", map[string]string{"src/main.txt": "one\nA\nthree\n"})
	b := r.Branch("b", map[string]string{"README.md": "# app\n\nmore\n"})
	r.Git("merge", "--quiet", "--no-ff", "-m", "a", a)
	merged := r.Git("rev-parse", "HEAD")
	r.Git("merge", "--quiet", "--no-ff", "-m", "b", b)
	tip := r.Git("rev-parse", "HEAD")
	m, err := attempts(t, open(t, r)).MergeOver(t.Context(), merged, tip, r.Git("rev-parse", merged+"^1"))
	if err != nil || !m.IsClean() {
		t.Fatalf("%+v, %v", m, err)
	}
	r.Git("revert", "--no-edit", "-m", "1", merged)
	if want := r.Git("rev-parse", "HEAD^{tree}"); m.Tree != want {
		t.Errorf("tree %s, by hand %s", m.Tree, want)
	}
}

func TestAttemptsEndWithTheirContext(t *testing.T) {
	r := gittest.New(t)
	at := attempts(t, open(t, r))
	head := r.Git("rev-parse", "HEAD")
	if _, err := at.Merge(t.Context(), head, "0123456789012345678901234567890123456789"); err == nil {
		t.Error("a commit that is not there was merged")
	}
	if m, err := at.Merge(t.Context(), head, head); err != nil || !m.IsClean() {
		t.Errorf("after a failure: %+v, %v", m, err)
	}
	at.Close()
	if exists(at.q.Dir) {
		t.Error("the quarantine is still there")
	}
}
