package servicetest

import (
	"reflect"
	"slices"
	"testing"

	"github.com/croft-sh/croft"
)

// diffScenarios are about differences for clients that share no disk with the Service.
type diffScenarios struct{}

// diff shows work or ends the test.
func (f *fixture) diff(req croft.DiffRequest) croft.Review {
	f.t.Helper()
	d, err := f.Diff(f.t.Context(), req)
	must(f.t, err)
	return *d
}

// pages reads all pages of a difference, and returns their files and how many on each.
func (f *fixture) pages(req croft.DiffRequest) (files []croft.ReviewFile, sizes []int) {
	f.t.Helper()
	whole := f.diff(croft.DiffRequest{Workspace: req.Workspace, Review: req.Review, Merge: req.Merge, Paths: req.Paths, Detail: croft.DetailStat})
	for {
		d := f.diff(req)
		if d.Total != whole.Total || len(d.Files) > req.Limit || d.WorkspaceName != whole.WorkspaceName {
			f.t.Fatalf("a page after %d files is %+v, of %+v", len(files), d, whole.Total)
		}
		files, sizes = append(files, d.Files...), append(sizes, len(d.Files))
		if d.Next == "" {
			return files, sizes
		}
		if len(d.Files) == 0 || len(files) > whole.Total.Files {
			f.t.Fatalf("%d files, of %+v, and a further page", len(files), whole.Total)
		}
		req.After = d.Next
	}
}

// withFiles makes a workspace with five changed files.
func (f *fixture) withFiles(name string) croft.Workspace {
	f.t.Helper()
	w := f.createWith(name, "a.txt", "a\n")
	f.writeIn(w, "dir/b.txt", "b\nb\n")
	f.writeIn(w, "dir/c.txt", "c\n")
	f.writeIn(w, "src/main.txt", "one\n2\nthree\nfour\n")
	f.writeIn(w, "z.txt", "z\n")
	return w
}

const fiveFiles = "added a.txt, added dir/b.txt, added dir/c.txt, modified src/main.txt, added z.txt"

// Detail: a difference has as much of each file as was asked for, and the same sums.
func (diffScenarios) Detail(t *testing.T, f *fixture) {
	f.withFiles("a")
	lines := f.diff(croft.DiffRequest{Workspace: "a"})
	if lines.Total != (croft.Changes{Files: 5, Added: 7, Deleted: 1}) || told(lines.Files) != fiveFiles || lines.Next != "" {
		t.Errorf("with lines %+v", lines)
	}
	hunks := f.diff(croft.DiffRequest{Workspace: "a", Detail: croft.DetailHunks})
	stat := f.diff(croft.DiffRequest{Workspace: "a", Detail: croft.DetailStat})
	if hunks.Total != lines.Total || stat.Total != lines.Total || told(stat.Files) != fiveFiles {
		t.Errorf("hunks %+v, stat %+v", hunks, stat)
	}
	for i, file := range lines.Files {
		h := file.Hunks[0]
		h.Text = ""
		if file.Hunks[0].Text == "" || !reflect.DeepEqual(hunks.Files[i].Hunks, []croft.Hunk{h}) {
			t.Errorf("%s: hunks %+v, want %+v", file.Path, hunks.Files[i].Hunks, h)
		}
		file.Hunks = nil
		if !reflect.DeepEqual(stat.Files[i], file) {
			t.Errorf("%s: %+v, want %+v", file.Path, stat.Files[i], file)
		}
	}
	r, err := f.CreateReview(t.Context(), croft.ReviewRequest{Workspace: "a", Detail: croft.DetailStat})
	must(t, err)
	if r.Total != lines.Total || !reflect.DeepEqual(r.Files, stat.Files) {
		t.Errorf("a review without hunks: %+v", r)
	}
}

// Pages: the pages together are the difference, in its order; each has the sums of all.
func (diffScenarios) Pages(t *testing.T, f *fixture) {
	f.withFiles("a")
	r := f.review("a")
	for _, req := range []croft.DiffRequest{{Workspace: "a"}, {Review: r.ID}, {Review: r.ID, Detail: croft.DetailStat}} {
		want := f.diff(req).Files
		req.Limit = 2
		if files, sizes := f.pages(req); !slices.Equal(sizes, []int{2, 2, 1}) || !reflect.DeepEqual(files, want) {
			t.Errorf("%+v: pages of %v: %s", req, sizes, told(files))
		}
		req.Paths = []string{"dir", "z.txt"}
		if files, sizes := f.pages(req); !slices.Equal(sizes, []int{2, 1}) || told(files) != "added dir/b.txt, added dir/c.txt, added z.txt" {
			t.Errorf("%+v: pages of %v: %s", req, sizes, told(files))
		}
	}
}

// PagesOfOneState: no page is of other work than the page before. A review is frozen, and so
// are its pages.
func (diffScenarios) PagesOfOneState(t *testing.T, f *fixture) {
	w := f.withFiles("a")
	r := f.review("a")
	live := croft.DiffRequest{Workspace: "a", Page: croft.Page{Limit: 2}}
	live.After = f.diff(live).Next
	f.commitIn(f.Dir, "elsewhere.txt", "the target moves\n")
	if d := f.diff(live); told(d.Files) != "added dir/c.txt, modified src/main.txt" {
		t.Errorf("after the target moved: %s", told(d.Files))
	}
	others := live
	others.Paths = []string{"."}
	wantCode(t, errOf(f.Diff(t.Context(), others)), croft.CursorExpired)
	f.writeIn(w, "z.txt", "other\n")
	e := wantCode(t, errOf(f.Diff(t.Context(), live)), croft.CursorExpired)
	if e.Workspace != "a" {
		t.Errorf("the error is about %q", e.Workspace)
	}
	f.removeForced("a")
	files, _ := f.pages(croft.DiffRequest{Review: r.ID, Page: croft.Page{Limit: 1}})
	if !reflect.DeepEqual(files, r.Files) {
		t.Errorf("the review is %s, was %s", told(files), told(r.Files))
	}
	wantCode(t, errOf(f.Diff(t.Context(), croft.DiffRequest{Review: r.ID, Page: croft.Page{Limit: 2, After: live.After}})), croft.CursorExpired)
}

// OfReview: the lines of a review are shown as they were frozen, also those that are not
// UTF-8.
func (diffScenarios) OfReview(t *testing.T, f *fixture) {
	w := f.withFiles("a")
	f.writeIn(w, "latin.txt", "caf\xe9\n")
	r := f.review("a")
	f.writeIn(w, "a.txt", "the agent goes on\n")
	f.commitIn(f.Dir, "src/main.txt", "the target, too\n")
	got := f.diff(croft.DiffRequest{Review: r.ID})
	if !reflect.DeepEqual(got.Files, r.Files) || got.ID != r.ID || got.Head != r.Head || got.Base != r.Base || got.TargetCommit != r.TargetCommit || got.Total != r.Total {
		t.Errorf("%+v, was %+v", got, r)
	}
	if h := got.Files[3].Hunks; got.Files[3].Path != "latin.txt" || string(h[0].Raw) != "+caf\xe9\n" {
		t.Errorf("%+v", got.Files[3])
	}
	short, err := f.Review(t.Context(), croft.GetRequest{Ref: croft.Ref(r.ID)})
	must(t, err)
	if hunks := f.diff(croft.DiffRequest{Review: r.ID, Detail: croft.DetailHunks}); short.Total != r.Total || !reflect.DeepEqual(hunks.Files, short.Files) {
		t.Errorf("%+v, by its ID %+v", hunks, short)
	}
}

// OfMerge: what a merge would bring is shown before, and what it brought afterwards,
// whatever else the target has.
func (diffScenarios) OfMerge(t *testing.T, f *fixture) {
	for i, strategy := range []croft.Strategy{croft.StrategyNoFF, croft.StrategySquash} {
		name := string(rune('a' + i))
		w := f.createWith(name, name+".txt", "work\n")
		f.commitIn(w.Path, "more-"+name+".txt", "more\n")
		want := "added " + name + ".txt, added more-" + name + ".txt"
		waiting, err := f.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: name, Strategy: strategy})
		must(t, err)
		tip := f.commitIn(f.Dir, "beside-"+name+".txt", "beside\n")
		d := f.diff(croft.DiffRequest{Merge: waiting.ID})
		if told(d.Files) != want || d.Merge != waiting.ID || d.ID != "" || d.Head != waiting.Head || d.TargetCommit != tip || d.WorkspaceName != name || d.Files[0].Hunks[0].Text != "+work\n" {
			t.Errorf("%s, before: %+v", strategy, d)
		}
		m, err := f.WaitMerge(t.Context(), croft.WaitRequest{Merge: waiting.ID})
		must(t, err)
		f.commitIn(f.Dir, name+".txt", "later\n")
		d = f.diff(croft.DiffRequest{Merge: m.ID, Repo: "/"})
		if told(d.Files) != want || d.Head != m.Commit || d.Base != tip || d.TargetCommit != tip || d.Files[0].Hunks[0].Text != "+work\n" {
			t.Errorf("%s, afterwards: %+v", strategy, d)
		}
		if files, sizes := f.pages(croft.DiffRequest{Merge: m.ID, Page: croft.Page{Limit: 1}}); len(sizes) != 2 || told(files) != want {
			t.Errorf("%s: pages of %v: %s", strategy, sizes, told(files))
		}
	}
}

// Refused: what cannot be shown has a code.
func (diffScenarios) Refused(t *testing.T, f *fixture) {
	f.createWith("a", "a.txt", "a\n")
	r := f.review("a")
	for want, reqs := range map[croft.Code][]croft.DiffRequest{
		croft.InvalidRequest: {
			{Workspace: "a", Review: r.ID},
			{Review: r.ID, Target: "main"},
			{Workspace: "a", Detail: "lots"},
			{Workspace: "a", Page: croft.Page{Limit: -1}},
			{Workspace: "a", Page: croft.Page{After: "x"}},
		},
		croft.ReviewNotFound:   {{Review: croft.ID(noSuchID)}},
		croft.MergeNotFound:    {{Merge: croft.ID(noSuchID)}},
		croft.WorktreeNotFound: {{Workspace: "nobody"}},
	} {
		for _, req := range reqs {
			wantCode(t, errOf(f.Diff(t.Context(), req)), want)
		}
	}
}
