package shadow_test

import (
	"bytes"
	"crypto/sha1"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/checkout/checkouttest"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/isolated"
)

// attacker is a malicious agent in an isolated checkout.
type attacker struct {
	t      *testing.T
	f      checkouttest.Fixture
	canary string // a file that appears if a program of the agent's ran
	script string // the program
}

// git runs git in the checkout, and ignores its errors.
func (a attacker) git(args ...string) { _, _ = a.f.Repo.TryGit(a.f.Spec.Path, args...) }

// write writes below the agent's git directory.
func (a attacker) write(name, text string) {
	a.t.Helper()
	gittest.WriteFile(a.t, filepath.Join(a.f.Spec.Path, ".git", filepath.FromSlash(name)), text)
}

func (a attacker) commit(name string) {
	gittest.WriteFile(a.t, filepath.Join(a.f.Spec.Path, name), name+"\n")
	a.git("add", "-A")
	a.git("-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", name)
}

// replaceByLink replaces a file or directory by a link to the project's own.
func (a attacker) replaceByLink(name string) {
	a.t.Helper()
	path := filepath.Join(a.f.Spec.Path, ".git", filepath.FromSlash(name))
	if err := os.RemoveAll(path); err != nil {
		a.t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(a.f.Repo.Dir, ".git", filepath.FromSlash(name)), path); err != nil {
		a.t.Skip("needs symbolic links")
	}
}

// editIndex replaces a path in the index by one of the same length, which git
// would refuse.
func (a attacker) editIndex(from, to string) {
	a.t.Helper()
	file := filepath.Join(a.f.Spec.Path, ".git", "index")
	b, err := os.ReadFile(file)
	if err != nil || len(from) != len(to) {
		a.t.Fatal(err)
	}
	b = bytes.Replace(b[:len(b)-sha1.Size], []byte(from), []byte(to), 1)
	sum := sha1.Sum(b)
	if err := os.WriteFile(file, append(b, sum[:]...), 0o644); err != nil {
		a.t.Fatal(err)
	}
}

// attack is one attempt. refused says that Croft does not read from the git directory
// afterwards, and says why.
type attack struct {
	name    string
	refused bool
	run     func(a attacker)
}

var attacks = []attack{
	{"UpdateRef", false, func(a attacker) { a.commit("x"); a.git("update-ref", "refs/heads/main", "HEAD") }},
	{"DeleteRefs", false, func(a attacker) { a.git("branch", "-D", "main"); a.git("update-ref", "-d", "refs/croft/ws/a/base") }},
	{"SymbolicRef", false, func(a attacker) { a.commit("x"); a.git("symbolic-ref", "HEAD", "refs/heads/main"); a.commit("y") }},
	{"ForgeCroftRefs", false, func(a attacker) {
		a.git("update-ref", "refs/croft/ws/b/record", "HEAD")
		a.git("update-ref", "refs/stash", "HEAD")
	}},
	{"ConfigPrograms", false, func(a attacker) {
		for _, key := range []string{
			"core.fsmonitor", "core.sshCommand", "diff.external", "core.pager", "core.editor", "gpg.program", "credential.helper",
			"uploadpack.packObjectsHook", "core.alternateRefsCommand", "filter.x.clean", "filter.x.smudge", "filter.x.process", "merge.x.driver",
		} {
			a.git("config", key, a.script)
		}
		gittest.WriteFile(a.t, filepath.Join(a.f.Spec.Path, ".gitattributes"), "* filter=x merge=x diff=x\n")
	}},
	{"Hooks", false, func(a attacker) {
		for _, hook := range []string{"pre-commit", "post-index-change", "reference-transaction", "post-checkout", "pre-auto-gc", "post-merge", "pre-push", "fsmonitor-watchman"} {
			a.write("hooks/"+hook, "#!/bin/sh\ntouch "+a.canary+"\n")
			_ = os.Chmod(filepath.Join(a.f.Spec.Path, ".git", "hooks", hook), 0o755)
		}
		a.git("config", "core.fsmonitor", ".git/hooks/fsmonitor-watchman")
	}},
	{"IncludeIf", false, func(a attacker) {
		gittest.WriteFile(a.t, filepath.Join(a.f.Spec.Path, "evil.cfg"), "[core]\n\tfsmonitor = "+a.script+"\n")
		a.git("config", "includeIf.gitdir:/.path", filepath.Join(a.f.Spec.Path, "evil.cfg"))
		a.git("config", "include.path", filepath.Join(a.f.Spec.Path, "evil.cfg"))
	}},
	{"CoreWorktree", false, func(a attacker) {
		a.git("config", "core.worktree", a.f.Repo.Dir)
		a.git("checkout", "-q", "-b", "elsewhere")
	}},
	{"Alternates", true, func(a attacker) { a.write("objects/info/alternates", filepath.Join(a.f.Repo.Home, "other")+"\n") }},
	{"LinkedObjects", true, func(a attacker) { a.replaceByLink("objects") }},
	{"LinkedPacks", true, func(a attacker) { a.replaceByLink("objects/pack") }},
	{"LinkedRefs", true, func(a attacker) { a.replaceByLink("refs/heads") }},
	{"CommonDir", true, func(a attacker) { a.write("commondir", filepath.Join(a.f.Repo.Dir, ".git")+"\n") }},
	{"LinkedObject", true, func(a attacker) {
		a.commit("x")
		dir := filepath.Join(a.f.Spec.Path, ".git", "objects", "ab")
		_ = os.MkdirAll(dir, 0o755)
		if err := os.Symlink("/etc/passwd", filepath.Join(dir, strings.Repeat("c", 38))); err != nil {
			a.t.Skip("needs symbolic links")
		}
	}},
	{"GC", false, func(a attacker) {
		a.commit("x")
		a.git("reflog", "expire", "--expire=now", "--all")
		a.git("gc", "-q", "--prune=now", "--aggressive")
	}},
	{"Repack", false, func(a attacker) {
		a.commit("x")
		a.git("repack", "-a", "-d", "-q", "-F")
		a.git("prune-packed")
		a.git("prune")
	}},
	{"Stash", false, func(a attacker) {
		gittest.WriteFile(a.t, filepath.Join(a.f.Spec.Path, "README.md"), "stashed\n")
		a.git("stash", "push", "-q", "--include-untracked")
		a.git("stash", "clear")
	}},
	{"Push", false, func(a attacker) {
		a.commit("x")
		for _, to := range []string{"origin", ".", "..", "file://" + a.f.Spec.Path, "@"} {
			a.git("push", "-q", "--force", "--mirror", to)
			a.git("push", "-q", "--force", to, "HEAD:refs/heads/main")
		}
	}},
	{"Worktrees", false, func(a attacker) {
		a.git("worktree", "add", "-q", "-f", filepath.Join(a.f.Repo.Home, "mine"), "main")
		a.git("worktree", "prune", "--expire=now")
		a.git("worktree", "repair")
		a.git("worktree", "move", a.f.Repo.Dir, filepath.Join(a.f.Repo.Home, "moved"))
		a.git("worktree", "remove", "--force", a.f.Repo.Dir)
	}},
	{"FilterBranch", false, func(a attacker) {
		a.commit("x")
		a.git("filter-branch", "-f", "--msg-filter", "echo gone", "--", "--all")
	}},
	{"Submodule", false, func(a attacker) {
		gittest.WriteFile(a.t, filepath.Join(a.f.Spec.Path, ".gitmodules"), "[submodule \"m\"]\n\tpath = m\n\turl = "+a.f.Repo.Dir+"\n\tupdate = !touch "+a.canary+"\n")
		a.git("-c", "protocol.file.allow=always", "submodule", "add", "-f", a.f.Repo.Dir, "m")
		a.git("submodule", "update", "--init")
	}},
	{"Replace", false, func(a attacker) {
		a.commit("x")
		a.git("replace", "HEAD", "HEAD~1")
		a.write("info/grafts", "")
		a.git("notes", "add", "-m", "note", "HEAD")
	}},
	{"TemplateAndInit", false, func(a attacker) {
		tmpl := filepath.Join(a.f.Repo.Home, "tmpl")
		gittest.WriteFile(a.t, filepath.Join(tmpl, "hooks", "post-checkout"), "#!/bin/sh\ntouch "+a.canary+"\n")
		_ = os.Chmod(filepath.Join(tmpl, "hooks", "post-checkout"), 0o755)
		a.git("init", "-q", "--template="+tmpl)
	}},
	{"CommitGraph", false, func(a attacker) {
		a.commit("x")
		a.git("commit-graph", "write", "--reachable")
		a.git("multi-pack-index", "write")
		a.git("repack", "-adbq")
	}},
	{"BrokenObjects", true, func(a attacker) {
		a.commit("x")
		_ = filepath.WalkDir(filepath.Join(a.f.Spec.Path, ".git", "objects"), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && d.Name() != "alternates" {
				_ = os.Chmod(path, 0o644)
				_ = os.WriteFile(path, []byte("x\x9cnonsense"), 0o644)
			}
			return nil
		})
	}},
	{"IndexNonsense", true, func(a attacker) { a.write("index", "DIRC\x00\x00\x00\x02\xff\xff\xff\xff") }},
	{"IndexEscapes", false, func(a attacker) { a.editIndex("README.md", "../evil.x") }},
	{"IndexInGitDirectory", false, func(a attacker) { a.editIndex("README.md", ".git/evil") }},
	{"HeadNonsense", true, func(a attacker) { a.write("HEAD", "ref: ../../../etc/passwd\n") }},
}

// picture is every file of the project with its content and mode.
func picture(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += " " + string(b)
		}
		rel, _ := filepath.Rel(dir, path)
		out[filepath.ToSlash(rel)] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// differs lists the paths that changed, except for names that allowed accepts.
func differs(before, after map[string]string, allowed ...string) []string {
	var list []string
	admits := func(name string) bool {
		return slices.ContainsFunc(allowed, func(a string) bool {
			return name == a || strings.HasPrefix(name, a+"/") || strings.HasPrefix(a, name+"/")
		})
	}
	for name, was := range before {
		if now, ok := after[name]; now != was && !admits(name) {
			list = append(list, name+map[bool]string{true: " changed", false: " is gone"}[ok])
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok && !admits(name) {
			list = append(list, name+" is new")
		}
	}
	return list
}

// ours matches the files that a pull itself may write in a project.
var ours = []string{".git/croft", ".git/objects", ".git/refs/heads/topic/a", ".git/logs/refs/heads/topic/a", ".git/refs/croft/ws/a/held"}

// TestAttacks: whatever an agent does with git in an isolated checkout, the project's git
// directory and files stay unchanged, byte for byte, and no program of the agent's runs
// when Croft reads its work.
func TestAttacks(t *testing.T) {
	t.Parallel()
	for _, k := range attacks {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			f, c := fixture(t, false)
			makeCheckout(t, f)
			a := attacker{t: t, f: f, canary: filepath.Join(f.Repo.Home, "canary"), script: filepath.Join(f.Repo.Home, "script")}
			gittest.WriteFile(t, a.script, "#!/bin/sh\ntouch "+a.canary+"\ncat\n")
			if err := os.Chmod(a.script, 0o755); err != nil {
				t.Fatal(err)
			}
			before := picture(t, f.Repo.Dir)
			k.run(a)
			if list := differs(before, picture(t, f.Repo.Dir)); len(list) > 0 {
				t.Errorf("the attack reached the project: %q", list)
			}
			_ = os.Remove(a.canary) // the agent's own git may run any program
			err := c.At(f.Spec).Pull(t.Context())
			var private *isolated.PrivateError
			if got := errors.As(err, &private); got != k.refused || err != nil && !got {
				t.Errorf("harvest: %v, want it refused: %t", err, k.refused)
			}
			if _, err := c.Changes(t.Context(), f.Spec); (err != nil) != k.refused {
				t.Errorf("changes: %v", err)
			}
			// The files can be read in any case.
			index, err := c.At(f.Spec).Index(t.Context())
			if err != nil {
				t.Fatalf("index: %v", err)
			}
			for _, entry := range index.Entries {
				if !filepath.IsLocal(entry.Path) || strings.Contains(strings.ToLower(entry.Path)+"/", ".git/") {
					t.Errorf("the index has %q", entry.Path)
				}
			}
			if _, err := c.At(f.Spec).Pending(t.Context()); err != nil {
				t.Errorf("pending: %v", err)
			}
			if list := differs(before, picture(t, f.Repo.Dir), ours...); len(list) > 0 {
				t.Errorf("the harvest brought %q", list)
			}
			if _, err := os.Lstat(a.canary); err == nil {
				t.Error("a program of the agent's ran")
			}
			f.Repo.Git("fsck", "--connectivity-only", "--no-dangling")
		})
	}
}
