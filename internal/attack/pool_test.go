//go:build unix

package attack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// poolHost makes a host with few files. In the long form git writes one of them seconds before the last one, so that
// it believes their times.
func poolHost(t *testing.T) *host {
	t.Helper()
	h := bareHost(t, worktree)
	put(t, filepath.Join(h.dir, "a.txt"), "a\n")
	put(t, filepath.Join(h.dir, "src", "m.txt"), "m\n")
	put(t, filepath.Join(h.dir, "z.bin"), "")
	must(t, os.Truncate(filepath.Join(h.dir, "z.bin"), int64(size(0, 400))<<20))
	h.git(h.dir, "init", "--quiet", "--initial-branch=main")
	h.git(h.dir, "config", "core.compression", "1")
	h.commit("base")
	return h
}

// TestForgedWhileFilled: [C] replaces an object, or a tree, while the pool is filled, and puts the true
// one back. No checkout that is handed out later may have the text, nor may git call it unchanged.
func TestForgedWhileFilled(t *testing.T) {
	for place, how := range places {
		for what, forge := range map[string]func(*agent) forgery{
			"blob": func(a *agent) forgery { return forgery{a.git("rev-parse", "HEAD:a.txt"), "blob", []byte("EVIL\n")} },
			"tree": func(a *agent) forgery {
				tree := a.replaceFile("HEAD:src", "m.txt", a.h.writeBlob(a.dir, "EVIL\n"))
				return forgery{a.git("rev-parse", "HEAD:src"), "tree", []byte(a.h.run(a.dir, "git", "cat-file", "tree", tree).stdout)}
			},
		} {
			t.Run(what+" as "+place, func(t *testing.T) {
				h := poolHost(t)
				a := h.agent("a1")
				back := how(forge(a), a)
				h.mustCroft("pool", "--fill")
				back()
				h.mustCroft("new", "b1")
				dir := strings.TrimSpace(h.mustCroft("path", "b1").stdout)
				for _, name := range []string{"a.txt", "src/m.txt"} {
					if text := read(t, filepath.Join(dir, name)); strings.Contains(text, "EVIL") {
						t.Errorf("%s of a new workspace has %q; git status: %q", name, text, h.git(dir, "status", "--porcelain"))
					}
				}
			})
		}
	}
}

// TestAddedToStock: an agent that is not fenced, and so writes beside its workspace, puts a file into the checkouts in
// stock. They are not handed out. An edit in place of a file that no sample was taken of is not noticed: git status
// shows it in the new workspace.
func TestAddedToStock(t *testing.T) {
	for _, name := range []string{"conftest.py", "src/conftest.py"} {
		h := newHost(t, worktree)
		h.mustCroft("pool", "--fill")
		spares, err := filepath.Glob(filepath.Join(h.dir+".croft", ".pool", "*"))
		must(t, err)
		if len(spares) == 0 {
			t.Fatal("nothing is in stock")
		}
		for _, dir := range spares {
			put(t, filepath.Join(dir, name), "EVIL\n")
		}
		for i := range spares {
			dir := h.agent("n" + itoa(i)).dir
			if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
				t.Errorf("a new workspace has %s", name)
			}
		}
	}
}
