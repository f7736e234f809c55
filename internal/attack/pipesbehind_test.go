//go:build unix

package attack

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestPipesBehind: [W] or [C] puts FIFOs where only another file leads git: behind
// the list of directories that objects are borrowed from, in the index that an
// index shares, in the git directory of a repository inside the workspace. The
// commands must answer long before the patience of git is at its end.
func TestPipesBehind(t *testing.T) {
	inModes(t, gitModes, func(t *testing.T, h *host) {
		h.bound = 20 * time.Second
		a := h.agent("a1")
		add(t, filepath.Join(a.dir, "f1.txt"), "change\n")
		other := h.path("t", "borrowed")
		for _, name := range []string{"info/alternates", "pack/pack-1.idx", "aa/00000000000000000000000000000000000000"} {
			list := filepath.Join(a.gitDir(), "objects", "info", "alternates")
			before, err := os.ReadFile(list)
			put(t, list, string(before)+other+"\n")
			h.pipeAt(t, filepath.Join(other, name), behind)
			if err != nil {
				must(t, os.Remove(list))
			} else {
				put(t, list, string(before))
			}
		}
		a.git("init", "--quiet", "inner")
		put(t, filepath.Join(a.dir, "inner", "x"), "x\n")
		for _, name := range []string{"HEAD", "config", "refs/heads/main"} {
			h.pipeAt(t, filepath.Join(a.dir, "inner", ".git", name), behind)
		}
		must(t, os.RemoveAll(filepath.Join(a.dir, "inner")))
		a.git("update-index", "--split-index")
		shared, err := filepath.Glob(filepath.Join(a.admin(), "sharedindex.*"))
		must(t, err)
		if len(shared) == 0 {
			t.Fatal("there is no shared index")
		}
		h.pipeAt(t, shared[0], behind)
	})
}

var behind = []string{"list", "diff a1", "snapshot a1", "merge --keep a1"}
