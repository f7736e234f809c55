//go:build linux

package attack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hidings are what an agent does to have its edit of f1.txt overlooked.
var hidings = map[string]func(t *testing.T, a *agent){
	"times put back": func(t *testing.T, a *agent) {
		file := filepath.Join(a.dir, "f1.txt")
		info, err := os.Stat(filepath.Join(a.dir, "f2.txt"))
		must(t, err)
		must(t, os.Chtimes(file, info.ModTime(), info.ModTime()))
	},
	"index from the future": func(t *testing.T, a *agent) {
		later := time.Now().Add(time.Hour)
		must(t, os.Chtimes(filepath.Join(a.admin(), "index"), later, later))
	},
	"stat data forged": func(t *testing.T, a *agent) {
		forgeStat(t, filepath.Join(a.admin(), "index"), "f1.txt", filepath.Join(a.dir, "f1.txt"))
	},
	"assumed unchanged": func(_ *testing.T, a *agent) { a.git("update-index", "--assume-unchanged", "f1.txt") },
	"skipped":           func(_ *testing.T, a *agent) { a.git("update-index", "--skip-worktree", "f1.txt") },
	"version 4, assumed": func(_ *testing.T, a *agent) {
		a.git("update-index", "--index-version", "4", "--assume-unchanged", "f1.txt")
	},
	"split index":     func(_ *testing.T, a *agent) { a.git("update-index", "--split-index") },
	"untracked cache": func(_ *testing.T, a *agent) { a.git("update-index", "--force-untracked-cache"); a.git("status") },
	"monitor valid": func(t *testing.T, a *agent) {
		a.git("config", "core.fsmonitor", "true")
		a.git("update-index", "--fsmonitor")
		a.git("update-index", "--fsmonitor-valid", "f1.txt")
	},
	"sparse": func(t *testing.T, a *agent) {
		a.git("config", "core.sparseCheckout", "true")
		put(t, filepath.Join(a.admin(), "info", "sparse-checkout"), "/src/\n")
		a.git("update-index", "--skip-worktree", "f0.txt", "f1.txt", "f2.txt", "f3.txt")
	},
	"attributes": func(t *testing.T, a *agent) {
		put(t, filepath.Join(a.gitDir(), "info", "attributes"), "* -diff -text ident\n")
	},
	"excluded": func(t *testing.T, a *agent) { put(t, filepath.Join(a.gitDir(), "info", "exclude"), "*\n") },
	"excludes file": func(t *testing.T, a *agent) {
		put(t, a.h.path("all"), "*\n")
		a.git("config", "core.excludesFile", a.h.path("all"))
	},
	"index truncated": func(t *testing.T, a *agent) { must(t, os.Truncate(filepath.Join(a.admin(), "index"), 40)) },
	"index empty":     func(t *testing.T, a *agent) { must(t, os.Truncate(filepath.Join(a.admin(), "index"), 0)) },
	"no index":        func(t *testing.T, a *agent) { must(t, os.Remove(filepath.Join(a.admin(), "index"))) },
	"ignored stat": func(_ *testing.T, a *agent) {
		a.git("config", "core.checkStat", "minimal")
		a.git("config", "core.trustctime", "false")
	},
	"modes ignored": func(_ *testing.T, a *agent) {
		a.git("config", "core.fileMode", "false")
		a.git("config", "status.showUntrackedFiles", "no")
	},
	"replaced": func(_ *testing.T, a *agent) {
		blob := a.h.writeBlob(a.dir, read(a.h.t, filepath.Join(a.dir, "f1.txt")))
		a.git("replace", a.git("rev-parse", "HEAD:f1.txt"), blob)
	},
	"staged, HEAD replaced": func(_ *testing.T, a *agent) {
		a.git("add", "f1.txt")
		tree := a.git("write-tree")
		a.git("replace", a.git("rev-parse", "HEAD"), a.git("commit-tree", "-m", "x", tree))
	},
	"staged, cached tree": func(t *testing.T, a *agent) {
		a.git("add", "f1.txt")
		a.git("write-tree") // the index names it
	},
	"HEAD elsewhere": func(t *testing.T, a *agent) {
		a.commit("hidden")
		a.git("checkout", "--quiet", "--detach", "HEAD~1")
	},
	"grafted": func(t *testing.T, a *agent) {
		a.commit("hidden")
		put(t, filepath.Join(a.gitDir(), "info", "grafts"), a.git("rev-parse", "main")+" "+a.git("rev-parse", "HEAD")+"\n")
	},
	"shallow": func(t *testing.T, a *agent) {
		a.commit("hidden")
		put(t, filepath.Join(a.gitDir(), "shallow"), a.git("rev-parse", "HEAD")+"\n")
	},
}

// deceivesGit has what deceives git's own status, too: the index says of the file what a file without the edit would have.
var deceivesGit = map[string]bool{"index from the future": true, "stat data forged": true}

// TestHiddenWork: [C] or [W] hides an edit. The workspace must not be called clean, or if git can be deceived so, the edit
// comes back with the workspace.
func TestHiddenWork(t *testing.T) {
	for name, hide := range hidings {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, worktree)
			a := h.agent("a1")
			put(t, filepath.Join(a.dir, "f1.txt"), "x\ny\nz\n")
			hide(t, a)
			list := h.croft("list", "--full", "--json").stdout
			_, status, _ := strings.Cut(list, `"status":"`)
			status, _, _ = strings.Cut(status, `"`)
			if (status == "empty" || status == "merged") && !deceivesGit[name] {
				t.Errorf("it is called %s", status)
			}
			h.croft("clean", "--yes")
			h.croft("remove", "a1")
			if _, err := os.Lstat(a.dir); err != nil {
				h.mustCroft("restore", "a1")
			}
			if file, branch := read(t, filepath.Join(a.dir, "f1.txt")), h.git(h.dir, "show", "croft/a1:f1.txt"); file != "x\ny\nz\n" && branch != "x\ny\nz" {
				t.Errorf("f1.txt has %q, and %q in the branch", file, branch)
			}
		})
	}
}
