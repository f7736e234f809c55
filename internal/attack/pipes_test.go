//go:build unix

package attack

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPipeInTheWay: [W] or [C] puts a FIFO in the place of a file that Croft or its git
// reads. Every command must answer, at the latest after the time limit of its git, and must
// not wait for a writer.
func TestPipeInTheWay(t *testing.T) {
	inModes(t, everyMode, func(t *testing.T, h *host) {
		h.bound = 20 * time.Second
		a := h.agent("a1")
		add(t, filepath.Join(a.dir, "f1.txt"), "change\n")
		places := []string{
			filepath.Join(a.dir, "pipe"), filepath.Join(a.dir, ".gitignore"), filepath.Join(a.dir, "src", ".gitignore"),
			filepath.Join(a.dir, ".gitattributes"), filepath.Join(a.dir, "src", ".gitattributes"), filepath.Join(a.dir, "f3.txt"),
			filepath.Join(a.dir, "CLAUDE.md"), filepath.Join(a.dir, ".gitmodules"), filepath.Join(a.dir, "croft.toml"), filepath.Join(a.dir, ".mailmap"),
		}
		for name := range strings.FieldsSeq("HEAD index MERGE_HEAD CHERRY_PICK_HEAD REBASE_HEAD locked commondir gitdir logs/HEAD ORIG_HEAD config.worktree AUTO_MERGE rebase-merge/head-name") {
			places = append(places, filepath.Join(a.admin(), name))
		}
		for name := range strings.FieldsSeq(`config packed-refs refs/heads/zz refs/heads/main info/exclude info/attributes info/grafts shallow objects/info/alternates
			objects/info/commit-graph objects/pack/multi-pack-index objects/pack/pack-1.idx croft/id croft/generation croft/exclude croft/gitconfig croft/lock refs/croft/zz
			objects/aa/00000000000000000000000000000000000000`) {
			places = append(places, filepath.Join(a.gitDir(), name))
		}
		if h.mode == worktree {
			places = append(places, filepath.Join(h.dir, ".git", "index"), filepath.Join(h.dir, ".git", "HEAD"))
		}
		commands := []string{"list", "show a1", "diff a1", "conflicts", "snapshot a1", "review a1", "doctor", "finish a1", "merge --keep a1", "remove --force a1", "restore a1", "gc"}
		if size(0, 1) == 0 {
			commands = []string{"list", "diff a1", "snapshot a1", "finish a1", "remove --force a1", "restore a1"}
		}
		for _, place := range places {
			h.pipeAt(t, place, commands)
		}
	})
}

// pipeAt runs commands while a FIFO is at a path. It reports the first that hangs, and
// skips the others.
func (h *host) pipeAt(t *testing.T, place string, commands []string) {
	t.Helper()
	name := strings.TrimPrefix(place, h.path("t")+"/")
	if parent := filepath.Dir(place); filepath.Base(parent) == "croft" && h.mode != worktree {
		return // a file there, in the other modes
	}
	back := pipe(t, place)
	defer func() {
		back()
		h.run(h.dir, binary, "restore", "a1")
	}()
	for _, command := range commands {
		if r := h.run(h.dir, binary, strings.Fields(command)...); r.hung {
			t.Errorf("%s: croft %s hangs", name, command)
			return
		}
	}
}

// TestPipeForOthers: [C], in a worktree, puts a FIFO at the path from which the excludes of
// other agents' isolated workspaces are read. Neither creating such a workspace nor a
// command about one may wait for it.
func TestPipeForOthers(t *testing.T) {
	h := newHost(t, worktree)
	h.bound = 20 * time.Second
	a := h.agent("a1")
	h.mustCroft("new", "--mode", "isolated", "b1")
	dir := strings.TrimSpace(h.mustCroft("path", "b1").stdout)
	add(t, filepath.Join(dir, "f1.txt"), "work\n")
	for _, name := range []string{"info/exclude", "croft/exclude", "info/attributes"} {
		back := pipe(t, filepath.Join(a.gitDir(), name))
		for _, command := range []string{"new --mode isolated c1", "remove --force c1", "snapshot b1", "diff b1", "finish b1", "list"} {
			if r := h.run(h.dir, binary, strings.Fields(command)...); r.hung {
				t.Errorf("%s: croft %s hangs", name, command)
			}
		}
		back()
	}
	h.mustCroft("merge", "b1")
	if text := h.landed("f1.txt"); text != "a\nb\nc\nwork" {
		t.Errorf("once it is gone, %q landed", text)
	}
}
