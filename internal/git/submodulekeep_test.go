package git

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// workInLib returns a worktree whose submodule lib has a commit that nothing else has, and that the worktree's commit names.
func workInLib(t *testing.T) (r *gittest.Repo, w *Worktree, module, commit string) {
	t.Helper()
	r, _ = withSubmodules(t)
	repo := open(t, r)
	w = addWorktree(t, r, repo, "wt")
	filled(t, w, SubmoduleFill{})
	lib := filepath.Join(w.Path, "lib")
	gittest.WriteFile(t, filepath.Join(lib, "new"), "only here\n")
	r.GitIn(lib, "add", "--all")
	r.GitIn(lib, "commit", "--quiet", "--message", "work")
	r.GitIn(w.Path, "commit", "--quiet", "--all", "--message", "work")
	return r, w, filepath.Join(repo.CommonDir, "modules/lib"), r.GitIn(lib, "rev-parse", "HEAD")
}

// hasObject reports whether a git directory has an object.
func hasObject(r *gittest.Repo, gitDir, oid string) bool {
	_, err := r.TryGit(r.Dir, "--git-dir="+gitDir, "cat-file", "-e", oid)
	return err == nil
}

// TestKeepFollowsNoLink: an agent that puts a link in the place of a submodule does not have another repository's objects
// brought into the project.
func TestKeepFollowsNoLink(t *testing.T) {
	r, w, module, commit := workInLib(t)
	elsewhere, lib := filepath.Join(t.TempDir(), "elsewhere"), filepath.Join(w.Path, "lib")
	r.Git("clone", "--quiet", "--no-local", lib, elsewhere)
	if err := errors.Join(os.RemoveAll(lib), os.Symlink(elsewhere, lib)); err != nil {
		t.Fatal(err)
	}
	if err := w.KeepSubmodules(t.Context(), headOf(t, w)); err != nil {
		t.Fatal(err)
	}
	if hasObject(r, module, commit) {
		t.Error("the commit of a linked repository was brought in")
	}
}

// TestKeepCompletes: a commit that the project's copy has without its files is brought in whole.
func TestKeepCompletes(t *testing.T) {
	r, w, module, commit := workInLib(t)
	lib := filepath.Join(w.Path, "lib")
	file := filepath.Join(t.TempDir(), "commit")
	gittest.WriteFile(t, file, r.GitIn(lib, "cat-file", "commit", commit)+"\n")
	if got := r.Git("--git-dir="+module, "hash-object", "-w", "-t", "commit", "--literally", file); got != commit {
		t.Fatalf("%s, want %s", got, commit)
	}
	if err := w.KeepSubmodules(t.Context(), headOf(t, w)); err != nil {
		t.Fatal(err)
	}
	if tree := r.GitIn(lib, "rev-parse", commit+":new"); !hasObject(r, module, tree) {
		t.Error("the project's copy has the commit without its files")
	}
}

// TestKeepOfABrokenSubmodule: a commit whose files are missing is told, and no server that the agent names is asked for them.
func TestKeepOfABrokenSubmodule(t *testing.T) {
	r, w, module, commit := workInLib(t)
	lib := filepath.Join(w.Path, "lib")
	server := filepath.Join(t.TempDir(), "server.git")
	r.Git("clone", "--quiet", "--bare", "--no-local", lib, server)
	blob, dir := r.GitIn(lib, "rev-parse", commit+":new"), r.GitIn(lib, "rev-parse", "--absolute-git-dir")
	if err := os.Remove(filepath.Join(dir, "objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"core.repositoryFormatVersion": "1", "extensions.partialClone": "evil", "remote.evil.url": server, "remote.evil.promisor": "true",
	} {
		r.GitIn(lib, "config", key, value)
	}
	err := w.KeepSubmodules(t.Context(), headOf(t, w))
	if broken, ok := errors.AsType[*SubmoduleBrokenError](err); !ok || broken.Path != "lib" || broken.Commit != commit {
		t.Errorf("%v", err)
	}
	if hasObject(r, module, blob) {
		t.Error("the object was fetched")
	}
}
