package cli

import (
	"context"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/google/go-cmp/cmp"
)

func (f *fake) Diff(_ context.Context, req croft.DiffRequest) (*croft.Review, error) {
	return f.diff(req)
}

func (f *fake) CreateReview(_ context.Context, req croft.ReviewRequest) (*croft.Review, error) {
	return f.review(req)
}

func (f *fake) SubmitApply(_ context.Context, req croft.ApplyRequest) (*croft.Merge, error) {
	return f.apply(req)
}

// threeFiles is a review of a file with three hunks, a binary one and a renamed
// one.
func threeFiles() *croft.Review {
	hunk := func(id int, text string) croft.Hunk {
		return croft.Hunk{ID: id, Header: "@@ -1 +1 @@", OldStart: 1, OldLines: 1, NewStart: 1, NewLines: 1, Text: text}
	}
	return &croft.Review{
		Total: croft.Changes{Files: 3, Added: 4, Deleted: 4},
		ID:    "r1", WorkspaceName: "fix-login", Workspace: "a1", Target: "main", TargetCommit: "c1", Base: "c0", Head: "c2", CreatedAt: noon,
		Files: []croft.ReviewFile{
			{
				Path: "a.go", Status: croft.FileModified, OldMode: "100644", NewMode: "100644", OldObject: "1", NewObject: "2", Added: 3, Deleted: 3,
				Hunks: []croft.Hunk{hunk(1, "-1\n+one\n"), hunk(2, "-2\n+two\x1b[31m\r\n"), hunk(3, "-3\n+three\n\\ No newline at end of file\n")},
			},
			{Path: "b.bin", Status: croft.FileAdded, NewMode: "100644", NewObject: "3", IsBinary: true},
			{
				Path: "c.go", OldPath: "old.go", Status: croft.FileRenamed, OldMode: "100644", NewMode: "100755", OldObject: "4", NewObject: "5",
				Added: 1, Deleted: 1, Hunks: []croft.Hunk{hunk(1, "-x\n+y\n")},
			},
		},
	}
}

// reviewing is a Service with that review, which records what is applied.
func reviewing(applied *[]croft.ApplyRequest) *fake {
	return &fake{
		repo:   func(string) (*croft.Repo, error) { return &croft.Repo{Path: "/root"}, nil },
		review: func(croft.ReviewRequest) (*croft.Review, error) { return threeFiles(), nil },
		apply: func(req croft.ApplyRequest) (*croft.Merge, error) {
			*applied = append(*applied, req)
			return &croft.Merge{
				ID: "m1", Kind: croft.KindApply, WorkspaceName: "fix-login", Target: "main", State: croft.MergeDone, Status: croft.MergeMerged, Commit: "c3c3c3c3c3",
			}, nil
		},
	}
}

// atTerminal is a call at a terminal, with a user who reads and answers.
func atTerminal(svc *fake, answers string) *run {
	r := newRun(svc)
	r.env.Terminal, r.env.Width, r.stdin = TerminalInteractive, 80, answers
	return r
}

func TestReviewAsks(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers string
		want    *croft.ApplyRequest
	}{
		{"all", "y\ny\ny\ny\ny\ny\n", &croft.ApplyRequest{Paths: []string{"a.go", "b.bin", "c.go"}}},
		{"some hunks", "y\nn\ny\nn\nn\ny\n", &croft.ApplyRequest{Hunks: map[string][]int{"a.go": {1, 3}}}},
		{"the rest of a file", "n\na\nn\ny\nyes\ny\ny\n", &croft.ApplyRequest{Paths: []string{"c.go"}, Hunks: map[string][]int{"a.go": {2, 3}}}},
		{"all of a file", "a\na\nn\ny\n", &croft.ApplyRequest{Paths: []string{"a.go", "b.bin"}}},
		{"the rest of a file is left", "y\nd\nn\nn\ny\n", &croft.ApplyRequest{Hunks: map[string][]int{"a.go": {1}}}},
		{"left from a whole file on", "a\nd\nd\nY\n", &croft.ApplyRequest{Paths: []string{"a.go"}}},
		{"help first", "?\nwhat\na\nq\ny\n", &croft.ApplyRequest{Paths: []string{"a.go"}}},
		{"quit", "y\nn\nq\ny\n", &croft.ApplyRequest{Hunks: map[string][]int{"a.go": {1}}}},
		{"back", "b\ny\ny\nb\nn\nn\nq\ny\n", &croft.ApplyRequest{Hunks: map[string][]int{"a.go": {1}}}},
		{"back and quit", "y\ny\nb\nb\nq\ny\n", nil},
		{"nothing", "n\nn\nn\nn\nn\ny\n", nil},
		{"a slip in the end", "a\nd\nd\n\nt\nY\n", &croft.ApplyRequest{Paths: []string{"a.go"}}},
		{"no in the end", "a\ny\ny\nn\n", nil},
		{"q in the end", "a\ny\ny\nq\ny\n", nil},
		{"hangs up", "y\ny\n", nil},
		{"hangs up in the end", "a\ny\ny\n", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var applied []croft.ApplyRequest
			r := atTerminal(reviewing(&applied), tt.answers).call(t, "review", "fix-login", "-m", "why")
			var want []croft.ApplyRequest
			if tt.want != nil {
				tt.want.Repo, tt.want.Review, tt.want.Message = project, "r1", "why"
				want = append(want, *tt.want)
			}
			if diff := cmp.Diff(want, applied); diff != "" {
				t.Errorf("applied (-want +got):\n%s", diff)
			}
			if tt.want == nil && !strings.Contains(r.stderr.String(), "nothing was applied\n") {
				t.Errorf("stderr %q", r.stderr.String())
			}
			if r.exit != croft.ExitOK {
				t.Errorf("exit %d", r.exit)
			}
		})
	}
}

// TestReviewRepeats: who does not apply a choice is told the command that applies it later.
func TestReviewRepeats(t *testing.T) {
	for answers, want := range map[string]string{
		"y\nn\ny\ny\nn\nn\n": "next: croft apply fix-login --review r1 -m 'so it is' --hunks a.go:1,3 b.bin\n",
		"a\nn\nn\n":          "next: croft apply fix-login --review r1 -m 'so it is' a.go\n",
	} {
		r := atTerminal(reviewing(nil), answers).call(t, "review", "fix-login", "-m", "so it is")
		if text := strings.Join(strings.Fields(r.stderr.String()), " ") + "\n"; !strings.HasSuffix(text, "nothing was applied "+want) {
			t.Errorf("stderr %q", text)
		}
	}
}

func TestReviewShows(t *testing.T) {
	var applied []croft.ApplyRequest
	r := atTerminal(reviewing(&applied), "y\nn\nn\n?\nn\ny\ny\n")
	r.call(t, "review", "fix-login").want(t, croft.ExitOK, `a.go (modified, +3 -3)
@@ -1 +1 @@
-1
+one
@@ -1 +1 @@
-2
+two^[[31m^M
@@ -1 +1 @@
-3
+three
\ No newline at end of file
b.bin (added, binary)
c.go (renamed, +1 -1, was old.go, 100644 → 100755)
@@ -1 +1 @@
-x
+y
✓ fix-login  applied → main  c3c3c3c
`, `file 1 of 3, hunk 1 of 3: apply this hunk? y n a d b s e q ? file 1 of 3, hunk 2 of 3: apply this hunk? y n a d b s e q ? `+
		`file 1 of 3, hunk 3 of 3: apply this hunk? y n a d b s e q ? file 2 of 3: apply this file? y n a d b s e q ? `+strings.Join(reviewHelp(), "\n")+`
file 2 of 3: apply this file? y n a d b s e q ? file 3 of 3, hunk 1 of 1: apply this hunk? y n a d b s e q ?   a.go (1 of 3 hunks)
  c.go
Apply 2 files to main? [y/n]   the workspace stays
  to take it back: croft revert m1
`)
}

// TestReviewEdits: a hunk that was edited is applied as it is then; what is no part of the file's lines is said, and asked about again.
func TestReviewEdits(t *testing.T) {
	var applied []croft.ApplyRequest
	keys := typed("eeq")
	r := withKeys(reviewing(&applied), keys)
	edits := []string{"-9\n+one\n", "-1\n+ONE\n+more\n"}
	r.env.Edit = func(_ context.Context, text []byte) ([]byte, error) {
		if !strings.HasPrefix(string(text), "-1\n+one\n#") || keys.closed == 0 {
			t.Errorf("edited %q, closed %d", text, keys.closed)
		}
		text, edits = []byte(edits[0]), edits[1:]
		return text, nil
	}
	r.stdin = "y\n"
	r.call(t, "review", "fix-login")
	want := []croft.ApplyRequest{{Repo: project, Review: "r1", Edits: map[string][]croft.Edit{"a.go": {{OldStart: 1, OldLines: 1, Text: "ONE\nmore\n"}}}}}
	if diff := cmp.Diff(want, applied); diff != "" {
		t.Errorf("applied (-want +got):\n%s", diff)
	}
	for _, part := range []string{"no longer those of the file: apply this hunk?", "a.go (1 of 3 hunks, edited)"} {
		if text := r.stderr.String(); !strings.Contains(text, part) {
			t.Errorf("%q is missing in %q", part, text)
		}
	}
}

// TestReviewByKeys: each part has the screen for itself, with where one is and how many were chosen; the list comes after it, and who leaves
// applies nothing.
func TestReviewByKeys(t *testing.T) {
	var applied []croft.ApplyRequest
	keys := typed("ynbyd yn")
	r := withKeys(reviewing(&applied), keys)
	r.stdin = "y\n"
	r.call(t, "review", "fix-login")
	want := []croft.ApplyRequest{{Repo: project, Review: "r1", Paths: []string{"b.bin"}, Hunks: map[string][]int{"a.go": {1, 2}}}}
	if diff := cmp.Diff(want, applied); diff != "" || keys.closed == 0 || len(keys.keys) > 0 {
		t.Errorf("applied (-want +got):\n%s", diff)
	}
	text := r.stderr.String()
	for _, part := range []string{
		"fix-login → main   file 1 of 3, hunk 2 of 3   chosen: 1", "+two^[[31m^M", "apply this hunk? y n a d b s e q ?", "chosen: 2", "b.bin (added, binary)", "apply this file?",
		"\x1b[?1049l  a.go (2 of 3 hunks)\n  b.bin\nApply 2 files to main? [y/n] ",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in %q", part, text)
		}
	}
	applied = nil
	r = withKeys(reviewing(&applied), typed("nsnyssnq"))
	r.svc.review = func(croft.ReviewRequest) (*croft.Review, error) {
		work := threeFiles()
		work.Files[0].Hunks[1].OldLines, work.Files[0].Hunks[1].Text = 3, "-1\n+one\n 2\n-3\n"
		return work, nil
	}
	r.stdin = "y\n"
	r.call(t, "review", "fix-login")
	want = []croft.ApplyRequest{{Repo: project, Review: "r1", Edits: map[string][]croft.Edit{"a.go": {{OldStart: 3, OldLines: 1}}}}}
	if diff := cmp.Diff(want, applied); diff != "" {
		t.Errorf("divided, applied (-want +got):\n%s", diff)
	}
	for _, part := range []string{"hunk 3 of 4", "it cannot be split further: apply this hunk?", "a.go (1 of 4 hunks)"} {
		if text := r.stderr.String(); !strings.Contains(text, part) {
			t.Errorf("%q is missing in %q", part, text)
		}
	}
	for _, leave := range []string{"y\x1b", "yy"} {
		applied = nil
		keys := typed(leave)
		r := withKeys(reviewing(&applied), keys)
		if r.call(t, "review", "fix-login"); len(applied) > 0 || r.exit == croft.ExitOK || keys.closed == 0 || !strings.Contains(r.stderr.String(), "\x1b[?1049l") {
			t.Errorf("%q: exit %d, %v", leave, r.exit, applied)
		}
	}
}

// A program is never asked, and neither is a user who would not see the review.
func TestReviewWithoutATerminal(t *testing.T) {
	var applied []croft.ApplyRequest
	r := newRun(reviewing(&applied))
	r.env.Terminal, r.stdin = TerminalInteractive, "y\n"
	r.call(t, "review", "fix-login").want(t, croft.ExitOK, `review r1
a.go   modified, +3 -3
b.bin  added, binary
c.go   renamed, +1 -1, was old.go, 100644 → 100755
3 files, +4 -4
hunks, for croft apply --hunks:
a.go:1  @@ -1 +1 @@
a.go:2  @@ -1 +1 @@
a.go:3  @@ -1 +1 @@
`, "  next: croft apply fix-login --review r1 PATH...\n")
	r.env.Width = 80
	r.call(t, "review", "fix-login", "--json")
	if r.exit != croft.ExitOK || jsonField(t, r, "version") != 1.0 || len(applied) != 0 || r.stderr.String() != "" {
		t.Errorf("exit %d, stdout %s, stderr %s", r.exit, r.stdout.String(), r.stderr.String())
	}
}

func TestDiffIsAPatch(t *testing.T) {
	work := threeFiles()
	work.HeldBack = []string{".env"}
	work.Files = append(work.Files,
		croft.ReviewFile{Path: "sub", Status: croft.FileModified, OldMode: "160000", NewMode: "160000", OldObject: "6", NewObject: "7", IsSubmodule: true},
		croft.ReviewFile{Path: "tab\t\"", Status: croft.FileDeleted, OldMode: "100644", OldObject: "8", Deleted: 1, Hunks: []croft.Hunk{{Header: "@@ -1 +0,0 @@", Text: "-z\n"}}},
		croft.ReviewFile{Path: `"caf\351"`, Status: croft.FileAdded, NewMode: "100644", NewObject: "9"},
		croft.ReviewFile{Path: "run.sh", Status: croft.FileMode, OldMode: "100644", NewMode: "100755", OldObject: "a", NewObject: "a"},
	)
	var asked croft.DiffRequest
	r := newRun(&fake{diff: func(req croft.DiffRequest) (*croft.Review, error) { asked = req; return work, nil }})
	want := `diff --git a/a.go b/a.go
index 1..2 100644
--- a/a.go
+++ b/a.go
@@ -1 +1 @@
-1
+one
@@ -1 +1 @@
-2
+two` + "\x1b[31m\r" + `
@@ -1 +1 @@
-3
+three
\ No newline at end of file
diff --git a/b.bin b/b.bin
new file mode 100644
index 0..3
Binary files /dev/null and b/b.bin differ
diff --git a/old.go b/c.go
old mode 100644
new mode 100755
rename from old.go
rename to c.go
index 4..5
--- a/old.go
+++ b/c.go
@@ -1 +1 @@
-x
+y
diff --git a/sub b/sub
index 6..7 160000
--- a/sub
+++ b/sub
@@ -1 +1 @@
-Subproject commit 6
+Subproject commit 7
diff --git "a/tab\011\"" "b/tab\011\""
deleted file mode 100644
index 8..0
--- "a/tab\011\""
+++ /dev/null
@@ -1 +0,0 @@
-z
diff --git "a/caf\351" "b/caf\351"
new file mode 100644
index 0..9
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
`
	r.call(t, "diff", "fix-login", "src", "x").want(t, croft.ExitOK, want, "fix-login: left out: .env\n")
	if diff := cmp.Diff(croft.DiffRequest{Repo: project, Workspace: "fix-login", Paths: []string{"src", "x"}}, asked); diff != "" {
		t.Error(diff)
	}
	r.call(t, "diff", "--", "src")
	if diff := cmp.Diff(croft.DiffRequest{Repo: project, Paths: []string{"src"}}, asked); diff != "" {
		t.Error(diff)
	}
	// Escape sequences in a file do not reach the terminal.
	r.env.Width, r.env.Color = 80, ColorTerminal
	r.call(t, "diff", "fix-login")
	if out := r.stdout.String(); !strings.Contains(out, "\x1b[32m+two^[[31m^M\x1b[0m\n") || !strings.Contains(out, "\x1b[36m@@ -1 +1 @@\x1b[0m\n") ||
		!strings.Contains(out, "\x1b[1mdiff --git a/a.go b/a.go\x1b[0m\n") {
		t.Errorf("coloured: %q", out)
	}
}

func TestApplyRequests(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want croft.ApplyRequest
	}{
		{[]string{"a.go", "dir/"}, croft.ApplyRequest{Review: "r1", Paths: []string{"a.go", "dir/"}}},
		{[]string{"--all", "-m", "why", "--key", "k"}, croft.ApplyRequest{Review: "r1", Paths: []string{"."}, Message: "why", Key: "k"}},
		{
			[]string{"--hunks", "a.go:1,3", "--hunks", "x:y.go:2", "b.bin"},
			croft.ApplyRequest{Review: "r1", Paths: []string{"b.bin"}, Hunks: map[string][]int{"a.go": {1, 3}, "x:y.go": {2}}},
		},
		{[]string{"--review", "r7", "a.go"}, croft.ApplyRequest{Review: "r7", Workspace: "fix-login", Paths: []string{"a.go"}}},
	} {
		var applied []croft.ApplyRequest
		newRun(reviewing(&applied)).call(t, append([]string{"apply", "fix-login"}, tt.args...)...).want(t, croft.ExitOK, "fix-login  applied  → main  c3c3c3c\n", "")
		tt.want.Repo = project
		if diff := cmp.Diff([]croft.ApplyRequest{tt.want}, applied); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.args, diff)
		}
	}
	for _, args := range [][]string{
		{},
		{"fix-login"},
		{"fix-login", "--all", "a.go"},
		{"fix-login", "--all", "--hunks", "a.go:1"},
		{"fix-login", "--hunks", "a.go"},
		{"fix-login", "--hunks", "a.go:"},
		{"fix-login", "--hunks", ":1"},
		{"fix-login", "--review", "r1", "--target", "x", "a.go"},
	} {
		var applied []croft.ApplyRequest
		if r := newRun(reviewing(&applied)).call(t, append([]string{"apply"}, args...)...); r.exit != croft.ExitUsage || len(applied) != 0 {
			t.Errorf("%v: exit %d after %v", args, r.exit, applied)
		}
	}
}

func TestApplyThatStaysPending(t *testing.T) {
	svc := reviewing(new([]croft.ApplyRequest))
	svc.apply = func(croft.ApplyRequest) (*croft.Merge, error) {
		return &croft.Merge{
			ID: "m1", Kind: croft.KindApply, WorkspaceName: "fix-login", Target: "main", State: croft.MergeDone, Status: croft.MergePending, SubmittedAt: noon,
			Reason: croft.BaseMoved, Message: "main has moved", Details: "a.go", Hint: "croft review fix-login",
		}, nil
	}
	r := newRun(svc)
	r.call(t, "apply", "fix-login", "a.go").want(t, croft.ExitConflict, "fix-login  pending  → main  -\n",
		"fix-login: main has moved\n  a.go\nhint: croft review fix-login\n")
	r.call(t, "apply", "fix-login", "a.go", "--json").wantJSON(t, croft.ExitConflict, `{"version":1,"merges":[{"id":"m1","kind":"apply",
		"workspaceName":"fix-login","target":"main","state":"done","status":"pending","reason":"BASE_MOVED","message":"main has moved",
		"details":"a.go","hint":"croft review fix-login","submittedAt":"2026-01-02T12:00:00Z"}]}`)
}
