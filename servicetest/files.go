package servicetest

import (
	"path"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

// fileScenarios are about the content of files, for clients that share no disk with the
// Service.
type fileScenarios struct{}

// wantBytes reads a file and compares its content.
func (f *fixture) wantBytes(req croft.FileRequest, want string) croft.FileContent {
	f.t.Helper()
	got, err := f.File(f.t.Context(), req)
	must(f.t, err)
	if string(got.Data) != want || got.Size != int64(len(want)) || got.Next != got.Size || got.Path != req.Path || got.Mode == "" || got.Object == "" {
		f.t.Errorf("%+v is %q, %+v, want %q", req, got.Data, got, want)
	}
	return *got
}

// wantNoFile expects that a file is refused, with a code and fields.
func (f *fixture) wantNoFile(req croft.FileRequest, want croft.Code) {
	f.t.Helper()
	_, err := f.File(f.t.Context(), req)
	e := wantCode(f.t, err, want)
	if e.Fields["path"] != req.Path || e.Fields["side"] != string(req.Side) || e.Workspace == "" || e.Hint == "" {
		f.t.Errorf("%+v: %+v", req, e)
	}
}

// Sides: a file is read as it is at the base, in the target and in the work, committed or
// not.
func (fileScenarios) Sides(t *testing.T, f *fixture) {
	w := f.createWith("a", "src/main.txt", "mine\n")
	f.commitIn(w.Path, "kept.txt", "committed\n")
	f.writeIn(w, "new/file.txt", "new\n")
	must(t, f.Host.Remove(path.Join(w.Path, "README.md")))
	f.commitIn(f.Dir, "src/main.txt", "theirs\n")
	const was = "one\ntwo\nthree\n"
	main := croft.FileRequest{Workspace: "a", Path: "src/main.txt"}
	work := f.wantBytes(main, "mine\n")
	main.Side = croft.SideBase
	base := f.wantBytes(main, was)
	main.Side = croft.SideTarget
	f.wantBytes(main, "theirs\n")
	d := f.diff(croft.DiffRequest{Workspace: "a", Paths: []string{"src"}})
	if d.Files[0].NewObject != work.Object || d.Files[0].OldObject != base.Object || work.Mode != "100644" || work.Workspace != w.ID || work.WorkspaceName != "a" {
		t.Errorf("%+v, %+v, in the difference %+v", work, base, d.Files[0])
	}
	f.wantBytes(croft.FileRequest{Workspace: "a", Path: "new/file.txt"}, "new\n")
	f.wantBytes(croft.FileRequest{Workspace: "a", Path: "kept.txt"}, "committed\n")
	f.wantNoFile(croft.FileRequest{Workspace: "a", Path: "kept.txt", Side: croft.SideBase}, croft.FileNotFound)
	f.wantNoFile(croft.FileRequest{Workspace: "a", Path: "README.md"}, croft.FileNotFound)
	f.wantNoFile(croft.FileRequest{Workspace: "a", Path: "new/file.txt", Side: croft.SideTarget}, croft.FileNotFound)
}

// Parts: a file is read in parts, which are all of one file.
func (fileScenarios) Parts(t *testing.T, f *fixture) {
	w := f.createWith("a", "bin", "one\x00two")
	req := croft.FileRequest{Workspace: "a", Path: "bin", Offset: 3, Limit: 3}
	part, err := f.File(t.Context(), req)
	must(t, err)
	if string(part.Data) != "\x00tw" || part.Offset != 3 || part.Next != 6 || part.Size != 7 || !part.IsBinary {
		t.Errorf("a part is %+v", part)
	}
	req.Offset, req.Object = part.Next, part.Object
	if part, err = f.File(t.Context(), req); err != nil || string(part.Data) != "o" || part.Next != 7 {
		t.Errorf("the last part is %+v, %v", part, err)
	}
	f.writeIn(w, "bin", "another\n")
	e := wantCode(t, errOf(f.File(t.Context(), req)), croft.WorkChanged)
	if e.Fields["object"] == "" || e.Fields["object"] == part.Object {
		t.Errorf("%+v", e)
	}
}

// Refused: only files are read that a commit of the work would have.
func (fileScenarios) Refused(t *testing.T, f *fixture) {
	f.commitIn(f.Dir, ".gitignore", "*.tmp\n")
	w := f.createWith("a", ".env", "TOKEN=1\n")
	f.writeIn(w, "x.tmp", "ignored\n")
	f.GitIn(w.Path, "init", "--quiet", "nested")
	f.writeIn(w, "nested/file", "x\n")
	f.wantNoFile(croft.FileRequest{Workspace: "a", Path: ".env"}, croft.FileHeldBack)
	f.wantNoFile(croft.FileRequest{Workspace: "a", Path: "nested/file"}, croft.FileHeldBack)
	f.wantNoFile(croft.FileRequest{Workspace: "a", Path: ".env", Side: croft.SideBase}, croft.FileNotFound)
	for _, name := range []string{"x.tmp", "src", "src/", ".git", ".git/config", "../a/src/main.txt", "./src/main.txt", path.Join(w.Path, "src/main.txt"), "src/main.txt/x"} {
		f.wantNoFile(croft.FileRequest{Workspace: "a", Path: name}, croft.FileNotFound)
	}
	r := f.review("a")
	f.wantNoFile(croft.FileRequest{Review: r.ID, Path: ".env"}, croft.FileHeldBack)
	for _, req := range []croft.FileRequest{
		{Workspace: "a"},
		{Workspace: "a", Path: `"x`},
		{Workspace: "a", Review: r.ID, Path: "src/main.txt"},
		{Workspace: "a", Path: "src/main.txt", Side: "left"},
		{Workspace: "a", Path: "src/main.txt", Offset: -1},
	} {
		wantCode(t, errOf(f.File(t.Context(), req)), croft.InvalidRequest)
	}
}

// Conflict: the three sides of a merge in conflict are read, also while the conflict is
// resolved, and the file with its markers.
func (fileScenarios) Conflict(t *testing.T, f *fixture) {
	_, b := conflicting(t, f)
	r := f.review("b")
	ours, theirs := f.Git("show", "main:src/main.txt")+"\n", "one\nB\nthree\n"
	m := f.merge(croft.MergeRequest{Workspace: "b"})
	sides := map[croft.Side]string{croft.SideWork: theirs, croft.SideTarget: ours, croft.SideBase: "one\ntwo\nthree\n"}
	for side, want := range sides {
		f.wantBytes(croft.FileRequest{Merge: m.ID, Path: "src/main.txt", Side: side}, want)
		f.wantBytes(croft.FileRequest{Review: r.ID, Path: "src/main.txt", Side: side}, want)
	}
	must(t, errOf(f.Resolve(t.Context(), croft.MergeRequest{Workspace: "b"})))
	onDisk, err := f.Host.Read(path.Join(b.Path, "src/main.txt"))
	must(t, err)
	marked := f.wantBytes(croft.FileRequest{Workspace: "b", Path: "src/main.txt"}, onDisk)
	if !strings.Contains(string(marked.Data), "<<<<<<<") {
		t.Errorf("without markers: %s", marked.Data)
	}
	if d := f.diff(croft.DiffRequest{Workspace: "b"}); told(d.Files) != "modified src/main.txt" || d.Files[0].NewObject != marked.Object {
		t.Errorf("%+v", d)
	}
	wantCode(t, errOf(f.CreateReview(t.Context(), croft.ReviewRequest{Workspace: "b"})), croft.InProgress)
}
