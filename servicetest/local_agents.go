package servicetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
)

// localAgentScenarios need a shared disk.
type localAgentScenarios struct{}

// Links: heavy or secret untracked files are shared with the main checkout by links. The
// links are never committed, and their removal does not touch their targets.
func (localAgentScenarios) Links(t *testing.T, f *fixture) {
	f.commitIn(f.Dir, ".gitignore", "node_modules/\n.env*\n")
	f.Write("node_modules/dep/index.js", "x\n")
	f.Write(".env", "TOKEN=1\n")
	f.Write(".env.local", "TOKEN=2\n")
	f.Write("other/heavy", "x\n")
	w := f.create(agent("a1"))
	for name, want := range map[string]bool{"node_modules": true, ".env": true, ".env.local": true, "other": false} {
		to, err := os.Readlink(filepath.Join(w.Path, name))
		if got := err == nil && to == filepath.Join(f.Dir, name); got != want {
			t.Errorf("%s is linked: %v, want %v", name, got, want)
		}
	}
	f.clean(w.Path)
	f.writeIn(w, "work.txt", "work\n")
	m := f.mustMerge(croft.MergeRequest{Workspace: "a1"})
	if got := f.Git("ls-tree", "--name-only", m.Commit, "node_modules", ".env"); got != "" {
		t.Errorf("links were committed: %s", got)
	}
	if b, err := f.host.Read(filepath.Join(f.Dir, "node_modules", "dep", "index.js")); err != nil || b != "x\n" {
		t.Errorf("what the link led to: %q, %v", b, err)
	}
	plain := f.create(croft.CreateRequest{Name: "plain"})
	if _, err := f.host.Stat(filepath.Join(plain.Path, "node_modules")); err == nil {
		t.Error("the default layout links too")
	}
}
