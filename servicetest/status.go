package servicetest

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/croft-sh/croft"
)

type statusScenarios struct{}

func (statusScenarios) Clean(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	if st := f.status(w.ID); st.Dirty() || st.Head != w.Base || st.Ahead+st.Behind != 0 || st.Workspace != w.ID {
		t.Errorf("Status = %+v", st)
	}
}

func (statusScenarios) Kinds(t *testing.T, f *fixture) {
	w := f.createWith("a", "README.md", "modified\n")
	f.writeIn(w, "staged.txt", "staged\n")
	f.GitIn(w.Path, "add", "staged.txt")
	f.WriteFile(filepath.Join(w.Path, "new dir", "ünïcode"), "untracked\n")
	f.WriteFile(filepath.Join(w.Path, "new dir", "two"), "untracked\n")
	f.Delete(filepath.Join(w.Path, "src", "main.txt"))
	st := f.status(w.ID)
	if st.Modified != 2 || st.Staged != 1 || st.Untracked != 2 || st.Conflicted != 0 || !st.Dirty() {
		t.Errorf("Status = %+v, want 2 modified, 1 staged, 2 untracked", st)
	}
	slices.Sort(st.Paths)
	want := []string{"README.md", "new dir/two", "new dir/ünïcode", "src/main.txt", "staged.txt"}
	if !slices.Equal(st.Paths, want) {
		t.Errorf("paths %q, want %q", st.Paths, want)
	}
}

func (statusScenarios) Conflicted(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.commitIn(w.Path, "README.md", "theirs\n")
	f.commitIn(f.Dir, "README.md", "ours\n")
	f.seeMain(w.Path)
	if out, err := f.TryGit(w.Path, "merge", "main"); err == nil {
		t.Fatalf("the merge was to conflict: %s", out)
	}
	if st := f.status(w.ID); st.Conflicted != 1 || !st.Dirty() {
		t.Errorf("Status = %+v, want a conflict", st)
	}
}

func (statusScenarios) AheadAndBehind(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.commitIn(w.Path, "1.txt", "x\n")
	f.commitIn(w.Path, "2.txt", "x\n")
	f.commitIn(f.Dir, "3.txt", "x\n")
	if st := f.status(w.ID); st.Ahead != 2 || st.Behind != 1 || st.Dirty() {
		t.Errorf("Status = %+v, want 2 ahead and 1 behind", st)
	}
}

func (statusScenarios) NotFound(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.removed("a")
	for _, id := range []croft.ID{w.ID, "0000000000000000", ""} {
		wantCode(t, errOf(f.Status(t.Context(), croft.StatusRequest{Workspace: id})), croft.WorktreeNotFound)
	}
}
