package git

import (
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// withSubmodules returns a project with the submodules lib and, in that, inner, which their remotes no longer have.
func withSubmodules(t *testing.T) (r, library *gittest.Repo) {
	t.Helper()
	inner := gittest.New(t)
	inner.Write("in", "inner\n")
	inner.Commit("in")
	library = gittest.New(t)
	library.Write("src/code", "code\n")
	library.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.Dir, "inner")
	library.Commit("inner")
	r = gittest.New(t)
	r.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library.Dir, "lib")
	r.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init", "--recursive")
	r.Commit("submodules")
	if err := errors.Join(os.Rename(library.Dir, library.Dir+".gone"), os.Rename(inner.Dir, inner.Dir+".gone")); err != nil {
		t.Fatal(err)
	}
	library.Dir += ".gone"
	return r, library
}

// filled fills the submodules of a worktree, and returns what was said, as "path" or "path: why".
func filled(t *testing.T, w *Worktree, s SubmoduleFill) []string {
	t.Helper()
	if s.Commit == "" {
		s.Commit = headOf(t, w)
	}
	list, err := w.FillSubmodules(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, f := range list {
		if f.Why != "" {
			f.Path += ": " + f.Why
		}
		said = append(said, f.Path)
	}
	return said
}

func headOf(t *testing.T, w *Worktree) string {
	t.Helper()
	_, head, err := w.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return head
}

func namesIn(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestFillSubmodules compares with plain git, and destroys what the submodules came from.
func TestFillSubmodules(t *testing.T) {
	for _, kind := range []worktree.CheckoutKind{KindLinked, KindIsolated} {
		t.Run("kind "+string(kind), func(t *testing.T) {
			r, _ := withSubmodules(t)
			repo := open(t, r)
			w := addKind(t, r, repo, "wt", kind)
			if got := filled(t, w, SubmoduleFill{Workers: 2}); !slices.Equal(got, []string{"lib", "lib/inner"}) {
				t.Fatalf("%q", got)
			}
			if got := plainStatus(t, r, w.Path); len(got) > 0 {
				t.Errorf("git says %q", got)
			}
			if got := statusOf(t, w, UntrackedAll); len(got) > 0 {
				t.Errorf("status %q", got)
			}
			for line := range strings.Lines(r.GitIn(w.Path, "submodule", "status", "--recursive")) {
				if strings.ContainsAny(line[:1], "+-U") {
					t.Errorf("submodule status: %q", line)
				}
			}
			config := r.GitIn(filepath.Join(w.Path, "lib"), "config", "--local", "--list")
			if got := strings.Contains(config, "remote.origin.url="); got != (kind == KindLinked) {
				t.Errorf("it has an address: %v\n%s", got, config)
			}
			if err := os.RemoveAll(filepath.Join(repo.CommonDir, "modules")); err != nil {
				t.Fatal(err)
			}
			if err := w.KeepSubmodules(t.Context(), headOf(t, w)); err != nil {
				t.Errorf("a submodule in which nothing was done holds the work back: %v", err)
			}
			for _, sub := range []string{"lib", "lib/inner"} {
				r.GitIn(filepath.Join(w.Path, sub), "fsck", "--full", "--strict")
				r.GitIn(filepath.Join(w.Path, sub), "log", "--patch")
			}
			if again := filled(t, w, SubmoduleFill{}); again[0] == "lib" {
				t.Errorf("filled twice: %q", again)
			}
		})
	}
}

// addKind is addWorktree for either kind of checkout.
func addKind(t *testing.T, r *gittest.Repo, repo *Repository, name string, kind worktree.CheckoutKind) *Worktree {
	t.Helper()
	r.Git("branch", name)
	if kind == KindIsolated {
		if err := repo.PrepareStore(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w, err := repo.Add(t.Context(), worktree.AddSpec{Admin: "croft-" + name, Path: r.Beside(name), Branch: name, Head: r.Git("rev-parse", "HEAD"), Kind: kind})
	if err == nil {
		err = w.Checkout(t.Context(), 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestFillSubmodulesOfAnAgent: names, paths, configuration and objects are an agent's. What is not right is left
// empty, nothing outside of the checkout is written, and nothing runs.
func TestFillSubmodulesOfAnAgent(t *testing.T) {
	rename := func(name string) func(*testing.T, *gittest.Repo, *Repository) {
		return func(t *testing.T, r *gittest.Repo, repo *Repository) {
			gittest.WriteFile(t, filepath.Join(r.Dir, ".gitmodules"), "[submodule \""+strings.ReplaceAll(name, `\`, `\\`)+"\"]\n\tpath = lib\n\turl = x\n")
			r.Git("add", ".gitmodules")
			r.Git("commit", "--quiet", "--message", "another name")
			if err := os.RemoveAll(filepath.Join(r.Dir, "lib")); err != nil { // only the name leads to it
				t.Fatal(err)
			}
		}
	}
	module := func(repo *Repository, more ...string) string {
		return filepath.Join(append([]string{repo.CommonDir, "modules", "lib"}, more...)...)
	}
	must := func(t *testing.T, errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		do   func(t *testing.T, r *gittest.Repo, repo *Repository)
		want string // a part of why; empty: it is filled
	}{
		"name of the parent":     {rename("../modules/lib"), "none that git would use"},
		"name with the parent":   {rename("x/../lib"), "none that git would use"},
		"name with backslashes":  {rename(`x\..\..\lib`), "none that git would use"},
		"absolute name":          {rename("/lib"), "none that git would use"},
		"name of a git dir":      {rename("lib/.GIT"), "none that git would use"},
		"name of nothing":        {rename("."), "none that git would use"},
		"long name":              {rename(strings.Repeat("x", 2000)), "none that git would use"},
		"name that is an option": {rename("--upload-pack=touch x"), ""}, // its path leads to it
		"no name": {func(t *testing.T, r *gittest.Repo, _ *Repository) {
			r.Write(".gitmodules", "[core\n")
			r.Commit("no names")
		}, "does not name it"},
		"module that is a link": {func(t *testing.T, _ *gittest.Repo, repo *Repository) {
			must(t, os.Rename(module(repo), module(repo)+".other"), os.Symlink(module(repo)+".other", module(repo)))
		}, ""}, // the project's own checkout leads there
		"module elsewhere": {func(t *testing.T, r *gittest.Repo, repo *Repository) {
			must(t, os.Rename(module(repo), r.Beside("elsewhere")), os.Symlink(r.Beside("elsewhere"), module(repo)))
		}, "no copy of it"},
		"module of another repository": {func(t *testing.T, r *gittest.Repo, repo *Repository) {
			gittest.WriteFile(t, module(repo, "commondir"), r.Beside("elsewhere"))
		}, "no copy of it"},
		"module that is a file": {func(t *testing.T, r *gittest.Repo, repo *Repository) {
			must(t, os.RemoveAll(module(repo)), os.WriteFile(module(repo), nil, 0o600))
		}, "no copy of it"},
		"module without objects": {func(t *testing.T, _ *gittest.Repo, repo *Repository) {
			must(t, os.RemoveAll(module(repo, "objects")), os.Mkdir(module(repo, "objects"), 0o700))
		}, "does not have its commit"},
		"pipe in the module": {func(t *testing.T, r *gittest.Repo, repo *Repository) {
			for _, name := range []string{"index", "packed-refs", "config"} {
				must(t, os.RemoveAll(module(repo, name)), mkfifo(module(repo, name), 0o600))
			}
		}, ""}, // it is never opened
		"objects of another repository": {func(t *testing.T, r *gittest.Repo, repo *Repository) {
			gittest.WriteFile(t, module(repo, "objects", "info", "alternates"), r.Beside("elsewhere"))
		}, "borrows objects"},
		"objects of a server": {func(t *testing.T, r *gittest.Repo, repo *Repository) {
			gittest.WriteFile(t, module(repo, "objects", "info", "http-alternates"), "http://127.0.0.1:1/")
		}, "borrows objects"},
		"objects behind a link": {func(t *testing.T, r *gittest.Repo, repo *Repository) {
			must(t, os.RemoveAll(module(repo, "objects", "00")), os.Symlink(r.Beside("elsewhere"), module(repo, "objects", "00")))
		}, "borrows objects"},
		"module of another user": {func(t *testing.T, _ *gittest.Repo, repo *Repository) {
			if err := os.Chown(module(repo), 54321, -1); err != nil {
				t.Skip(err)
			}
		}, "belongs to another user"},
		"configuration that is none": {func(t *testing.T, _ *gittest.Repo, repo *Repository) {
			gittest.WriteFile(t, module(repo, "config"), "[core\n")
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _ := withSubmodules(t)
			repo := open(t, r)
			c.do(t, r, repo)
			w := addWorktree(t, r, repo, "wt")
			got := filled(t, w, SubmoduleFill{})
			switch {
			case len(got) == 0:
				t.Fatal("nothing was said")
			case c.want == "":
				if got[0] != "lib" {
					t.Errorf("%q", got)
				}
				return
			case len(got) != 1 || !strings.Contains(got[0], c.want):
				t.Errorf("%q, want %q", got, c.want)
			}
			if left := namesIn(t, filepath.Join(w.Path, "lib")); len(left) > 0 {
				t.Errorf("lib has %q", left)
			}
			if got := statusOf(t, w, UntrackedAll); len(got) > 0 {
				t.Errorf("status %q", got)
			}
		})
	}
}

// TestFillRunsNothing: a module with hooks, filters, watchers and includes, and attributes in the submodule's commit that
// ask for them. The user's own git-lfs, which would use the network, does not run either.
func TestFillRunsNothing(t *testing.T) {
	r, library := withSubmodules(t)
	canary := r.Beside("canary")
	library.Write(".gitattributes", "* filter=evil\nlarge filter=lfs\n")
	library.Write("large", "version https://git-lfs.github.com/spec/v1\n")
	library.Commit("attributes")
	r.GitIn(filepath.Join(r.Dir, "lib"), "-c", "protocol.file.allow=always", "fetch", "--quiet", library.Dir)
	r.GitIn(filepath.Join(r.Dir, "lib"), "checkout", "--quiet", "FETCH_HEAD")
	r.Git("add", "lib")
	r.Git("commit", "--quiet", "--message", "attributes")
	repo := open(t, r)
	module := filepath.Join(repo.CommonDir, "modules", "lib")
	touch := "touch " + canary
	for _, key := range []string{
		"filter.evil.smudge", "filter.evil.clean", "filter.evil.process", "core.fsmonitor", "core.sshCommand", "core.alternateRefsCommand", "diff.external",
		"uploadpack.packObjectsHook", "hook.x.command",
	} {
		r.GitIn(module, "--git-dir=.", "config", key, touch)
	}
	r.GitIn(module, "--git-dir=.", "config", "filter.evil.required", "true")
	r.GitIn(module, "--git-dir=.", "config", "core.hooksPath", filepath.Join(module, "hooks"))
	for _, hook := range []string{"post-checkout", "post-index-change", "reference-transaction"} {
		gittest.WriteFile(t, filepath.Join(module, "hooks", hook), "#!/bin/sh\n"+touch+"\n")
		if err := os.Chmod(filepath.Join(module, "hooks", hook), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, way := range []string{"smudge", "process", "clean"} {
		r.Git("config", "--global", "filter.lfs."+way, touch)
	}
	r.Git("config", "--global", "filter.lfs.required", "true")
	r.Git("config", "submodule.lib.url", "ext::"+touch)
	w := addWorktree(t, r, repo, "wt")
	if got := filled(t, w, SubmoduleFill{}); !slices.Equal(got, []string{"lib", "lib/inner"}) {
		t.Errorf("%q", got)
	}
	if exists(canary) {
		t.Error("something ran")
	}
	if config := r.GitIn(filepath.Join(w.Path, "lib"), "config", "--local", "--list"); strings.Contains(config, "canary") {
		t.Errorf("the agent's settings came along:\n%s", config)
	}
	if hooks := filepath.Join(w.Path, "lib", ".git", "hooks"); exists(hooks) {
		t.Error("hooks came along")
	}
}

// TestFillRefusesForgedObjects: the content of an object of the project's copy does not match its name.
func TestFillRefusesForgedObjects(t *testing.T) {
	r, library := withSubmodules(t)
	repo := open(t, r)
	objects := filepath.Join(repo.CommonDir, "modules", "lib", "objects")
	if err := errors.Join(os.RemoveAll(objects), os.CopyFS(objects, os.DirFS(filepath.Join(library.Dir, ".git", "objects")))); err != nil {
		t.Fatal(err)
	}
	loose := func(oid string) string { return filepath.Join(objects, oid[:2], oid[2:]) }
	real := library.Git("rev-parse", "HEAD:src/code")
	library.Write("forged", "forged\n")
	other := library.Git("hash-object", "-w", "forged")
	text, err := os.ReadFile(filepath.Join(library.Dir, ".git", "objects", other[:2], other[2:]))
	if err == nil {
		err = errors.Join(os.Remove(loose(real)), os.WriteFile(loose(real), text, 0o444))
	}
	if err != nil {
		t.Fatal(err)
	}
	w := addWorktree(t, r, repo, "wt")
	got := filled(t, w, SubmoduleFill{})
	if len(got) != 1 || !strings.Contains(got[0], "is not whole") {
		t.Errorf("%q", got)
	}
	if left := namesIn(t, filepath.Join(w.Path, "lib")); len(left) > 0 {
		t.Errorf("lib has %q", left)
	}
}

// TestFillRefusesTreesWithGitDirs: the tree of a submodule has a directory .git, which no git would make.
func TestFillRefusesTreesWithGitDirs(t *testing.T) {
	r, library := withSubmodules(t)
	blob := library.Git("rev-parse", "HEAD:src/code")
	raw, err := hex.DecodeString(blob)
	if err != nil {
		t.Fatal(err)
	}
	repo := open(t, r)
	module := "--git-dir=" + filepath.Join(repo.CommonDir, "modules", "lib")
	hash := func(text string) string {
		file := library.Beside("raw")
		gittest.WriteFile(t, file, text)
		return library.Git(module, "hash-object", "-t", "tree", "-w", "--literally", file)
	}
	config := hash("100644 config\x00" + string(raw))
	raw, _ = hex.DecodeString(config)
	top := hash("40000 .git\x00" + string(raw) + "40000 src\x00" + string(raw))
	commit := library.Git(module, "commit-tree", "-m", "evil", top)
	r.Git("update-index", "--cacheinfo", "160000,"+commit+",lib")
	r.Git("commit", "--quiet", "--message", "evil")
	w := addWorktree(t, r, repo, "wt")
	got := filled(t, w, SubmoduleFill{})
	if len(got) != 1 || !strings.Contains(got[0], "cannot be written") {
		t.Errorf("%q", got)
	}
	if left := namesIn(t, filepath.Join(w.Path, "lib")); len(left) > 0 {
		t.Errorf("lib has %q", left)
	}
}

// TestFillLeavesNothingHalf: the user's own filter fails after other files were written.
func TestFillLeavesNothingHalf(t *testing.T) {
	r, library := withSubmodules(t)
	library.Write(".gitattributes", "z filter=own\n")
	library.Write("z", "z\n")
	library.Commit("z")
	r.GitIn(filepath.Join(r.Dir, "lib"), "-c", "protocol.file.allow=always", "fetch", "--quiet", library.Dir)
	r.GitIn(filepath.Join(r.Dir, "lib"), "checkout", "--quiet", "FETCH_HEAD")
	r.Git("add", "lib")
	r.Git("commit", "--quiet", "--message", "z")
	r.Git("config", "--global", "filter.own.smudge", "false")
	r.Git("config", "--global", "filter.own.required", "true")
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	if got := filled(t, w, SubmoduleFill{}); len(got) != 1 || !strings.Contains(got[0], "its files cannot be written") {
		t.Errorf("%q", got)
	}
	if left := namesIn(t, filepath.Join(w.Path, "lib")); len(left) > 0 {
		t.Errorf("lib has %q", left)
	}
}

// TestFillFollowsNoLink: a part of a submodule's path is a link in the checkout.
func TestFillFollowsNoLink(t *testing.T) {
	r, _ := withSubmodules(t)
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	victim := t.TempDir()
	if err := errors.Join(os.Remove(filepath.Join(w.Path, "lib")), os.Symlink(victim, filepath.Join(w.Path, "lib"))); err != nil {
		t.Fatal(err)
	}
	if got := filled(t, w, SubmoduleFill{}); len(got) != 1 || !strings.Contains(got[0], "cannot be used") {
		t.Errorf("%q", got)
	}
	if left := namesIn(t, victim); len(left) > 0 {
		t.Errorf("%q was written elsewhere", left)
	}
}

// TestFillKeepsWhatIsThere: a submodule's directory that has a file already is not filled, and keeps it.
func TestFillKeepsWhatIsThere(t *testing.T) {
	r, _ := withSubmodules(t)
	w := addWorktree(t, r, open(t, r), "wt")
	gittest.WriteFile(t, filepath.Join(w.Path, "lib", "mine"), "mine")
	if got := filled(t, w, SubmoduleFill{}); len(got) != 1 || !strings.Contains(got[0], "is not empty") {
		t.Errorf("%q", got)
	}
	if left := namesIn(t, filepath.Join(w.Path, "lib")); !slices.Equal(left, []string{"mine"}) {
		t.Errorf("lib has %q", left)
	}
}

// TestFillLimits: a submodule whose pack is over the limit, or for which there is no room, stays empty.
func TestFillLimits(t *testing.T) {
	r, _ := withSubmodules(t)
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	for want, s := range map[string]SubmoduleFill{"provision.max_bytes": {MaxBytes: 100}, "provision.min_free": {MinFree: 1 << 62}} {
		if got := filled(t, w, s); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%q, want %s", got, want)
		}
		if left := namesIn(t, filepath.Join(w.Path, "lib")); len(left) > 0 {
			t.Errorf("lib has %q", left)
		}
	}
	list, err := w.FillSubmodules(t.Context(), SubmoduleFill{Commit: headOf(t, w)})
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	// With room for the first one only, the second stays empty.
	v := addWorktree(t, r, repo, "second")
	if got := filled(t, v, SubmoduleFill{MaxBytes: list[0].Bytes + 20}); len(got) != 2 || got[0] != "lib" || !strings.Contains(got[1], "provision.max_bytes") {
		t.Errorf("%q", got)
	}
}

// TestFillShallow: the project's copy of a submodule has a part of the history.
func TestFillShallow(t *testing.T) {
	library := gittest.New(t)
	for _, text := range []string{"1", "2", "3"} {
		library.Write("file", text)
		library.Commit(text)
	}
	r := gittest.New(t)
	r.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "--depth", "2", "file://"+library.Dir, "lib")
	r.Commit("shallow")
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	if got := filled(t, w, SubmoduleFill{}); !slices.Equal(got, []string{"lib"}) {
		t.Fatalf("%q", got)
	}
	if got := r.GitIn(filepath.Join(w.Path, "lib"), "log", "--format=%s"); got != "3\n2" {
		t.Errorf("log: %q", got)
	}
	r.GitIn(filepath.Join(w.Path, "lib"), "fsck", "--strict")
}

// TestKeepSubmodulesOfSubmodules: a commit of a submodule in a submodule that only a worktree has is brought into the
// project's copy of that, too.
func TestKeepSubmodulesOfSubmodules(t *testing.T) {
	for _, kind := range []worktree.CheckoutKind{KindLinked, KindIsolated} {
		t.Run("kind "+string(kind), func(t *testing.T) {
			r, _ := withSubmodules(t)
			repo := open(t, r)
			w := addKind(t, r, repo, "wt", kind)
			filled(t, w, SubmoduleFill{})
			for _, dir := range []string{"lib/inner", "lib", ""} {
				at := filepath.Join(w.Path, dir)
				gittest.WriteFile(t, filepath.Join(at, "new"), dir)
				r.GitIn(at, "add", "--all")
				r.GitIn(at, "commit", "--quiet", "--message", "work in "+dir)
			}
			if err := w.Pull(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := w.KeepSubmodules(t.Context(), headOf(t, w)); err != nil {
				t.Fatal(err)
			}
			for dir, module := range map[string]string{"lib/inner": "modules/lib/modules/inner", "lib": "modules/lib"} {
				commit := r.GitIn(filepath.Join(w.Path, dir), "rev-parse", "HEAD")
				r.GitIn(filepath.Join(repo.CommonDir, module), "--git-dir=.", "rev-parse", "--verify", "--quiet", submoduleRefs+commit)
				r.GitIn(filepath.Join(repo.CommonDir, module), "--git-dir=.", "rev-list", "--objects", "--quiet", commit)
			}

			// Where the project has no copy of the inner one, the work is held.
			inner := filepath.Join(w.Path, "lib/inner")
			r.GitIn(inner, "commit", "--quiet", "--allow-empty", "--message", "more")
			r.GitIn(filepath.Join(w.Path, "lib"), "commit", "--quiet", "--all", "--message", "more")
			r.GitIn(w.Path, "commit", "--quiet", "--all", "--message", "more")
			if err := errors.Join(os.RemoveAll(filepath.Join(repo.CommonDir, "modules/lib/modules")), w.Pull(t.Context())); err != nil {
				t.Fatal(err)
			}
			alone, ok := errors.AsType[*SubmoduleError](w.KeepSubmodules(t.Context(), headOf(t, w)))
			if !ok || alone.Path != "lib/inner" {
				t.Errorf("%+v", alone)
			}
		})
	}
}
