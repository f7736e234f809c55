//go:build unix

package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestFilesThatAgentsForge: the content of a file is that of its object, and nothing that
// an agent puts in the place of a file makes a call wait or read elsewhere.
func TestFilesThatAgentsForge(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	at := func(name string) string { return filepath.Join(w.Path, name) }
	gittest.WriteFile(t, at("forged.txt"), "seen\n")
	r.GitIn(w.Path, "add", "--all")
	r.GitIn(w.Path, "commit", "--quiet", "--message", "work")
	gittest.WriteFile(t, filepath.Join(r.Home, "outside"), "outside\n")
	object := func(name string) string {
		oid := r.GitIn(w.Path, "rev-parse", "HEAD:"+name)
		return filepath.Join(r.Dir, ".git", "objects", oid[:2], oid[2:])
	}
	other, err := os.ReadFile(object("README.md"))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(errors.Join(err, os.Remove(object("forged.txt")), os.WriteFile(object("forged.txt"), other, 0o444),
		unix.Mkfifo(at("pipe"), 0o644), os.RemoveAll(at("src")), os.Symlink(r.Home, at("src")), os.Symlink("pipe", at("link"))))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for path, want := range map[string]croft.Code{
		"forged.txt": croft.ObjectForged, "pipe": croft.FileNotFound, "src/outside": croft.FileNotFound, "src/main.txt": croft.FileNotFound,
	} {
		if got, err := e.File(ctx, croft.FileRequest{Workspace: "a", Path: path}); croft.AsError("", err) == nil || croft.AsError("", err).Code != want {
			t.Errorf("%s is %+v, %v, want %s", path, got, err, want)
		}
	}
	if got, err := e.File(ctx, croft.FileRequest{Workspace: "a", Path: "link"}); err != nil || string(got.Data) != "pipe" {
		t.Errorf("a link to a pipe is %+v, %v", got, err)
	}
	must(errors.Join(os.Remove(at("README.md")), unix.Mkfifo(at("README.md"), 0o644)))
	got, err := e.File(ctx, croft.FileRequest{Workspace: "a", Path: "README.md"})
	if code := croft.AsError("", err); code == nil || code.Code != croft.GitFailed {
		t.Errorf("a pipe in the place of a file is %+v, %v", got, err)
	}
}

// TestLargeFiles: a large file is read in parts of 1 MiB, uncommitted and committed.
func TestLargeFiles(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	var text bytes.Buffer
	for i := range 300_000 {
		fmt.Fprintf(&text, "%08x\n", i)
	}
	gittest.WriteFile(t, filepath.Join(w.Path, "large.txt"), text.String())
	for _, at := range []string{"on disk", "committed"} {
		req, parts := croft.FileRequest{Workspace: "a", Path: "large.txt"}, 0
		var all []byte
		for part := (&croft.FileContent{Size: 1}); part.Next < part.Size; parts++ {
			var err error
			if part, err = e.File(t.Context(), req); err != nil || part.Size != int64(text.Len()) || len(part.Data) > 1<<20 || part.IsBinary {
				t.Fatalf("%s: part %d is of %+v, %v", at, parts, part, err)
			}
			all, req.Offset, req.Object = append(all, part.Data...), part.Next, part.Object
		}
		if parts != 3 || !bytes.Equal(all, text.Bytes()) {
			t.Errorf("%s: %d parts, with %d bytes of %d", at, parts, len(all), text.Len())
		}
		past, err := e.File(t.Context(), req)
		if err != nil || len(past.Data) != 0 || past.Next != req.Offset {
			t.Errorf("%s: after the end %+v, %v", at, past, err)
		}
		r.GitIn(w.Path, "add", "--all")
		r.GitIn(w.Path, "commit", "--quiet", "--allow-empty", "--message", "large")
	}
}

// TestKindsOfFiles: the mode of a file is told; a submodule is its commit; a path that is
// not UTF-8 is quoted.
func TestKindsOfFiles(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	at := func(name string) string { return filepath.Join(w.Path, name) }
	base := r.Git("rev-parse", "main")
	r.GitIn(w.Path, "update-index", "--add", "--cacheinfo", "160000,"+base+",sub")
	if err := errors.Join(os.Symlink("/etc/hosts", at("link")), os.WriteFile(at("run.sh"), []byte("true\n"), 0o755),
		os.WriteFile(at(`"quoted`), []byte("odd\n"), 0o644), os.Mkdir(at("sub"), 0o755)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][2]string{
		"link": {"120000", "/etc/hosts"}, "run.sh": {"100755", "true\n"}, `"\"quoted"`: {"100644", "odd\n"}, "sub": {"160000", ""},
	} {
		got, err := e.File(t.Context(), croft.FileRequest{Workspace: "a", Path: path})
		if err != nil || got.Mode != want[0] || string(got.Data) != want[1] || got.Path != path || (path == "sub") != (got.Object == base) {
			t.Errorf("%s is %+v, %v", path, got, err)
		}
	}
}

// TestLargePages: a page has no more lines than fit on one, but at least one file; of a
// file that does not fit the hunks are named.
func TestLargePages(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	half := strings.Repeat(strings.Repeat("x", 99)+"\n", 6000)
	r.Write("d.txt", strings.Repeat(half, 3))
	r.Commit("large")
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	for name, text := range map[string]string{
		"a.txt": half, "b.txt": half, "c.txt": "c\n", "d.txt": "first\n" + strings.Repeat(strings.ReplaceAll(half, "x", "y"), 3) + "last\n",
	} {
		gittest.WriteFile(t, filepath.Join(w.Path, name), text)
	}
	for _, c := range []struct {
		detail croft.Detail
		want   []int
	}{{croft.DetailLines, []int{1, 2, 1}}, {croft.DetailHunks, []int{4}}} {
		req := croft.DiffRequest{Workspace: "a", Detail: c.detail, Page: croft.Page{Limit: 10}}
		var sizes []int
		var files []croft.ReviewFile
		for first := true; first || req.After != ""; first = false {
			d, err := e.Diff(t.Context(), req)
			if err != nil || len(sizes) > 4 {
				t.Fatal(sizes, err)
			}
			sizes, files, req.After = append(sizes, len(d.Files)), append(files, d.Files...), d.Next
		}
		if !slices.Equal(sizes, c.want) || len(files) != 4 {
			t.Fatalf("%q: pages of %v", c.detail, sizes)
		}
		if last := files[3]; last.IsCut != (c.detail == croft.DetailLines) || len(last.Hunks) == 0 || last.Hunks[0].Text != "" || last.Added != 18002 || files[0].IsCut {
			t.Errorf("%q: %s is cut: %t, with %d hunks", c.detail, last.Path, last.IsCut, len(last.Hunks))
		}
	}
}

// TestDiffsOfMerges: what an applied part and a revert bring is shown before and after they
// land, and what a merge in conflict would bring; a merge of nothing has no files.
func TestDiffsOfMerges(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	review := reviewed(t, r, e)
	want := func(m *croft.Merge, err error, paths ...string) *croft.Merge {
		t.Helper()
		for range 2 {
			if err != nil {
				t.Fatal(err)
			}
			d, err := e.Diff(t.Context(), croft.DiffRequest{Merge: m.ID})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range d.Files {
				got = append(got, string(f.Status)+" "+f.Path)
			}
			if !slices.Equal(got, paths) || d.Total.Files != len(paths) || d.Files == nil || d.Merge != m.ID {
				t.Errorf("a merge that is %s brings %q, want %q: %+v", m.State, got, paths, d)
			}
			m, err = e.WaitMerge(t.Context(), croft.WaitRequest{Merge: m.ID})
			if err != nil {
				t.Fatal(err)
			}
		}
		return m
	}
	m, err := e.SubmitApply(t.Context(), croft.ApplyRequest{Review: review.ID, Paths: []string{"new.txt"}})
	m = want(m, err, "added new.txt")
	m, err = e.SubmitRevert(t.Context(), croft.RevertRequest{Merge: m.ID})
	want(m, err, "deleted new.txt")
	r.Write("README.md", "# another\n")
	r.Commit("in the way")
	m, err = e.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a"})
	if m = want(m, err, "modified README.md", "added new.txt"); m.Reason != croft.Conflict {
		t.Errorf("no conflict: %+v", m)
	}
	create(t, e, croft.CreateRequest{Name: "empty"})
	m, err = e.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "empty"})
	want(m, err)
}

// TestManyHunks: a page of one file with very many hunks is bounded, too.
func TestManyHunks(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	lines := make([]string, 80_000)
	for i := range lines {
		lines[i] = fmt.Sprint(i)
	}
	r.Write("a.txt", strings.Join(lines, "\n")+"\n")
	r.Commit("many lines")
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	for i := 0; i < len(lines); i += 8 {
		lines[i] += " changed"
	}
	gittest.WriteFile(t, filepath.Join(w.Path, "a.txt"), strings.Join(lines, "\n")+"\n")
	for _, detail := range []croft.Detail{croft.DetailLines, croft.DetailHunks} {
		d, err := e.Diff(t.Context(), croft.DiffRequest{Workspace: "a", Detail: detail, Page: croft.Page{Limit: 1}})
		if err != nil || len(d.Files) != 1 {
			t.Fatalf("%+v, %v", d, err)
		}
		f := d.Files[0]
		b, err := json.Marshal(d)
		if err != nil || len(b) > 4<<20 || !f.IsCut || len(f.Hunks) == 0 || len(f.Hunks) == 10_000 || f.Added != 10_000 {
			t.Errorf("%q: %d bytes with %d hunks, cut: %v, %d lines, %v", detail, len(b), len(f.Hunks), f.IsCut, f.Added, err)
		}
	}
}
