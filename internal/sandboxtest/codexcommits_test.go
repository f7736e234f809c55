//go:build linux

package sandboxtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCodexCommitsInside runs Codex itself with the arguments of croft mounts --format codex: its agent commits on its own
// branch, moves no other one, and writes nothing by which git outside finds its repository and its settings. Its
// work is finished, checked and landed as that of any other.
func TestCodexCommitsInside(t *testing.T) {
	h := newRealHost(t).trustChecks(t, `["test ! -e bad"]`)
	h.outside(t, "new", "in", "--branch", "croft/in/work")
	h.repo.Git("repack", "-adq") // the project has a pack
	gitDir, common := gitDirs(h.path("in"))
	allowed := []string{
		"echo made > made", "git add made", "git commit -q -m inside", "echo more >> made", "git commit -q -a -m again", "git commit -q --amend -m amended",
	}
	refused := []string{
		"git config core.pager evil", "git config --worktree core.pager evil", "touch $COMMON/hooks/pre-commit", "touch $COMMON/config.worktree", "touch $COMMON/packed-refs.lock",
		"git update-ref refs/heads/main HEAD", "git update-ref refs/heads/croft/w HEAD", "git branch croft/another", "git tag t", "git update-ref refs/croft/x HEAD",
		"echo / > $OWN/commondir", "rm $OWN/commondir", "mv $OWN/commondir $OWN/away", "ln -sf / $OWN/commondir", "echo / > $OWN/gitdir", "rm $OWN/gitdir",
		"echo > $OWN/config.worktree", "mkdir $OWN/modules", "mv $OWN $OWN.away", "echo x >> .git", "rm .git",
		"touch $COMMON/objects/info/alternates", "touch $COMMON/objects/pack/x", "rm -f $COMMON/objects/pack/*", "mv $COMMON/objects/pack $COMMON/objects/p",
		"touch $COMMON/worktrees/x", "touch $COMMON/index", "touch ../outside",
	}
	var script []step
	places := fmt.Sprintf("OWN='%s' COMMON='%s'; ", gitDir, common)
	for _, line := range slices.Concat(allowed, refused) {
		script = append(script, shell(places+"if "+line+"; then echo IT WAS DONE; else echo IT WAS NOT; fi"))
	}
	m := newModel(t, script...)
	before := strings.Fields(h.repo.Git("for-each-ref", "--format=%(refname)=%(objectname)", "refs/heads/main", "refs/heads/croft/w"))
	program := filepath.Join(h.programs, "node_modules", ".bin", "codex")
	line := fmt.Sprintf(`eval "exec '%s' $('%s' -C '%s' mounts in --format codex) exec go"`, program, h.croft, h.repo.Dir)
	r := h.runByCroft(t, codexEnv(t, codexSettings(m)), []string{"in", "--no-finish"}, "sh", "-c", line)
	answers := m.answers(t)
	if r.exit != 0 || len(answers) != len(script) {
		t.Fatalf("%d of %d: %+v", len(answers), len(script), r)
	}
	for i, answer := range answers {
		word := "IT WAS NOT"
		if i < len(allowed) {
			word = "IT WAS DONE"
		}
		if !strings.Contains(answer, word) {
			t.Errorf("%s: %s", slices.Concat(allowed, refused)[i], answer)
		}
	}
	for _, ref := range before {
		name, oid, _ := strings.Cut(ref, "=")
		if now := strings.TrimSpace(h.repo.Git("rev-parse", name)); now != oid {
			t.Errorf("%s is at %s, not at %s", name, now, oid)
		}
	}
	if got := h.gitOf(t, "in", "log", "--format=%s", "main..HEAD"); got != "amended\ninside" {
		t.Errorf("its commits:\n%s", got)
	}
	for _, name := range []string{"config.worktree", "modules"} {
		if _, err := os.Lstat(filepath.Join(gitDir, name)); err == nil {
			t.Errorf("%s was left behind", name)
		}
	}
	h.outside(t, "merge", "in")
	if got := h.repo.Git("show", "main:made"); got != "made\nmore" && got != "made\nmore\n" {
		t.Errorf("what landed: %q", got)
	}
	h.wantNoSubmodule(t)
}

// wantNoSubmodule shows what the arguments open, and what they do not: an agent that can write its index makes a git outside
// run a program. Croft's git does not run it.
func (h host) wantNoSubmodule(t *testing.T) {
	t.Helper()
	h.outside(t, "new", "evil")
	dir, ran := h.path("evil"), filepath.Join(t.TempDir(), "ran")
	line := fmt.Sprintf(`git init -q sub && cd sub && git config user.name a && git config user.email a@example.com && echo 'f filter=evil' > .gitattributes &&
		echo a > f && git add f && git commit -q -m f && git config filter.evil.clean 'touch %s; cat' && echo b > f && cd .. && git add sub && rm -f %s`, ran, ran)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
	cmd.Dir, cmd.Env = dir, h.repo.Env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, args := range [][]string{{"list", "--full"}, {"diff", "evil"}, {"save", "evil"}, {"show", "evil"}, {"merge", "evil"}} {
		h.beside(t, args...)
		if _, err := os.Stat(ran); err == nil {
			t.Fatalf("croft %v ran a program of the agent's", args)
		}
	}
	h.gitOf(t, "evil", "status")
	if _, err := os.Stat(ran); err != nil {
		t.Error("git status ran no program of the agent's any more: docs/agents.md says that it does")
	}
}
