package git

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestNestedRepositoryNamesNoServer: a repository inside a checkout claims to be a partial
// clone of some server. A status of the checkout does not contact the server.
func TestNestedRepositoryNamesNoServer(t *testing.T) {
	r := gittest.New(t)
	sub := filepath.Join(r.Dir, "sub")
	r.Git("init", "--quiet", sub)
	gittest.WriteFile(t, filepath.Join(sub, "f"), "f\n")
	r.GitIn(sub, "add", "f")
	r.GitIn(sub, "commit", "--quiet", "-m", "sub")
	r.Git("add", "sub")
	r.Commit("a submodule")
	// The commit exists, its tree does not.
	tree := r.GitIn(sub, "rev-parse", "HEAD^{tree}")
	if err := os.Remove(filepath.Join(sub, ".git", "objects", tree[:2], tree[2:])); err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"core.repositoryFormatVersion": "1", "extensions.partialClone": "evil", "remote.evil.promisor": "true",
		"remote.evil.url": "ssh://server.example/repo", "remote.evil.fetch": "+refs/heads/*:refs/remotes/evil/*",
	} {
		r.GitIn(sub, "config", key, value)
	}
	canary := filepath.Join(r.Home, "connected")
	bin := filepath.Dir(script(t, filepath.Join(r.Home, "bin", "ssh"), "touch '"+canary+"'\nexit 1"))
	r.Env = append(r.Env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	if _, err := r.TryGit(sub, "status"); err == nil || !exists(canary) {
		t.Fatalf("plain git does not connect: %v; the test is not what it was", err)
	}
	if err := os.Remove(canary); err != nil {
		t.Fatal(err)
	}
	repo := open(t, r)
	dirty := false
	for e, err := range repo.Main().Status(t.Context(), UntrackedAll, RefreshNothing) {
		if err != nil {
			t.Fatal(err)
		}
		dirty = dirty || e.Path == "sub"
	}
	if exists(canary) {
		t.Error("a server was asked that the nested repository names")
	}
	if !dirty {
		t.Error("a nested repository that cannot be read counts as clean")
	}
}
