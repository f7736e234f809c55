package servicetest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

func (mergeScenarios) HeldBack(t *testing.T, f *fixture) {
	w := f.createWith("a", "work.txt", "work\n")
	f.writeIn(w, ".env", "TOKEN=1\n")
	f.writeIn(w, "big.bin", strings.Repeat("x", 6<<20))
	f.writeIn(w, "STATE.json", "{}\n")
	f.GitIn(w.Path, "init", "--quiet", "nested")
	f.writeIn(w, "nested/file", "x\n")
	m := f.mustMerge(croft.MergeRequest{Workspace: "a"})
	if got := strings.Join(m.HeldBack, " "); got != ".env big.bin nested/" {
		t.Errorf("held back: %s", got)
	}
	f.WantTree(m.Commit, "README.md\nsrc/main.txt\nwork.txt")
	if _, err := f.Host.Stat(filepath.Join(w.Path, ".env")); err != nil {
		t.Error("the workspace went with what was held back")
	}
}

// HeldBackStaged: Croft commits a file that an agent staged only if it does not look like a
// secret. A file that the agent committed itself is merged, with its later changes.
func (mergeScenarios) HeldBackStaged(t *testing.T, f *fixture) {
	w := f.createWith("a", "own.key", "committed by the agent\n")
	f.GitIn(w.Path, "add", "--all")
	f.GitIn(w.Path, "commit", "--quiet", "-m", "own")
	f.writeIn(w, "own.key", "changed\n")
	for _, name := range []string{"work.txt", ".ENV", "deploy/Prod.env", ".env.example", "intended.pem"} {
		f.writeIn(w, name, "text\n")
	}
	f.GitIn(w.Path, "add", "work.txt", ".ENV", "deploy", ".env.example")
	f.GitIn(w.Path, "add", "--intent-to-add", "intended.pem")
	work, err := f.Diff(t.Context(), croft.DiffRequest{Workspace: "a"})
	must(t, err)
	const held, landed = ".ENV deploy/Prod.env intended.pem", ".env.example own.key work.txt"
	var files []string
	for _, file := range work.Files {
		files = append(files, file.Path)
	}
	if got := strings.Join(work.HeldBack, " "); got != held || strings.Join(files, " ") != landed {
		t.Errorf("diff: %q is held back, %q is shown", got, files)
	}
	m := f.mustMerge(croft.MergeRequest{Workspace: "a"})
	if got := strings.Join(m.HeldBack, " "); got != held {
		t.Errorf("held back: %s", got)
	}
	if got := f.Git("diff", "--name-only", m.Commit+"^1", m.Commit); got != strings.ReplaceAll(landed, " ", "\n") {
		t.Errorf("landed: %s", got)
	}
	f.WantContent(m.Commit+":own.key", "changed")
	for name := range strings.FieldsSeq(held) {
		if b, err := f.Host.Read(filepath.Join(w.Path, name)); err != nil || b != "text\n" {
			t.Errorf("%s in the workspace: %q, %v", name, b, err)
		}
	}
}

// HeldBackButMerged: a file that looks like a secret and comes from the target, by a merge
// in progress, is not held back: that would delete it in the target.
func (mergeScenarios) HeldBackButMerged(t *testing.T, f *fixture) {
	w := f.createWith("a", "src/main.txt", "A\n")
	f.GitIn(w.Path, "commit", "--quiet", "--all", "-m", "A")
	f.Write("src/main.txt", "M\n")
	f.Write("public.pem", "of main\n")
	f.Commit("main moves")
	f.seeMain(w.Path)
	if _, err := f.TryGit(w.Path, "merge", "main"); err == nil {
		t.Fatal("the merge did not stop")
	}
	f.writeIn(w, "src/main.txt", "both\n")
	f.writeIn(w, "own.pem", "of the agent\n")
	f.GitIn(w.Path, "add", "--all")
	m := f.mustMerge(croft.MergeRequest{Workspace: "a"})
	if got := strings.Join(m.HeldBack, " "); got != "own.pem" {
		t.Errorf("held back: %s", got)
	}
	f.WantTree(m.Commit, "README.md\npublic.pem\nsrc/main.txt")
}
