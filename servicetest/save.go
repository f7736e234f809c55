package servicetest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

type saveScenarios struct{}

// Everything: what an agent edited, added and deleted is committed to the branch of its
// workspace, which stays, and no other branch moves. Secrets and large files are named.
func (saveScenarios) Everything(t *testing.T, f *fixture) {
	w := f.createWith("a", "new/file.txt", "new\n")
	f.writeIn(w, "src/main.txt", "edited\n")
	f.GitIn(w.Path, "rm", "--quiet", "README.md")
	f.writeIn(w, ".env", "TOKEN=1\n")
	f.writeIn(w, "big.bin", strings.Repeat("x", 6<<20))
	main, before := f.Git("rev-parse", "main"), f.GitIn(w.Path, "rev-parse", "HEAD")
	saved, err := f.Save(t.Context(), croft.SaveRequest{Workspace: "a", Message: "half of it"})
	must(t, err)
	if saved.Files != 3 || strings.Join(saved.HeldBack, " ") != ".env big.bin" || saved.Workspace != w.ID || saved.Branch != w.Branch {
		t.Errorf("%+v", saved)
	}
	if head := f.GitIn(w.Path, "rev-parse", "HEAD"); head != saved.Commit || f.GitIn(w.Path, "rev-parse", "HEAD^") != before {
		t.Errorf("the workspace is at %s, %+v", head, saved)
	}
	if got := f.GitIn(w.Path, "log", "-1", "--format=%B"); !strings.HasPrefix(got, "half of it\n") || !strings.Contains(got, "Croft-Workspace: "+string(w.ID)) {
		t.Errorf("message %q", got)
	}
	if got := f.GitIn(w.Path, "ls-tree", "-r", "--name-only", "HEAD"); got != "new/file.txt\nsrc/main.txt" {
		t.Errorf("committed: %s", got)
	}
	if got := f.GitIn(w.Path, "status", "--porcelain"); got != "?? .env\n?? big.bin" {
		t.Errorf("left: %s", got)
	}
	if f.Git("rev-parse", "main") != main || f.show("a").State != croft.Ready {
		t.Error("the target moved, or the workspace went")
	}
	list, err := f.History(t.Context(), croft.HistoryRequest{})
	if err != nil || list.Items[0].Kind != "save" || list.Items[0].Workspace != w.ID {
		t.Errorf("history %+v, %v", list, err)
	}
}

// Nothing: without uncommitted work it succeeds, and makes no commit.
func (saveScenarios) Nothing(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.writeIn(w, ".env", "TOKEN=1\n")
	before := f.Trace()
	saved, err := f.Save(t.Context(), croft.SaveRequest{Workspace: "a", Message: "m"})
	if err != nil || saved.Commit != "" || saved.Files != 0 || len(saved.HeldBack) != 1 {
		t.Errorf("%+v, %v", saved, err)
	}
	if f.Trace() != before {
		t.Error("something was changed")
	}
}

// Paths: only these are committed; what is outside of the workspace is refused, and so is a
// choice beside which other files are staged.
func (saveScenarios) Paths(t *testing.T, f *fixture) {
	w := f.createWith("a", "one.txt", "1\n")
	f.writeIn(w, "dir/two.txt", "2\n")
	f.writeIn(w, "dirt.txt", "3\n")
	for _, bad := range []string{"../a", "dir/../../x", "/etc/passwd", "", "a\x00b", w.Path} {
		err := errOf(f.Save(t.Context(), croft.SaveRequest{Workspace: "a", Message: "m", Paths: []string{"one.txt", bad}}))
		wantCode(t, err, croft.InvalidRequest)
	}
	saved, err := f.Save(t.Context(), croft.SaveRequest{Workspace: "a", Message: "m", Paths: []string{"dir/", "./absent"}})
	if err != nil || saved.Files != 1 {
		t.Errorf("%+v, %v", saved, err)
	}
	if got := f.GitIn(w.Path, "status", "--porcelain"); got != "?? dirt.txt\n?? one.txt" {
		t.Errorf("left: %s", got)
	}
	f.GitIn(w.Path, "add", "one.txt")
	wantCode(t, errOf(f.Save(t.Context(), croft.SaveRequest{Workspace: "a", Message: "m", Paths: []string{"dirt.txt"}})), croft.InProgress)
	if saved, err = f.Save(t.Context(), croft.SaveRequest{Workspace: "a", Message: "m", Paths: []string{"."}}); err != nil || saved.Files != 2 {
		t.Errorf("%+v, %v", saved, err)
	}
}

// Refused: nothing is committed in the middle of a rebase, on another branch, with a message
// that no commit can have, or in a workspace that is not there.
func (saveScenarios) Refused(t *testing.T, f *fixture) {
	w := f.createWith("a", "one.txt", "1\n")
	wantCode(t, errOf(f.Save(t.Context(), croft.SaveRequest{Workspace: "nobody", Message: "m"})), croft.WorktreeNotFound)
	wantCode(t, errOf(f.Save(t.Context(), croft.SaveRequest{Workspace: "a", Message: "a\x00b"})), croft.InvalidRequest)
	f.GitIn(w.Path, "switch", "--quiet", "--detach")
	before := f.GitIn(w.Path, "rev-parse", "HEAD")
	if err := errOf(f.Save(t.Context(), croft.SaveRequest{Workspace: "a", Message: "m"})); err == nil {
		t.Error("committed on no branch")
	}
	if f.GitIn(w.Path, "rev-parse", "HEAD") != before || f.GitIn(w.Path, "status", "--porcelain") != "?? one.txt" {
		t.Error("a refused call committed something")
	}
}

func save(svc croft.Service) func(context.Context, croft.SaveRequest) (*croft.Saved, error) {
	return svc.Save
}

// Save: repeated with its key, it returns the first commit, and commits nothing more.
func (keyScenarios) Save(t *testing.T, f *fixture) {
	w := f.createWith("a", "a.txt", "one\n")
	req := croft.SaveRequest{Key: "k", Workspace: "a", Message: "m"}
	first := once(t, f, save, req)
	f.writeIn(w, "b.txt", "two\n")
	again(t, f, save, req, first)
	if got := f.GitIn(w.Path, "status", "--porcelain"); got != "?? b.txt" {
		t.Errorf("left: %s", got)
	}
	wantCode(t, errOf(f.Save(t.Context(), croft.SaveRequest{Key: "k", Workspace: "a", Message: "other"})), croft.KeyConflict)
}

// SaveAtOnce: several calls with one key make one commit.
func (keyScenarios) SaveAtOnce(t *testing.T, f *fixture) {
	w := f.createWith("a", "a.txt", "one\n")
	all := atOnce(t, f, save, croft.SaveRequest{Key: "k", Workspace: "a", Message: "m"})
	head := f.GitIn(w.Path, "rev-parse", "HEAD")
	if slices.ContainsFunc(all, func(s *croft.Saved) bool { return s.Commit != head }) {
		t.Errorf("%+v, the workspace is at %s", all, head)
	}
}
