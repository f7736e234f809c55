//go:build unix

package attack

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// upkeep has the commands that delete expired files and records. "gc --auto" is what every
// changing command starts in the background.
var upkeep = [][]string{{"list"}, {"trash"}, {"gc"}, {"gc", "--auto"}, {"doctor", "--fix"}, {"clean", "--yes"}, {"reap"}}

// forgeGeneration claims that the refs of the repository are newer than anything
// that the host's own state knows.
func (a *agent) forgeGeneration() {
	a.h.t.Helper()
	file := filepath.Join(a.gitDir(), "croft", "generation")
	rest := ""
	if text, err := os.ReadFile(file); err == nil {
		rest = strings.TrimLeft(string(text), "0123456789")
	}
	a.forge("croft/generation", "99999999999999999"+strings.TrimSuffix(rest, "\n")+"\n")
}

// forge writes a file of the git directory that the agent can write, also in place of one
// that exists.
func (a *agent) forge(name, text string) {
	a.h.t.Helper()
	dir := filepath.Dir(filepath.Join(a.gitDir(), name))
	if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
		must(a.h.t, os.Remove(dir))
	}
	put(a.h.t, filepath.Join(a.gitDir(), name), text)
}

// claimedID returns the identity that the repository claims, or an invented one if it
// claims none.
func (a *agent) claimedID() string {
	if text, err := os.ReadFile(filepath.Join(a.gitDir(), "croft", "id")); err == nil {
		return strings.TrimSpace(string(text))
	}
	return "iiiiiiiiiiiiiiii"
}

// writeBlob stores text as an object of the repository in a directory.
func (h *host) writeBlob(dir, text string) string {
	h.t.Helper()
	return h.gitInput(dir, text, "hash-object", "-w", "--stdin")
}

// forgedSession is a record of a session that ended long ago, and that names a directory as
// the home of its agent.
func forgedSession(repo, id, home string) string {
	return fmt.Sprintf(`{"id":"ssssssssssssssss","name":"","repo":%q,"state":"ended","startedAt":"2020-01-01T00:00:00Z",`+
		`"endedAt":"2020-01-02T00:00:00Z","repoId":%q,"generation":9,"homes":[{"agent":"x","path":%q}]}`, repo, id, home)
}

// forgedWorkspace is a record of a removed workspace that names a directory as its trash,
// whose time is over.
func forgedWorkspace(repo, id, commit, dir string) string {
	return fmt.Sprintf(`{"workspace":{"id":"precious","name":"old","repo":%q,"path":%q,"branch":"","base":%q,"baseRef":"main",`+
		`"target":"main","state":"trashed","mode":"worktree","createdAt":"2020-01-01T00:00:00Z"},"repoId":%q,"generation":5,"ownsBranch":false,`+
		`"trash":{"dir":%q,"removedAt":"2020-01-01T00:00:00Z","expiresAt":"2020-01-02T00:00:00Z","purgeAt":"2020-01-03T00:00:00Z",`+
		`"purgeWhy":"expired","tip":%q}}`, repo, filepath.Join(filepath.Dir(dir), "old"), commit, id, dir, commit)
}

// TestForgedWorkspaceRecord: [C] writes refs/croft/ws/<id>/record, in which the
// trash of a removed workspace is a foreign directory, and raises the generation
// of the repository. Upkeep must not delete the directory, and nothing must know
// the workspace. In the other modes the same is written to the agent's own git
// directory [W].
func TestForgedWorkspaceRecord(t *testing.T) {
	inModes(t, everyMode, func(t *testing.T, h *host) {
		a := h.agent("a1")
		victim := h.precious("precious")
		base := a.git("rev-parse", "HEAD")
		record := a.templateRecord(base, victim.dir)
		a.git("update-ref", "refs/croft/ws/precious/record", h.writeBlob(a.dir, record))
		a.git("update-ref", "refs/croft/archive/precious/head", base)
		a.forgeGeneration()
		for _, command := range upkeep {
			r := h.croft(command...)
			victim.mustBeWhole("croft " + strings.Join(command, " "))
			if command[0] == "trash" && strings.Contains(r.stdout, "old") {
				t.Errorf("the trash lists a workspace that only a ref knows:\n%s", r.stdout)
			}
		}
	})
}

// templateRecord returns a record that is forged from a true one, where records are stored
// on refs, so that only the forged fields differ.
func (a *agent) templateRecord(base, dir string) string {
	a.h.t.Helper()
	refs := a.git("for-each-ref", "--format=%(refname)", "refs/croft/ws/*/record")
	if refs == "" {
		return forgedWorkspace(a.h.dir, a.claimedID(), base, dir)
	}
	return rewriteRecord(a.h.t, a.git("cat-file", "blob", strings.Split(refs, "\n")[0]), base, dir)
}

// TestForgedSession: [C] writes refs/croft/session/<id>, the record of a session that ended
// years ago and that names a directory of the person's as the home of its agent. Upkeep
// must not delete it.
func TestForgedSession(t *testing.T) {
	inModes(t, everyMode, func(t *testing.T, h *host) {
		a := h.agent("a1")
		victim := h.precious("fakehome")
		text := forgedSession(h.dir, a.claimedID(), victim.dir)
		a.git("update-ref", "refs/croft/session/ssssssssssssssss", h.writeBlob(a.dir, text))
		a.forgeGeneration()
		for _, command := range append([][]string{{"new", "a2", "--mode", "auto"}}, upkeep...) {
			h.croft(command...)
			victim.mustBeWhole("croft " + strings.Join(command, " "))
		}
	})
}

// TestRepositoryNamesItself: [C] writes one file, <common>/croft/id, with a path in it.
// Neither upkeep nor a changing command may delete the directory that the path names,
// relative to any directory of the state.
func TestRepositoryNamesItself(t *testing.T) {
	inModes(t, everyMode, func(t *testing.T, h *host) {
		a := h.agent("a1")
		victim := h.precious("fakehome")
		a.forge("croft/id", strings.Repeat("../", 24)+victim.dir[1:]+"\n")
		for _, command := range append([][]string{{"gc"}, {"new", "b1", "--mode", "auto"}}, upkeep...) {
			h.croft(command...)
			victim.mustBeWhole("croft " + strings.Join(command, " "))
		}
	})
}

// TestRepositoryLeadsToApproval: [C] puts its own commands for checks on main
// and makes <common>/croft/id lead to a directory of its workspace that has a
// file with the name of an approval. A merge must not run the command.
func TestRepositoryLeadsToApproval(t *testing.T) {
	inModes(t, everyMode, func(t *testing.T, h *host) {
		h.demand("true")
		a := h.agent("a1")
		check := "touch " + h.canary("check")
		a.write("croft.toml", checksFile(check))
		approvals := filepath.Join(a.dir, ".x")
		put(t, filepath.Join(approvals, digest(check)), "{}")
		a.git("add", "croft.toml")
		a.git("commit", "--quiet", "--message", "x")
		if h.mode == worktree {
			a.git("update-ref", "refs/heads/main", "HEAD")
			h.git(h.dir, "reset", "--quiet", "--hard")
		} else {
			// A reviewer lands it; running its checks needs an approval.
			h.croft("merge", "--keep", "a1")
		}
		a.forge("croft/id", strings.Repeat("../", 24)+approvals[1:]+"\n")
		b := h.agent("b1")
		b.write("f3.txt", "work\n")
		r := h.croft("merge", "b1")
		h.mustBeSilent("croft merge: " + r.String())
		if r.code == 0 && h.mode == worktree {
			t.Errorf("the merge landed without the checks of main: %v", r)
		}
	})
}

// TestForgedLease: [C] writes a lease of a git that claims to be writing, with a lock file
// to delete that leads through a link to a file of the person's. Nothing may delete the
// file.
func TestForgedLease(t *testing.T) {
	for name, text := range map[string]string{"bare": "%s\n", "bang": "!%s\n", "lock": "!\n%s\n"} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, worktree)
			a := h.agent("a1")
			victim := h.precious("victim")
			link(t, victim.file(".ssh"), filepath.Join(a.gitDir(), "zz"))
			for _, dir := range []string{"croft/writers", "croft/marks", "croft/writing"} {
				mark := filepath.Join(a.gitDir(), dir, "abcdefgh")
				put(t, mark, fmt.Sprintf(text, "zz/authorized_keys"))
				age(t, mark, 2001)
			}
			age(t, victim.file(".ssh/authorized_keys"), 2002)
			for _, command := range append([][]string{{"new", "b1"}}, upkeep...) {
				h.croft(command...)
				victim.mustBeWhole("croft " + strings.Join(command, " "))
			}
		})
	}
}

// TestUnpackedRepository: [R] packs a repository with its .git, in which a session's record
// names a home directory, absolute or relative to the directory in which the repository is
// unpacked. The victim unpacks it and creates a workspace. Nothing that the record names
// may be deleted. A clone does not contain the record.
func TestUnpackedRepository(t *testing.T) {
	for _, how := range []string{"absolute", "relative", "clone"} {
		t.Run(how, func(t *testing.T) {
			h := newHost(t, worktree)
			victim := h.precious("t", "dl", "Documents")
			home := victim.dir
			if how == "relative" {
				home = "../Documents"
			}
			blob := h.writeBlob(h.dir, forgedSession("x", "iiiiiiiiiiiiiiii", home))
			h.git(h.dir, "update-ref", "refs/croft/session/ssssssssssssssss", blob)
			put(t, filepath.Join(h.dir, ".git", "croft", "id"), "iiiiiiiiiiiiiiii\n")
			unpacked := h.path("t", "dl", "app")
			if how == "clone" {
				h.git(h.top, "clone", "--quiet", "--no-local", h.dir, unpacked)
			} else if r := h.run(h.top, "cp", "-a", h.dir, unpacked); r.code != 0 {
				t.Fatal(r)
			}
			for _, command := range append([][]string{{"new", "x"}}, upkeep...) {
				h.croftIn(unpacked, command...)
				victim.mustBeWhole("croft " + strings.Join(command, " "))
			}
		})
	}
}
