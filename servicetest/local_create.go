package servicetest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

// localCreateScenarios need a shared disk.
type localCreateScenarios struct{}

func (localCreateScenarios) RunsNoHook(t *testing.T, f *fixture) {
	mark := filepath.Join(f.Home, "hook-ran")
	for _, hook := range []string{"post-checkout", "reference-transaction", "post-index-change"} {
		path := filepath.Join(f.Dir, ".git", "hooks", hook)
		f.write(path, "#!/bin/sh\ntouch '"+mark+"'\n")
		must(t, os.Chmod(path, 0o755))
	}
	f.create(croft.CreateRequest{Name: "a"})
	f.removed("a")
	if f.exists(mark) {
		t.Error("a hook of the repository ran")
	}
}

// MainIsUntouched compares the main checkout's files, index and HEAD, with their times,
// before and after several workspaces are created, used and removed.
func (localCreateScenarios) MainIsUntouched(t *testing.T, f *fixture) {
	f.Roles("worker")
	f.Commit("roles")
	stamp := func() []string {
		var out []string
		files := append(f.tree(f.Dir, filepath.Join(f.Dir, ".git")), filepath.Join(f.Dir, ".git", "HEAD"), filepath.Join(f.Dir, ".git", "index"))
		for _, file := range files {
			info, err := os.Lstat(file)
			must(t, err)
			if !info.IsDir() {
				out = append(out, file+" "+info.ModTime().String()+" "+f.read(file))
			}
		}
		return out
	}
	before := stamp()
	for _, layout := range []string{"default", "sibling"} {
		w := f.create(croft.CreateRequest{Name: "a", Role: "worker", Layout: layout})
		f.commitIn(w.Path, "work.txt", "work\n")
		f.names()
		f.status(w.ID)
		f.removed("a")
	}
	must(t, errOf(f.Clean(t.Context(), croft.CleanRequest{All: croft.ScopeAll})))
	must(t, errOf(f.Doctor(t.Context(), croft.DoctorRequest{Fix: croft.FixAll})))
	if after := stamp(); !slices.Equal(before, after) {
		t.Errorf("the main checkout changed:\n%q\nwant\n%q", after, before)
	}
}

func (localCreateScenarios) GitTooOld(t *testing.T, f *fixture) {
	old := fakeGit(t, f, "#!/bin/sh\necho git version 2.30.2\n")
	_, err := f.at(f.Dir, "CROFT_GIT_PATH="+old).Create(t.Context(), croft.CreateRequest{Name: "a"})
	if e := wantCode(t, err, croft.GitTooOld); !strings.Contains(e.Message, "2.30.2") {
		t.Errorf("message %q does not name the version", e.Message)
	}
	f.wantNames()
}

// fakeGit writes a script that is used in place of git.
func fakeGit(t *testing.T, f *fixture, script string) string {
	t.Helper()
	if os.PathSeparator != '/' {
		t.Skip("needs a shell")
	}
	path := filepath.Join(f.Home, "fake-git")
	f.write(path, script)
	must(t, os.Chmod(path, 0o755))
	return path
}
