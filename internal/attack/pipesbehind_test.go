//go:build unix

package attack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPipesBehind: [W] or [C] puts FIFOs at paths to which only another file leads git:
// behind the list of alternates, in the shared index of a split index, in the git directory
// of a repository inside the workspace. The commands must answer long before the time limit
// of git.
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

// TestPipesInSubmodules: [W] or [C] commits in a submodule, whose commits a merge includes,
// and replaces one of its objects by a FIFO, in the submodule's git directory of the
// workspace or in its alternates. The merge must be refused, and land once the FIFO is
// gone.
func TestPipesInSubmodules(t *testing.T) {
	inModes(t, gitModes, func(t *testing.T, h *host) {
		h.bound = 20 * time.Second
		library := h.path("t", "library")
		must(t, os.MkdirAll(library, 0o755))
		h.git(library, "init", "--quiet")
		put(t, filepath.Join(library, "x"), "x\n")
		h.git(library, "add", "x")
		h.git(library, "commit", "--quiet", "--message", "x")
		h.git(h.dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library, "sub")
		h.git(h.dir, "commit", "--quiet", "--message", "sub")
		a := h.agent("a1")
		a.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
		sub := filepath.Join(a.dir, "sub")
		put(t, filepath.Join(sub, "y"), "y\n")
		h.git(sub, "add", "y")
		h.git(sub, "commit", "--quiet", "--message", "y")
		blob := h.git(sub, "rev-parse", "HEAD:y")
		objects := filepath.Join(h.git(sub, "rev-parse", "--absolute-git-dir"), "objects")
		file := filepath.Join(blob[:2], blob[2:])

		back := pipe(t, filepath.Join(objects, file))
		h.mustSeePipe(filepath.Join(objects, file))
		back()
		other := h.path("t", "borrowed")
		must(t, os.MkdirAll(filepath.Join(other, blob[:2]), 0o755))
		must(t, os.Rename(filepath.Join(objects, file), filepath.Join(other, file)))
		put(t, filepath.Join(objects, "info", "alternates"), other+"\n")
		back = pipe(t, filepath.Join(other, file))
		h.mustSeePipe(filepath.Join(other, file))
		back()
		h.mustCroft("merge", "a1")
		h.git(h.dir, "submodule", "--quiet", "update")
		if text := read(t, filepath.Join(h.dir, "sub", "y")); text != "y\n" {
			t.Errorf("once it is gone, %q landed", text)
		}
	})
}

// mustSeePipe merges, and fails if the merge waits for the pipe or does not name it.
func (h *host) mustSeePipe(path string) {
	h.t.Helper()
	r := h.run(h.dir, binary, "merge", "--keep", "a1", "--json")
	if r.hung || r.took > 10*time.Second || r.code != 5 || r.errorCode() != "FILE_IRREGULAR" || !strings.Contains(r.stdout, path) {
		h.t.Errorf("%s: %v", path, r)
	}
}
