//go:build unix

package attack

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// purgeNow sets retention times to zero for everything that is removed from now on.
func (h *host) purgeNow() {
	for _, name := range []string{"RETENTION", "SAVED_FOR", "NOTICE", "REGENERABLE_AFTER"} {
		h.set("CROFT_TRASH_"+name, "0s")
	}
}

// TestWriteThroughLink: [C] replaces files of the common directory that Croft writes, or
// wrote, by links to a file of the person's. No command may write through one.
func TestWriteThroughLink(t *testing.T) {
	for _, name := range []string{
		"croft/generation", "croft/id", "croft/lock", "croft/generation-lock", "croft/exclude", "croft/gitconfig",
		"info/exclude", "index", "packed-refs", "config", "shallow",
		"logs/HEAD", "logs/refs/heads/main", "logs/refs/heads/croft", "croft/staging", "croft", "objects/info/alternates",
		"worktrees/zz", "refs/croft", "ORIG_HEAD", "FETCH_HEAD", "gc.pid", "info/refs", "croft/trash",
	} {
		t.Run(strings.ReplaceAll(name, "/", "-"), func(t *testing.T) {
			h := newHost(t, worktree)
			put(t, filepath.Join(h.dir, "roles", "dev", "CLAUDE.md"), "You are a developer.\n")
			h.commit("role")
			a := h.agent("a1")
			a.write("f1.txt", "work\n")
			victim := h.precious("victim")
			aim := victim.file("Documents/thesis.txt")
			if name == "refs/croft" || name == "logs/refs/heads/croft" || name == "croft/staging" || name == "croft" || name == "worktrees/zz" || name == "croft/trash" {
				aim = victim.file("Documents")
			}
			link(t, aim, filepath.Join(a.gitDir(), name))
			for _, command := range []string{
				"new x1", "new --layout swarm --role dev --session s1", "new --layout agents b1", "snapshot a1",
				"finish a1", "merge --keep a1", "remove --force a1", "restore a1", "gc", "doctor --fix", "undo",
			} {
				h.croft(strings.Fields(command)...)
				victim.mustBeWhole("croft " + command)
			}
		})
	}
}

// TestLockLeftBehind: [C] leaves git's lock files, as links to a file of the person's, and
// holds none of them. A command may wait for one, but must end with a code, and must not
// write through it.
func TestLockLeftBehind(t *testing.T) {
	for _, name := range []string{"refs/heads/main.lock", "HEAD.lock", "index.lock", "packed-refs.lock", "config.lock"} {
		t.Run(strings.ReplaceAll(name, "/", "-"), func(t *testing.T) {
			h := newHost(t, worktree)
			h.bound = 60 * time.Second
			a := h.agent("a1")
			a.write("f1.txt", "work\n")
			a.commit("work")
			victim := h.precious("victim")
			link(t, victim.file("Documents/thesis.txt"), filepath.Join(a.gitDir(), name))
			r := h.croft("merge", "--json", "--keep", "a1")
			victim.mustBeWhole("croft merge")
			if r.code != 0 && !answered(r) {
				t.Errorf("croft merge refused without a code: %v", r)
			}
			t.Logf("croft merge beside %s: exit %d after %v", name, r.code, r.took.Round(time.Millisecond))
		})
	}
}

// TestExcludeIsALink: [C] makes info/exclude a link to a start-up file of the shell. A
// layout that puts workspaces into the project must not add its line to that file.
func TestExcludeIsALink(t *testing.T) {
	h := newHost(t, worktree)
	a := h.agent("a1")
	victim := h.precious("victim")
	link(t, victim.file(".bashrc"), filepath.Join(a.gitDir(), "info", "exclude"))
	h.croft("new", "--layout", "agents", "b1")
	victim.mustBeWhole("croft new --layout agents")
}

// TestReflogIsALink: [C] makes the reflog of main a link to a start-up file of the shell,
// and sets a shell command as its user name in the repository's configuration. A merge must
// write nothing there, and the next shell must run nothing.
func TestReflogIsALink(t *testing.T) {
	h := newHost(t, worktree)
	a := h.agent("a1")
	victim := h.precious("victim")
	add(t, filepath.Join(a.dir, "f1.txt"), "work\n")
	a.commit("work")
	a.git("config", "user.name", "a;touch "+h.canary("bashrc")+";b")
	for _, name := range []string{"main", "croft/a1"} {
		link(t, victim.file(".bashrc"), filepath.Join(a.gitDir(), "logs", "refs", "heads", name))
	}
	link(t, victim.file(".bashrc"), filepath.Join(a.gitDir(), "logs", "HEAD"))
	for _, command := range []string{"finish a1", "merge a1", "undo", "gc"} {
		h.croft(strings.Fields(command)...)
		victim.mustBeWhole("croft " + command)
	}
	h.run(h.top, "sh", "-c", ". "+victim.file(".bashrc"))
	h.mustBeSilent("the next shell")
}

// TestPackedRefsIsALink: [C] makes packed-refs a link to a start-up file that does not
// exist yet, with so many loose refs that Croft would pack them, one of which has a shell
// command as its name. No command may make the file.
func TestPackedRefsIsALink(t *testing.T) {
	h := newHost(t, worktree)
	a := h.agent("a1")
	head := h.main()
	startup := h.path("home", ".zshenv")
	for i := range 1100 {
		for _, kind := range []string{"ws", "trash", "review", "snapshot", "archive"} {
			put(t, filepath.Join(a.gitDir(), "refs", "croft", kind, fmt.Sprint("z", i), "record"), head+"\n")
		}
	}
	put(t, filepath.Join(a.gitDir(), "refs", "heads", "$(touch${IFS}PWNED)"), head+"\n")
	link(t, startup, filepath.Join(a.gitDir(), "packed-refs"))
	for _, command := range []string{"new q", "gc", "remove --force q", "doctor --fix", "list", "merge --keep a1", "clean --yes"} {
		h.croft(strings.Fields(command)...)
		if _, err := os.Lstat(startup); err == nil {
			t.Fatalf("croft %s wrote ~/.zshenv through packed-refs: %.200s", command, read(t, startup))
		}
	}
}

// swaps are links that an agent puts in the place of directories that Croft removes, keeps
// or restores. Each is given the host, the workspace and a foreign directory, and the
// commands that follow.
var swaps = map[string]func(h *host, victim string) []string{
	"the workspace is a link": func(h *host, victim string) []string { // [W] of a directory above
		a := h.agent("w1")
		must(h.t, os.Rename(a.dir, h.path("away")))
		link(h.t, victim, a.dir)
		return []string{"remove --force w1", "gc", "restore w1", "doctor --fix", "clean --yes"}
	},
	"a directory is a link": func(h *host, victim string) []string { // [W]
		a := h.agent("w2")
		link(h.t, victim, filepath.Join(a.dir, "src"))
		return []string{"snapshot w2", "finish w2", "merge --resolve w2", "merge --keep w2", "remove --force w2", "restore w2", "remove --force w2", "gc"}
	},
	"a directory is a link after a snapshot": func(h *host, victim string) []string { // [W]
		a := h.agent("w2")
		id := idOf(h.t, h.mustCroft("snapshot", "--json", "w2"), "snapshot")
		link(h.t, victim, filepath.Join(a.dir, "src"))
		return []string{"restore " + id, "undo", "restore " + id, "remove --force w2", "gc"}
	},
	"the trash is a link": func(h *host, victim string) []string { // [W] of a directory above
		a := h.agent("w3")
		trash := filepath.Join(filepath.Dir(a.dir), ".trash")
		link(h.t, victim, trash)
		return []string{"remove --force w3", "gc", "restore w3", "doctor --fix"}
	},
	"the tree in the trash is a link": func(h *host, victim string) []string { // [W] by an open descriptor
		h.agent("w4")
		h.mustCroft("remove", "w4")
		for _, entry := range h.trashed() {
			link(h.t, victim, filepath.Join(entry, "tree"))
		}
		return []string{"restore w4", "gc", "doctor --fix", "restore w4"}
	},
	"the entry of the trash is a link": func(h *host, victim string) []string {
		h.agent("w5")
		h.mustCroft("remove", "w5")
		for _, entry := range h.trashed() {
			link(h.t, victim, entry)
		}
		return []string{"restore w5", "gc", "doctor --fix", "restore w5"}
	},
}

// trashed returns the entries of the trash beside the workspaces.
func (h *host) trashed() []string {
	h.t.Helper()
	entries, err := filepath.Glob(filepath.Join(h.dir+".croft", ".trash", "*"))
	must(h.t, err)
	if len(entries) == 0 {
		h.t.Fatal("nothing is in the trash")
	}
	return entries
}

// TestRemovedThroughLink: links in the place of the workspace, of a directory in it, of the
// trash and of its entries lead to a foreign directory. Removing, restoring and purging may
// neither move, delete nor write anything there.
func TestRemovedThroughLink(t *testing.T) {
	for name, swap := range swaps {
		t.Run(name, func(t *testing.T) {
			inModes(t, everyMode, func(t *testing.T, h *host) {
				victim := h.precious("victim")
				h.purgeNow() // applies to what is removed from here on
				commands := swap(h, victim.dir)
				for _, command := range commands {
					h.croft(strings.Fields(command)...)
					victim.mustBeWhole("croft " + command)
				}
			})
		})
	}
}
