package servicetest

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

type reviewScenarios struct{}

// review makes a review of a workspace's work or ends the test.
func (f *fixture) review(name string) croft.Review {
	f.t.Helper()
	r, err := f.CreateReview(f.t.Context(), croft.ReviewRequest{Workspace: name})
	must(f.t, err)
	return *r
}

// apply applies a part or ends the test.
func (f *fixture) apply(req croft.ApplyRequest) croft.Merge {
	f.t.Helper()
	m, err := croft.Apply(f.t.Context(), f.Service, req)
	must(f.t, err)
	if m.State != croft.MergeDone || m.Kind != croft.KindApply || m.Review != req.Review {
		f.t.Errorf("the apply ended as %+v", m)
	}
	return *m
}

// mustApply is apply for a part that has to land.
func (f *fixture) mustApply(req croft.ApplyRequest) croft.Merge {
	f.t.Helper()
	m := f.apply(req)
	if m.Status != croft.MergeMerged || m.Reason != "" {
		f.t.Fatalf("%+v is %s: %s %s", req, m.Status, m.Reason, m.Message)
	}
	return m
}

// told lists a review's files, as "status path".
func told(files []croft.ReviewFile) string {
	var list []string
	for _, f := range files {
		list = append(list, string(f.Status)+" "+f.Path)
	}
	return strings.Join(list, ", ")
}

// numbered is a text of n lines, some of which are replaced.
func numbered(n int, replaced map[int]string) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		if text, ok := replaced[i]; ok {
			b.WriteString(text)
			continue
		}
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func (reviewScenarios) DiffKeepsNothing(t *testing.T, f *fixture) {
	f.commitIn(f.Dir, ".gitignore", "*.tmp\n")
	w := f.create(croft.CreateRequest{Name: "a"})
	f.commitIn(w.Path, "committed.txt", "committed\n")
	f.writeIn(w, "src/main.txt", "one\n2\nthree\n")
	f.writeIn(w, "new/file.txt", "new\n")
	f.writeIn(w, ".env", "TOKEN=1\n")
	f.writeIn(w, "scratch.tmp", "ignored\n")
	objects, refs, status := f.Git("count-objects"), f.Git("for-each-ref"), f.GitIn(w.Path, "status", "--porcelain")
	d, err := f.Diff(t.Context(), croft.DiffRequest{Workspace: "a"})
	must(t, err)
	if got := told(d.Files); got != "added committed.txt, added new/file.txt, modified src/main.txt" {
		t.Errorf("files: %s", got)
	}
	if h := d.Files[2].Hunks; len(h) != 1 || h[0].ID != 1 || h[0].Text != " one\n-two\n+2\n three\n" || h[0].Header != "@@ -1,3 +1,3 @@" ||
		h[0].OldStart != 1 || h[0].OldLines != 3 || h[0].NewStart != 1 || h[0].NewLines != 3 || d.Files[2].Added != 1 || d.Files[2].Deleted != 1 {
		t.Errorf("hunks %+v", d.Files[2])
	}
	if d.ID != "" || d.Head != "" || d.Base != f.Git("rev-parse", "main") || d.Target != "main" || !slices.Equal(d.HeldBack, []string{".env"}) {
		t.Errorf("%+v", d)
	}
	if d, err = f.Diff(t.Context(), croft.DiffRequest{Workspace: "a", Paths: []string{"src/", "committed.txt"}}); err != nil || told(d.Files) != "added committed.txt, modified src/main.txt" {
		t.Errorf("%+v, %v", d, err)
	}
	if objects != f.Git("count-objects") || refs != f.Git("for-each-ref") || status != f.GitIn(w.Path, "status", "--porcelain") {
		t.Error("to look left something behind")
	}
	wantCode(t, errOf(f.Diff(t.Context(), croft.DiffRequest{Workspace: "nobody"})), croft.WorktreeNotFound)
	wantCode(t, errOf(f.Diff(t.Context(), croft.DiffRequest{Workspace: "a", Target: "nowhere"})), croft.TargetNotFound)
}

// DiffSinceTheMergeBase: later commits of the target are not part of the work. The diff of
// committed work names the workspace's HEAD.
func (reviewScenarios) DiffSinceTheMergeBase(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	base := f.Git("rev-parse", "main")
	head := f.commitIn(w.Path, "mine.txt", "mine\n")
	tip := f.commitIn(f.Dir, "theirs.txt", "theirs\n")
	d, err := f.Diff(t.Context(), croft.DiffRequest{Workspace: "a"})
	if err != nil || told(d.Files) != "added mine.txt" || d.Base != base || d.Head != head || d.TargetCommit != tip {
		t.Errorf("%+v, %v", d, err)
	}
}

func (reviewScenarios) Frozen(t *testing.T, f *fixture) {
	w := f.createWith("a", "src/main.txt", "one\ntwo\nthree\nfour\n")
	f.writeIn(w, "new.txt", "new\n")
	status := f.GitIn(w.Path, "status", "--porcelain")
	r := f.review("a")
	f.WantStatus(w.Path, status)
	if r.ID == "" || r.CreatedAt.IsZero() || r.Base != f.Git("rev-parse", "main") || r.TargetCommit != r.Base || r.WorkspaceName != "a" || r.Workspace != w.ID {
		t.Errorf("%+v", r)
	}
	f.writeIn(w, "src/main.txt", "something else\n")
	f.Delete(filepath.Join(w.Path, "new.txt"))
	f.writeIn(w, "later.txt", "later\n")
	f.Git("gc", "--quiet", "--prune=now")
	m := f.mustApply(croft.ApplyRequest{Review: r.ID, Paths: []string{"."}, Message: "by hand"})
	if got, want := f.Git("rev-parse", m.Commit+"^{tree}"), f.Git("rev-parse", r.Head+"^{tree}"); got != want {
		t.Errorf("everything gives %s, the head is %s", got, want)
	}
	if f.Git("rev-parse", "main") != m.Commit || f.Git("log", "-1", "--format=%P", "main") != r.Base {
		t.Error("not one commit with one parent")
	}
	if got := f.Git("log", "-1", "--format=%B%an", "main"); !strings.HasPrefix(got, "by hand\n\nCroft-Merge: "+string(m.ID)) || !strings.HasSuffix(got, "Ada") {
		t.Errorf("message %q", got)
	}
	f.WantClean(f.Dir)
	if got := f.show("a"); got.State != croft.Ready || got.MergeStatus != "" {
		t.Errorf("the workspace is %s, %q", got.State, got.MergeStatus)
	}
	if list, err := f.Merges(t.Context(), croft.MergesRequest{Scope: croft.ScopeAll}); err != nil || len(list.Items) != 1 || list.Items[0].ID != m.ID {
		t.Errorf("%+v, %v", list, err)
	}
}

func (reviewScenarios) Parts(t *testing.T, f *fixture) {
	f.Write("long.txt", numbered(40, nil))
	f.Write("other.txt", "other\n")
	f.Write("was.txt", numbered(10, nil))
	f.Commit("more")
	w := f.createWith("a", "long.txt", numbered(40, map[int]string{2: "two\n", 20: "", 39: "39\nand a half\n"}))
	f.writeIn(w, "other.txt", "changed\n")
	f.writeIn(w, "left.txt", "left\n")
	f.GitIn(w.Path, "mv", "was.txt", "is.txt")
	f.writeIn(w, "is.txt", numbered(10, map[int]string{1: "first\n"}))
	r := f.review("a")
	if got := told(r.Files); got != "renamed is.txt, added left.txt, modified long.txt, modified other.txt" || r.Files[0].OldPath != "was.txt" {
		t.Fatalf("files: %s", got)
	}
	m := f.mustApply(croft.ApplyRequest{Review: r.ID, Paths: []string{"is.txt"}, Hunks: map[string][]int{"long.txt": {3, 1}, "other.txt": {1}}})
	if got, want := f.Git("show", m.Commit+":long.txt")+"\n", numbered(40, map[int]string{2: "two\n", 39: "39\nand a half\n"}); got != want {
		t.Errorf("long.txt is %q", got)
	}
	if got := f.Git("show", "--name-status", "--format=%s", "main"); !strings.Contains(got, "Apply part of a") || !strings.Contains(got, "R") ||
		!strings.Contains(got, "was.txt\tis.txt") || !strings.Contains(got, "M\tother.txt") || strings.Contains(got, "left.txt") {
		t.Errorf("landed: %s", got)
	}
	// The rest can be applied from the same review: the target has moved only by the part
	// that was applied before.
	f.mustApply(croft.ApplyRequest{Review: r.ID, Paths: []string{"left.txt"}})
	again := f.apply(croft.ApplyRequest{Review: r.ID, Hunks: map[string][]int{"long.txt": {2}}})
	if again.Reason != croft.BaseMoved {
		t.Errorf("a file that was applied in part is another one now: %+v", again)
	}
	next := f.review("a")
	f.mustApply(croft.ApplyRequest{Review: next.ID, Paths: []string{"."}})
	if got, want := f.Git("rev-parse", "main^{tree}"), f.Git("rev-parse", r.Head+"^{tree}"); got != want {
		t.Errorf("the parts together give %s, not %s", got, want)
	}
	f.WantClean(f.Dir)
}

// Edits: what a person has divided is applied by its lines, and the rest can follow.
func (reviewScenarios) Edits(t *testing.T, f *fixture) {
	f.Write("long.txt", numbered(20, nil))
	f.Commit("more")
	w := f.createWith("a", "long.txt", numbered(20, map[int]string{4: "four\n", 6: "six\n", 15: "fifteen\n"}))
	f.writeIn(w, "new.txt", "1\n2\n")
	r := f.review("a")
	six := []croft.Edit{{OldStart: 6, OldLines: 1, Text: "six\n"}}
	for _, req := range []croft.ApplyRequest{
		{Edits: map[string][]croft.Edit{"nowhere": six}},
		{Edits: map[string][]croft.Edit{"long.txt": {{OldStart: 21, OldLines: 1}}}},
		{Edits: map[string][]croft.Edit{"long.txt": six}, Paths: []string{"long.txt"}},
	} {
		req.Review = r.ID
		wantCode(t, errOf(croft.Apply(t.Context(), f.Service, req)), croft.InvalidRequest)
	}
	m := f.mustApply(croft.ApplyRequest{Review: r.ID, Edits: map[string][]croft.Edit{"long.txt": six, "new.txt": {{OldStart: 0, Text: "1\n"}}}})
	f.WantContent(m.Commit+":long.txt", strings.TrimSuffix(numbered(20, map[int]string{6: "six\n"}), "\n"))
	f.WantContent(m.Commit+":new.txt", "1")
	rest, err := f.CreateReview(t.Context(), croft.ReviewRequest{Workspace: "a", Applied: croft.AppliedHidden})
	must(t, err)
	if got := told(rest.Files); got != "modified long.txt, modified new.txt" {
		t.Errorf("left: %s", got)
	}
	f.mustApply(croft.ApplyRequest{Review: rest.ID, Paths: []string{"."}})
	if got, want := f.Git("rev-parse", "main^{tree}"), f.Git("rev-parse", r.Head+"^{tree}"); got != want {
		t.Errorf("the parts together give %s, not %s", got, want)
	}
}

func (reviewScenarios) EveryKindOfFile(t *testing.T, f *fixture) {
	f.Git("config", "core.autocrlf", "false")
	f.Write("crlf.txt", strings.ReplaceAll(numbered(30, nil), "\n", "\r\n"))
	f.Write("cut.txt", numbered(30, nil)+"no newline")
	f.Write("bin", "a\x00b")
	f.Write("gone/file", "gone\n")
	f.Write("run.sh", "true\n")
	f.Write("kind", "file\n")
	f.Write("becomes", "a file\n")
	f.Write("latin.txt", "caf\xe9\n")
	base := f.Commit("kinds")
	w := f.createWith("a", "crlf.txt", strings.ReplaceAll(numbered(30, map[int]string{1: "erste\n", 30: "letzte\n"}), "\n", "\r\n"))
	f.writeIn(w, "cut.txt", numbered(30, map[int]string{3: "three\n"})+"no newline\nany more")
	f.writeIn(w, "bin", "a\x00c")
	f.writeIn(w, "empty", "")
	f.writeIn(w, "latin.txt", "caf\xe9\nth\xe9\n")
	at := func(name string) string { return filepath.Join(w.Path, name) }
	f.Delete(at("gone/file"))
	f.Delete(at("becomes"))
	f.MakeExecutable(w.Path, "run.sh")
	f.Link(w.Path, "kind", "bin")
	f.writeIn(w, "becomes/dir", "now a directory\n")
	odd := "plain.txt"
	if runtime.GOOS == "linux" {
		odd = "caf\xe9 \"x\".txt"
	}
	f.writeIn(w, odd, "odd\n")
	f.GitIn(w.Path, "add", "--all")
	f.GitIn(w.Path, "update-index", "--add", "--cacheinfo", "160000,"+base+",sub")
	f.GitIn(w.Path, "commit", "--quiet", "-m", "kinds")
	f.MakeDir(at("sub")) // a submodule that is not checked out
	r := f.review("a")
	by := map[string]croft.ReviewFile{}
	for _, file := range r.Files {
		by[file.Path] = file
	}
	if !by["bin"].IsBinary || by["gone/file"].Status != croft.FileDeleted || by["run.sh"].Status != croft.FileMode || by["kind"].Status != croft.FileTypeChange ||
		!by["sub"].IsSubmodule || by["sub"].NewObject != base || by["run.sh"].NewMode != "100755" || by["empty"].NewMode != "100644" || len(by["cut.txt"].Hunks) != 2 {
		t.Errorf("%+v", by)
	}
	if runtime.GOOS == "linux" && by[`"caf\351 \"x\".txt"`].Status != croft.FileAdded {
		t.Errorf("the odd name is not there: %s", told(r.Files))
	}
	// A part of the lines, by bytes.
	m := f.mustApply(croft.ApplyRequest{Review: r.ID, Hunks: map[string][]int{"cut.txt": {2}, "crlf.txt": {1}}})
	f.WantContent(m.Commit+":cut.txt", numbered(30, nil)+"no newline\nany more")
	if got := f.Git("show", m.Commit+":crlf.txt") + "\n"; got != strings.ReplaceAll(numbered(30, map[int]string{1: "erste\n"}), "\n", "\r\n") {
		t.Errorf("crlf.txt is %q", got)
	}
	_, err := croft.Apply(t.Context(), f.Service, croft.ApplyRequest{Review: r.ID, Paths: []string{"becomes/dir"}})
	if e := wantCode(t, err, croft.InvalidRequest); !strings.Contains(e.Message, `without "becomes"`) {
		t.Errorf("%v", e)
	}
	next := f.review("a")
	var paths []string
	for _, file := range next.Files {
		paths = append(paths, file.Path)
	}
	m = f.mustApply(croft.ApplyRequest{Review: next.ID, Paths: paths})
	if got, want := f.Git("rev-parse", m.Commit+"^{tree}"), f.Git("rev-parse", next.Head+"^{tree}"); got != want {
		t.Errorf("every file gives another tree than the head's:\n%s", f.Git("diff", "--stat", want, got))
	}
}

func (reviewScenarios) BaseMoved(t *testing.T, f *fixture) {
	w := f.createWith("a", "README.md", "# app\n\nmore\n")
	f.writeIn(w, "new.txt", "new\n")
	r := f.review("a")
	tip := f.commitIn(f.Dir, "README.md", "# App\n")
	m := f.apply(croft.ApplyRequest{Review: r.ID, Paths: []string{"README.md", "new.txt"}})
	if m.Status != croft.MergePending || m.Reason != croft.BaseMoved || m.Details != "README.md" || m.Hint != "croft review a" || m.Message == "" {
		t.Errorf("%+v", m)
	}
	f.WantAt("main", tip)
	if got := f.show("a"); got.MergeStatus != "" {
		t.Errorf("the workspace is %q", got.MergeStatus)
	}
	m = f.mustApply(croft.ApplyRequest{Review: r.ID, Paths: []string{"new.txt"}})
	if m.Message != "main has moved since the review, in other files" {
		t.Errorf("message %q", m.Message)
	}
}

// OthersMoved: a directory at the path of the chosen file counts as a change of it; files
// beside it do not.
func (reviewScenarios) OthersMoved(t *testing.T, f *fixture) {
	w := f.createWith("a", "x", "a file\n")
	f.writeIn(w, "dir/y", "below\n")
	r := f.review("a")
	f.Write("x/inside", "now a directory\n")
	f.Write("dir/z", "beside\n")
	f.Commit("outside")
	if m := f.apply(croft.ApplyRequest{Review: r.ID, Paths: []string{"x"}}); m.Reason != croft.BaseMoved || m.Details != "x" {
		t.Errorf("%+v", m)
	}
	f.mustApply(croft.ApplyRequest{Review: r.ID, Paths: []string{"dir"}})
}

// MovedInTheLane: the target is compared when the lane gets to the apply, so merges that
// land before count.
func (reviewScenarios) MovedInTheLane(t *testing.T, f *fixture) {
	list := f.createAll(croft.CreateRequest{Name: "a"}, croft.CreateRequest{Name: "b"})
	f.writeIn(list[0], "src/main.txt", "one\ntwo\nthree\nfour\n")
	f.writeIn(list[1], "src/main.txt", "zero\none\ntwo\nthree\n")
	r := f.review("a")
	first, err := f.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "b"})
	must(t, err)
	m := f.apply(croft.ApplyRequest{Review: r.ID, Paths: []string{"src"}})
	if m.Reason != croft.BaseMoved {
		t.Errorf("%+v", m)
	}
	if done, err := f.WaitMerge(t.Context(), croft.WaitRequest{Merge: first.ID}); err != nil || done.Status != croft.MergeMerged {
		t.Errorf("%+v, %v", done, err)
	}
}

func (reviewScenarios) Conflict(t *testing.T, f *fixture) {
	_, b := conflicting(t, f)
	f.writeIn(b, "new.txt", "new\n")
	before := f.Git("rev-parse", "main")
	r := f.review("b")
	m := f.apply(croft.ApplyRequest{Review: r.ID, Paths: []string{"."}})
	if m.Status != croft.MergePending || m.Reason != croft.Conflict || len(m.Conflicts) != 1 || m.Conflicts[0].Path != "src/main.txt" || m.Conflicts[0].Against != "a" {
		t.Errorf("%+v", m)
	}
	f.WantAt("main", before)
	f.mustApply(croft.ApplyRequest{Review: r.ID, Paths: []string{"new.txt"}})
}

func (reviewScenarios) Refuses(t *testing.T, f *fixture) {
	f.createWith("a", "new.txt", "new\n")
	r := f.review("a")
	before := f.Git("for-each-ref")
	for _, req := range []croft.ApplyRequest{
		{Review: r.ID},
		{Review: r.ID, Paths: []string{"nowhere"}},
		{Review: r.ID, Hunks: map[string][]int{"new.txt": {2}}},
		{Review: r.ID, Paths: []string{"new.txt"}, Workspace: "b"},
	} {
		wantCode(t, errOf(croft.Apply(t.Context(), f.Service, req)), croft.InvalidRequest)
	}
	for _, id := range []croft.ID{"", "0123456789abcdef", "../../heads/main"} {
		wantCode(t, errOf(croft.Apply(t.Context(), f.Service, croft.ApplyRequest{Review: id, Paths: []string{"."}})), croft.ReviewNotFound)
	}
	if after := f.Git("for-each-ref"); after != before {
		t.Errorf("something was left: %s", after)
	}
	wantCode(t, errOf(f.CreateReview(t.Context(), croft.ReviewRequest{Workspace: "nobody"})), croft.WorktreeNotFound)
}

func (reviewScenarios) Key(t *testing.T, f *fixture) {
	f.createWith("a", "new.txt", "new\n")
	r := f.review("a")
	req := croft.ApplyRequest{Key: "k", Review: r.ID, Paths: []string{"new.txt"}}
	first, again := f.mustApply(req), f.mustApply(req)
	if first.ID != again.ID || first.Commit != again.Commit || f.Git("rev-list", "--count", "main") != "2" {
		t.Errorf("%+v, then %+v", first, again)
	}
	req.Message = "another"
	wantCode(t, errOf(croft.Apply(t.Context(), f.Service, req)), croft.KeyConflict)
}

func (reviewScenarios) Undo(t *testing.T, f *fixture) {
	w := f.createWith("a", "one.txt", "one\n")
	f.writeIn(w, "two.txt", "two\n")
	before := f.Git("rev-parse", "main^{tree}")
	r := f.review("a")
	f.mustApply(croft.ApplyRequest{Review: r.ID, Paths: []string{"one.txt"}})
	ops, err := f.History(t.Context(), croft.HistoryRequest{})
	if err != nil || len(ops.Items) == 0 || ops.Items[0].Kind != "apply" || !ops.Items[0].IsUndoable || ops.Items[0].WorkspaceName != "a" {
		t.Fatalf("%+v, %v", ops, err)
	}
	must(t, errOf(f.Undo(t.Context(), croft.UndoRequest{})))
	if got := f.Git("rev-parse", "main^{tree}"); got != before {
		t.Error("it was not taken back")
	}
	if got := f.show("a"); got.MergeStatus != "" || got.MergeCommit != "" {
		t.Errorf("the workspace is %q", got.MergeStatus)
	}
	f.WantClean(f.Dir)
	// All of the work can still be applied.
	f.mustMerge(croft.MergeRequest{Workspace: "a"})
	f.Git("cat-file", "-e", "main:one.txt")
	f.Git("cat-file", "-e", "main:two.txt")
}

func (reviewScenarios) LostDatabase(t *testing.T, f *fixture) {
	f.createWith("a", "new.txt", "new\n")
	r := f.review("a")
	f.LoseState()
	svc := f.at(f.Dir)
	m, err := croft.Apply(t.Context(), svc, croft.ApplyRequest{Review: r.ID, Paths: []string{"new.txt"}})
	if err != nil || m.Status != croft.MergeMerged || m.WorkspaceName != "a" {
		t.Fatalf("%+v, %v", m, err)
	}
	f.Git("cat-file", "-e", "main:new.txt")
}

func (reviewScenarios) MergeAfterApply(t *testing.T, f *fixture) {
	w := f.createWith("a", "one.txt", "one\n")
	f.writeIn(w, "two.txt", "two\n")
	r := f.review("a")
	f.mustApply(croft.ApplyRequest{Review: r.ID, Paths: []string{"one.txt"}})
	m := f.mustMerge(croft.MergeRequest{Workspace: "a"})
	f.WantTree(m.Commit, "README.md\none.txt\nsrc/main.txt\ntwo.txt")
	// The target got only the chosen part: the base is unchanged.
	empty := f.mustApply(croft.ApplyRequest{Review: r.ID, Paths: []string{"."}})
	if empty.Commit != "" || f.Git("rev-parse", "main") != m.Commit {
		t.Errorf("what is there already: %+v", empty)
	}
}

// MergeAgainAfterApply: a part that was applied in between does not hide that the work was
// merged and reverted.
func (reviewScenarios) MergeAgainAfterApply(t *testing.T, f *fixture) {
	w := f.createWith("a", "one.txt", "one\n")
	f.mustMerge(croft.MergeRequest{Workspace: "a", After: croft.AfterKeep})
	if m, err := croft.Revert(t.Context(), f, croft.RevertRequest{Ref: "a"}); err != nil || m.Status != croft.MergeMerged {
		t.Fatalf("%+v, %v", m, err)
	}
	f.writeIn(w, "two.txt", "two\n")
	f.writeIn(w, "three.txt", "three\n")
	r := f.review("a")
	f.mustApply(croft.ApplyRequest{Review: r.ID, Paths: []string{"two.txt"}})
	f.mustMerge(croft.MergeRequest{Workspace: "a"})
	f.WantTree("main", "README.md\none.txt\nsrc/main.txt\nthree.txt\ntwo.txt")
}

// MergeInProgress: while the target is being merged into the workspace, its commits are not
// part of the work.
func (reviewScenarios) MergeInProgress(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.commitIn(w.Path, "mine.txt", "mine\n")
	tip := f.commitIn(f.Dir, "theirs.txt", "theirs\n")
	f.seeMain(w.Path)
	f.GitIn(w.Path, "merge", "--quiet", "--no-commit", "--no-ff", "main")
	r := f.review("a")
	if told(r.Files) != "added mine.txt" || r.Base != tip {
		t.Errorf("%s since %s, want it since %s", told(r.Files), r.Base, tip)
	}
}
