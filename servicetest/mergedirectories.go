package servicetest

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/croft-sh/croft"
)

// mergeConflictOfDirectories: one side made a file of a directory, the other renamed
// the directory above. Git names a path in conflict that has no contents; the merge is
// pending like any other in conflict, and can be resolved.
func mergeConflictOfDirectories(t *testing.T, f *fixture) {
	for _, name := range []string{"one", "two"} {
		f.Write("b/c/"+name, name+"\n1\n2\n3\n4\n5\n")
	}
	f.Write("b/x", "x\n1\n2\n3\n4\n5\n")
	f.Commit("directories")
	list := f.createAll(croft.CreateRequest{Name: "file"}, croft.CreateRequest{Name: "rename"})
	f.GitIn(list[0].Path, "rm", "-r", "--quiet", "b/c")
	write(t, list[0], "b/c", "a file\n")
	f.mustMerge(croft.MergeRequest{Workspace: "file"})
	f.GitIn(list[1].Path, "mv", "b", "e")
	m := f.merge(croft.MergeRequest{Workspace: "rename"})
	if m.Status != croft.MergePending || m.Reason != croft.Conflict || len(m.Conflicts) == 0 {
		t.Fatalf("%+v", m)
	}
	res, err := f.Resolve(t.Context(), croft.MergeRequest{Workspace: "rename"})
	if err != nil || !slices.ContainsFunc(res.Conflicts, func(c croft.ConflictedPath) bool { return c.Path == "e/c/one" }) {
		t.Fatalf("%+v, %v", res, err)
	}
	f.GitIn(list[1].Path, "rm", "-r", "--quiet", "--force", "e/c")
	aside, err := filepath.Glob(filepath.Join(list[1].Path, "e", "c~*"))
	if err != nil || len(aside) != 1 {
		t.Fatal(aside, err)
	}
	must(t, os.Rename(aside[0], filepath.Join(list[1].Path, "e", "c")))
	f.GitIn(list[1].Path, "add", "--all")
	m = f.mustMerge(croft.MergeRequest{Workspace: "rename"})
	if got := f.Git("ls-tree", "-r", "--name-only", m.Commit, "b", "e"); got != "e/c\ne/x" {
		t.Errorf("landed %q", got)
	}
}
