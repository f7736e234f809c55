//go:build unix

package attack

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestAgentSetsBare: [C] or [W] writes core.bare into every configuration that it can write,
// so that git treats no directory as a checkout. Work must be kept and merged all the same,
// or refused with a code; a merge that lands must update the person's checkout.
func TestAgentSetsBare(t *testing.T) {
	inModes(t, everyMode, func(t *testing.T, h *host) {
		a := h.agent("a1")
		add(t, filepath.Join(a.dir, "f1.txt"), "work\n")
		bare := "[core]\n\tbare = true\n"
		add(t, filepath.Join(a.gitDir(), "config"), bare+"[extensions]\n\tworktreeConfig = true\n")
		put(t, filepath.Join(a.gitDir(), "config.worktree"), bare)
		put(t, filepath.Join(a.admin(), "config.worktree"), bare)
		put(t, filepath.Join(a.admin(), "config"), bare)
		for _, command := range []string{"list", "diff a1", "snapshot a1", "finish a1", "conflicts", "merge --keep a1", "remove --force a1", "restore a1"} {
			r := h.croft(strings.Fields(command)...)
			if r.code != 0 && !answered(r) {
				t.Errorf("croft %s refused without a code: %v", command, r)
			}
			if command == "merge --keep a1" && r.code == 0 {
				if text := read(t, filepath.Join(h.dir, "f1.txt")); text != "a\nb\nc\nwork\n" {
					t.Errorf("main has the work, the person's checkout is left behind with %q: %v", text, r)
				}
			}
		}
		if text := read(t, filepath.Join(a.dir, "f1.txt")); text != "a\nb\nc\nwork\n" {
			t.Errorf("the work is %q", text)
		}
	})
}

// TestAgentUnsetsBare: in a repository without a main checkout whose directory is called
// .git, [C] configures that there is one. The directory around it is the person's: no merge
// may write there.
func TestAgentUnsetsBare(t *testing.T) {
	h := newHost(t, worktree)
	project := filepath.Join(filepath.Dir(h.dir), "bare")
	h.git(h.top, "clone", "--quiet", "--bare", h.dir, filepath.Join(project, ".git"))
	put(t, filepath.Join(project, "notes.txt"), "the person's\n")
	h.dir = project
	h.set("CROFT_PATH", filepath.Join(filepath.Dir(project), "w", "{slug}"))
	a := h.agent("a1")
	a.write("new.txt", "work\n")
	h.git(h.top, "--git-dir="+filepath.Join(project, ".git"), "config", "core.bare", "false")
	for _, command := range []string{"list", "diff a1", "merge --keep a1", "undo", "remove --force a1"} {
		if r := h.croft(strings.Fields(command)...); r.code != 0 && !answered(r) {
			t.Errorf("croft %s refused without a code: %v", command, r)
		}
		if list, err := filepath.Glob(filepath.Join(project, "*.txt")); err != nil || len(list) != 1 {
			t.Fatalf("croft %s wrote beside the repository: %v, %v", command, list, err)
		}
	}
}
