//go:build unix

package engine_test

import (
	"bytes"
	"crypto/sha1"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// spoilIndex has the ways in which an agent's index, which names the objects x and y,
// cannot be pulled as it is. Each damages x, at most.
var spoilIndex = map[string]func(t *testing.T, r *gittest.Repo, w croft.Workspace, x, y string){
	"deleted": func(t *testing.T, _ *gittest.Repo, w croft.Workspace, x, _ string) {
		if err := os.Remove(filepath.Join(w.Path, ".git", "objects", x[:2], x[2:])); err != nil {
			t.Fatal(err)
		}
	},
	"emptied": func(t *testing.T, _ *gittest.Repo, w croft.Workspace, x, _ string) { empty(t, w, x) },
	"crafted": func(t *testing.T, r *gittest.Repo, w croft.Workspace, x, y string) {
		craftIndex(t, r, w, x, y, gittest.IndexEntry{Path: "zz", OID: x}, gittest.IndexEntry{Path: "zz/q", OID: x})
	},
	"twice": func(t *testing.T, r *gittest.Repo, w croft.Workspace, x, y string) { // at which git dies
		craftIndex(t, r, w, x, y, gittest.IndexEntry{Path: "y", OID: x})
	},
	"unreadable": func(t *testing.T, _ *gittest.Repo, w croft.Workspace, _, _ string) {
		file := filepath.Join(w.Path, ".git", "index")
		data := []byte(read(t, file))
		data = append(data[:len(data)-sha1.Size], "zzzz\x00\x00\x00\x00"...) // an extension that git must know
		sum := sha1.Sum(data)
		gittest.WriteFile(t, file, string(append(data, sum[:]...)))
	},
}

// craftIndex writes an index with one or more additional entries at its end.
func craftIndex(t *testing.T, r *gittest.Repo, w croft.Workspace, x, y string, more ...gittest.IndexEntry) {
	t.Helper()
	crafted := gittest.CraftedIndex{Entries: append([]gittest.IndexEntry{
		{Path: "README.md", OID: r.Git("rev-parse", "main:README.md")},
		{Path: "work.txt", OID: r.GitIn(w.Path, "rev-parse", "HEAD:work.txt")},
		{Path: "x", OID: x},
		{Path: "y", OID: y},
	}, more...)}
	gittest.WriteFile(t, filepath.Join(w.Path, ".git", "index"), string(crafted.File(x)))
}

// stagedTwo returns an isolated workspace that staged two files and changed them since, and
// whose index was damaged then.
func stagedTwo(t *testing.T, kind string) (r *gittest.Repo, e *engine.Engine, w croft.Workspace, x, y string) {
	t.Helper()
	r, e, w = isolated(t)
	for _, name := range []string{"x", "y"} {
		gittest.WriteFile(t, filepath.Join(w.Path, name), name+" staged\n")
		r.GitIn(w.Path, "add", name)
		gittest.WriteFile(t, filepath.Join(w.Path, name), name+" changed\n")
	}
	x, y = r.GitIn(w.Path, "rev-parse", ":x"), r.GitIn(w.Path, "rev-parse", ":y")
	spoilIndex[kind](t, r, w, x, y)
	return r, e, w, x, y
}

// TestSpoiledIndexStaysInTheTrash: some of the objects that the index of a removed isolated
// workspace names cannot be pulled. gc keeps its directory and says why; the other objects
// are in the project, too.
func TestSpoiledIndexStaysInTheTrash(t *testing.T) {
	t.Parallel()
	for kind := range spoilIndex {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r, e, w, _, y := stagedTwo(t, kind)
			removeForced(t, e)
			late := engineIn(t, r, 8*day, "trash.notice", "0s")
			for range 2 {
				res, err := late.GC(t.Context(), croft.GCRequest{})
				if err != nil || len(res.Kept) != 1 || res.Kept[0].Reason.Code != croft.WorkspaceBroken || !strings.Contains(res.Kept[0].Reason.Details, "index") || len(res.Purged)+len(res.Reduced) != 0 {
					t.Fatalf("GC = %+v, %v", res, err)
				}
			}
			r.Git("fsck", "--strict")
			r.Git("gc", "--quiet", "--prune=now")
			if kind != "unreadable" {
				if got := r.Git("cat-file", "-p", y); got != "y staged" {
					t.Errorf("y was staged as %q", got)
				}
			}
			if _, err := late.Restore(t.Context(), croft.RestoreRequest{Ref: "a"}); err != nil {
				t.Fatal(err)
			}
			if got := r.GitIn(w.Path, "cat-file", "-p", y); got != "y staged" {
				t.Errorf("y came back as %q", got)
			}
		})
	}
}

// TestSpoiledEntryIsLeftOutAlone: an entry of an isolated index that git would not make, or
// whose object is missing, is left out alone; all others are pulled, and the doctor names
// the entry.
func TestSpoiledEntryIsLeftOutAlone(t *testing.T) {
	t.Parallel()
	for kind, name := range map[string]string{"deleted": `"x"`, "emptied": `"x"`, "crafted": `"zz/q"`, "twice": `"y"`} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r, e, w, _, y := stagedTwo(t, kind)
			if list := unpulledFindings(t, e, croft.FixNothing); len(list) != 1 || !strings.Contains(list[0].Message, name) {
				t.Errorf("not harvested: the doctor finds %+v", list)
			}
			if st, err := e.Status(t.Context(), croft.StatusRequest{Workspace: w.ID}); err != nil || st.Ahead != 1 || !st.Dirty() {
				t.Fatalf("Status = %+v, %v", st, err)
			}
			r.Git("fsck", "--strict")
			r.Git("gc", "--quiet", "--prune=now")
			if got := r.Git("cat-file", "-p", y); got != "y staged" {
				t.Errorf("y was staged as %q", got)
			}
			if list := unpulledFindings(t, e, croft.FixNothing); len(list) != 1 || !strings.Contains(list[0].Message, name) {
				t.Errorf("the doctor finds %+v", list)
			}
			if _, err := e.Finish(t.Context(), croft.FinishRequest{Workspace: "a"}); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"x", "y"} {
				if got := r.Git("show", w.Branch+":"+name); got != name+" changed" {
					t.Errorf("%s was committed as %q", name, got)
				}
			}
			if list := unpulledFindings(t, e, croft.FixNothing); len(list) != 0 {
				t.Errorf("after all was committed, the doctor finds %+v", list)
			}
		})
	}
}

// TestStagedInTheTrash: files that were staged in an isolated workspace after its removal
// are kept when gc deletes the directory, also from an index format that only git reads.
func TestStagedInTheTrash(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"plain", "split"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r, e, w := isolated(t)
			removeForced(t, e)
			tree := filepath.Join(trashedAt(r, w), "tree")
			gittest.WriteFile(t, filepath.Join(tree, "late"), "late\n")
			r.GitIn(tree, "add", "late")
			oid := r.GitIn(tree, "rev-parse", ":late")
			if kind == "split" {
				r.GitIn(tree, "update-index", "--split-index")
				if bytes.Contains([]byte(read(t, filepath.Join(tree, ".git", "index"))), []byte("late")) {
					t.Fatal("the index is not split")
				}
			}
			if err := os.Remove(filepath.Join(tree, "late")); err != nil {
				t.Fatal(err)
			}
			late := engineIn(t, r, 8*day, "trash.notice", "0s")
			if res, err := late.GC(t.Context(), croft.GCRequest{}); err != nil || len(res.Kept) != 0 {
				t.Fatalf("GC = %+v, %v", res, err)
			}
			if exists(tree) {
				t.Error("the directory is still there")
			}
			r.Git("gc", "--quiet", "--prune=now")
			r.Git("cat-file", "-e", oid)
			if _, err := late.Restore(t.Context(), croft.RestoreRequest{Ref: "a"}); err != nil {
				t.Fatal(err)
			}
			if got := r.GitIn(w.Path, "for-each-ref", "--format=%(objectname)", "refs/croft/late"); !strings.Contains(got, oid) {
				t.Errorf("late refs: %q", got)
			}
		})
	}
}
