package servicetest

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/croft-sh/croft"
)

// commitListScenarios are about the commits of a workspace.
type commitListScenarios struct{}

// commits lists the commits of a workspace or ends the test.
func (f *fixture) commits(req croft.CommitsRequest) croft.Commits {
	f.t.Helper()
	list, err := f.Commits(f.t.Context(), req)
	must(f.t, err)
	return *list
}

// toldCommits returns the titles of commits, with the merge that brought each.
func toldCommits(list []croft.Commit) string {
	var all []string
	for _, c := range list {
		text := c.Title
		if c.Merge != "" {
			text += " (" + string(c.Merge) + " " + string(c.MergeStatus) + ")"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// Own: the list has the commits that were made in the workspace, without those that it began
// with or took from the target, and beside them the uncommitted work.
func (commitListScenarios) Own(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	if l := f.commits(croft.CommitsRequest{Workspace: "a"}); len(l.Items) != 0 || l.Items == nil || l.Uncommitted != nil || l.Head != w.Base {
		t.Errorf("without work: %+v", l)
	}
	first := f.commitIn(w.Path, "one.txt", "1\n2\n")
	tip := f.commitIn(f.Dir, "elsewhere.txt", "the target moves\n")
	f.seeMain(w.Path)
	f.GitIn(w.Path, "merge", "--quiet", "--no-edit", "--message", "take main in", "main")
	f.writeIn(w, "one.txt", "1\n3\n4\n")
	f.GitIn(w.Path, "commit", "--quiet", "--all", "--author", "Ada <ada@example.org>", "--message", "the title\n\nThe body,\nin two lines.\n")
	f.pull(w.Path)
	f.writeIn(w, "README.md", "changed\n")
	f.writeIn(w, "new.txt", "new\n")
	f.writeIn(w, ".env", "PASSWORD=1\n")
	f.GitIn(w.Path, "rm", "--quiet", "src/main.txt")

	l := f.commits(croft.CommitsRequest{Workspace: "a"})
	if toldCommits(l.Items) != "the title, take main in, change one.txt" || l.Total != 3 || l.Unmerged != 3 || l.IsCut || l.Next != "" {
		t.Fatalf("%s of %+v", toldCommits(l.Items), l)
	}
	if l.Workspace != w.ID || l.WorkspaceName != "a" || l.Target != "main" || l.TargetCommit != tip || l.Base != w.Base || l.Head != l.Items[0].Commit {
		t.Errorf("%+v", l)
	}
	c := l.Items[0]
	if c.Message != "The body,\nin two lines." || c.Author != (croft.Author{Name: "Ada", Email: "ada@example.org"}) || c.IsCut ||
		*c.Changes != (croft.Changes{Files: 1, Added: 2, Deleted: 1}) || !slices.Equal(c.Parents, []string{l.Items[1].Commit}) {
		t.Errorf("%+v", c)
	}
	if c.AuthoredAt.IsZero() || c.CommittedAt.Before(l.Items[2].CommittedAt) {
		t.Errorf("its times are %s and %s, after %s", c.AuthoredAt, c.CommittedAt, l.Items[2].CommittedAt)
	}
	if m := l.Items[1]; m.Changes != nil || !slices.Equal(m.Parents, []string{first, tip}) {
		t.Errorf("a merge commit: %+v", m)
	}
	u := l.Uncommitted
	if u == nil || u.Files != 3 || u.NewFiles != 1 || u.DeletedFiles != 1 || u.Added != 2 || strings.Join(u.HeldBack, " ") != ".env" {
		t.Errorf("uncommitted: %+v", u)
	}
	r := f.review("a") // which keeps a commit of the uncommitted work
	if again := f.commits(croft.CommitsRequest{Workspace: "a"}); r.Head == l.Head || toldCommits(again.Items) != toldCommits(l.Items) {
		t.Errorf("after a review: %s", toldCommits(again.Items))
	}
}

// Merged: a commit in the target is listed with the merge that brought it there, by whatever
// strategy, also if that was reverted, and also after the workspace was removed.
func (commitListScenarios) Merged(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.commitIn(w.Path, "one.txt", "1\n")
	one := f.mustMerge(croft.MergeRequest{Workspace: "a", After: croft.AfterKeep, Strategy: croft.StrategySquash})
	if l := f.commits(croft.CommitsRequest{Workspace: "a"}); l.Unmerged != 0 || l.Total != 1 || l.Items[0].Merge != one.ID {
		t.Errorf("after a squash: %+v", l)
	}
	other := f.createWith("b", "other.txt", "of another\n")
	f.mustMerge(croft.MergeRequest{Workspace: other.Name})
	f.commitIn(w.Path, "two.txt", "2\n")
	f.commitIn(w.Path, "three.txt", "3\n")
	two := f.mustMerge(croft.MergeRequest{Workspace: "a", After: croft.AfterKeep})
	f.seeMain(w.Path)
	f.GitIn(w.Path, "merge", "--quiet", "--no-edit", "main")
	f.commitIn(w.Path, "four.txt", "4\n")
	_, err := croft.Revert(t.Context(), f, croft.RevertRequest{Merge: two.ID})
	must(t, err)

	l := f.commits(croft.CommitsRequest{Workspace: "a"})
	brought := func(m croft.Merge, status string) string { return " (" + string(m.ID) + " " + status + ")" }
	want := "change three.txt" + brought(two, "reverted") + ", change two.txt" + brought(two, "reverted") + ", change one.txt" + brought(one, "merged")
	if got := toldCommits(l.Items); got != "change four.txt, "+want && got != "change four.txt, Merge branch 'main' into "+w.Branch+", "+want {
		t.Errorf("%s\nwant %s", got, want)
	}
	last := l.Items[len(l.Items)-1]
	if last.MergeCommit != one.Commit || last.Changes == nil || last.Changes.Added != 1 || l.Unmerged != len(l.Items)-3 {
		t.Errorf("%+v, %d unmerged", last, l.Unmerged)
	}
	f.removed("a")
	gone := f.commits(croft.CommitsRequest{Workspace: croft.ByID(w.ID)})
	if toldCommits(gone.Items) != toldCommits(l.Items) || gone.Left == "" || gone.Head != l.Head {
		t.Errorf("after its removal: %s, %+v", toldCommits(gone.Items), gone)
	}
}

// CommitPages: pages of commits together are the list. A commit that is made meanwhile does not
// disturb the next page, a history that was rewritten does.
func (commitListScenarios) CommitPages(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	for i := range 5 {
		f.commitIn(w.Path, "a.txt", strconv.Itoa(i)+"\n")
	}
	f.writeIn(w, "new.txt", "new\n")
	whole := f.commits(croft.CommitsRequest{Workspace: "a"}).Items
	req := croft.CommitsRequest{Workspace: "a", Page: croft.Page{Limit: 2}}
	var got []string
	for {
		l := f.commits(req)
		if len(l.Items) > 2 || l.Total < 5 || (l.Uncommitted != nil) != (req.After == "") {
			t.Fatalf("a page after %q: %+v", req.After, l)
		}
		for _, c := range l.Items {
			got = append(got, c.Commit)
		}
		if l.Next == "" {
			break
		}
		if req.After == "" {
			f.commitIn(w.Path, "b.txt", "meanwhile\n")
		}
		req.After = l.Next
	}
	var want []string
	for _, c := range whole {
		want = append(want, c.Commit)
	}
	if !slices.Equal(got, want) {
		t.Errorf("pages of %v, want %v", got, want)
	}
	req.After = f.commits(croft.CommitsRequest{Workspace: "a", Page: croft.Page{Limit: 1}}).Next
	f.GitIn(w.Path, "commit", "--quiet", "--amend", "--message", "another")
	f.pull(w.Path)
	wantCode(t, errOf(f.Commits(t.Context(), req)), croft.CursorExpired)
	wantCode(t, errOf(f.Commits(t.Context(), croft.CommitsRequest{Workspace: "a", Page: croft.Page{After: "!"}})), croft.InvalidRequest)
	wantCode(t, errOf(f.Commits(t.Context(), croft.CommitsRequest{Workspace: "a", Page: croft.Page{Limit: -1}})), croft.InvalidRequest)
	wantCode(t, errOf(f.Commits(t.Context(), croft.CommitsRequest{Workspace: "nobody"})), croft.WorktreeNotFound)
	wantCode(t, errOf(f.Commits(t.Context(), croft.CommitsRequest{Workspace: "a", Target: "nowhere"})), croft.TargetNotFound)
}

// HostileCommit: whatever an agent wrote into a commit, the list is answered, bounded and UTF-8.
func (commitListScenarios) HostileCommit(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	head := f.GitIn(w.Path, "rev-parse", "HEAD")
	tree := f.GitIn(w.Path, "rev-parse", "HEAD^{tree}")
	for _, c := range []struct{ author, message string }{
		{"\x1b[31mA \xff\u202e< <a> b> 99999999999999999 +9999", strings.Repeat("é", 400) + "\n\n" + strings.Repeat("\xfe x\n", 3_000)},
		{"", "\x00\n\x1b]0;title\a"},
		{"A <a@b> 253402300800 +0000", ""},
		{"A <a@b> -5 +0000", strings.Repeat("large ", 200_000)},
	} {
		f.WriteFile(path.Join(w.Path, "raw.txt"), "tree "+tree+"\nparent "+head+"\nauthor "+c.author+"\ncommitter "+c.author+"\n\n"+c.message)
		head = f.GitIn(w.Path, "hash-object", "-t", "commit", "-w", "--literally", "raw.txt")
		f.GitIn(w.Path, "reset", "--quiet", "--soft", head)
	}
	f.pull(w.Path)
	l := f.commits(croft.CommitsRequest{Workspace: "a"})
	if len(l.Items) != 4 || l.Items[0].Commit != head {
		t.Fatalf("%+v", l)
	}
	for i, c := range l.Items {
		for _, text := range []string{c.Title, c.Message, c.Author.Name, c.Author.Email} {
			if !utf8.ValidString(text) || len(text) > 3*4_000 {
				t.Errorf("%d: %d bytes %.100q", i, len(text), text)
			}
		}
		if !c.AuthoredAt.IsZero() && c.AuthoredAt.After(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)) {
			t.Errorf("%d is of %s", i, c.AuthoredAt)
		}
	}
	if large, first := l.Items[0], l.Items[3]; !large.IsCut || large.Title != "" || !first.IsCut || first.Title != strings.Repeat("é", 250) {
		t.Errorf("large %+v, first %+v", large, first)
	}
}
