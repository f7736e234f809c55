package servicetest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

type resolveScenarios struct{}

// The files of a workspace that conflict with main: text, text with markers of another
// length, a binary file, and one that was deleted on either side.
const (
	conflictText   = "text.txt"
	conflictWide   = "wide.txt"
	conflictBinary = "binary"
	conflictMine   = "deleted-there"
	conflictTheirs = "deleted-here"
)

var allConflicts = []string{conflictBinary, conflictTheirs, conflictMine, conflictText, conflictWide}

// inConflict makes a workspace into which main was merged, with conflicts in these files.
func inConflict(t *testing.T, f *fixture) croft.Workspace {
	t.Helper()
	f.Write(".gitattributes", "wide.txt conflict-marker-size=20\n")
	for _, name := range allConflicts {
		f.Write(name, "base\x00\n")
	}
	f.Write(conflictText, "base\n")
	f.Write(conflictWide, "base\n")
	f.Commit("base")
	w := f.create(croft.CreateRequest{Name: "a"})
	for _, name := range []string{conflictText, conflictWide} {
		f.writeIn(w, name, "here\n")
		f.Write(name, "there\n")
	}
	f.writeIn(w, conflictBinary, "here\x00\n")
	f.Write(conflictBinary, "there\x00\n")
	f.writeIn(w, conflictMine, "here\x00\n")
	f.Write(conflictTheirs, "there\x00\n")
	for _, file := range []string{filepath.Join(f.Dir, conflictMine), filepath.Join(w.Path, conflictTheirs)} {
		f.Delete(file)
	}
	f.Commit("there")
	res, err := f.Resolve(t.Context(), croft.MergeRequest{Workspace: "a"})
	must(t, err)
	var names []string
	for _, c := range res.Conflicts {
		names = append(names, c.Path)
	}
	if got := strings.Join(names, " "); got != strings.Join(allConflicts, " ") {
		t.Fatalf("in conflict: %s", got)
	}
	return w
}

// stillIn expects that every call which commits the work reports these files as in
// conflict.
func (f *fixture) stillIn(want ...string) {
	f.t.Helper()
	f.notMergeable(want...)
	_, err := f.Finish(f.t.Context(), croft.FinishRequest{Workspace: "a"})
	wantCode(f.t, err, croft.InProgress)
}

// notMergeable expects that a merge reports these files as in conflict.
func (f *fixture) notMergeable(want ...string) {
	f.t.Helper()
	before := f.Git("rev-parse", "main")
	err := errOf(f.SubmitMerge(f.t.Context(), croft.MergeRequest{Workspace: "a"}))
	wantCode(f.t, err, croft.InProgress)
	var names []string
	for line := range strings.Lines(croft.AsError("merge", err).Details) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		names = append(names, name)
	}
	if got := strings.Join(names, " "); got != strings.Join(want, " ") {
		f.t.Errorf("still in conflict: %s, want %q", got, want)
	}
	f.WantAt("main", before)
}

// Written: who says that the work is done, by Finish or Save, need not stage what is resolved, because an agent in a
// sandbox cannot: what was written or deleted since, and has no markers, is resolved.
func (resolveScenarios) Written(t *testing.T, f *fixture) {
	w := inConflict(t, f)
	for _, name := range []string{conflictText, conflictWide, conflictBinary} {
		f.writeIn(w, name, "both\n")
	}
	f.writeIn(w, conflictText, "<<<<<<< half\n")
	for _, name := range []string{conflictMine, conflictTheirs} {
		f.Delete(filepath.Join(w.Path, name))
	}
	wantCode(t, errOf(f.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a"})), croft.InProgress)
	m, err := f.Finish(t.Context(), croft.FinishRequest{Workspace: "a", Policy: croft.MergeAlways})
	must(t, err)
	m, err = f.WaitMerge(t.Context(), croft.WaitRequest{Merge: m.ID})
	must(t, err)
	if m.Status != croft.MergeMerged {
		t.Fatalf("%+v", m)
	}
	f.WantContent(m.Commit+":"+conflictWide, "both")
	f.WantContent(m.Commit+":"+conflictBinary, "both")
	if got := f.Git("ls-tree", "--name-only", m.Commit, conflictMine, conflictTheirs); got != "" {
		t.Errorf("landed: %s", got)
	}
}

// Unmerged: a file with several stages in the index is not resolved for a merge, whatever it contains.
func (resolveScenarios) Unmerged(t *testing.T, f *fixture) {
	w := inConflict(t, f)
	f.stillIn(allConflicts...)
	for _, name := range allConflicts {
		f.writeIn(w, name, "both\n")
	}
	f.notMergeable(allConflicts...)
	f.GitIn(w.Path, "add", conflictText, conflictWide, conflictBinary)
	f.notMergeable(conflictTheirs, conflictMine)
	f.GitIn(w.Path, "rm", "--quiet", conflictTheirs, conflictMine)
	m := f.mustMerge(croft.MergeRequest{Workspace: "a"})
	f.WantContent(m.Commit+":"+conflictWide, "both")
}

// CommittedUnresolved: the same, if the agent has committed them.
func (resolveScenarios) CommittedUnresolved(t *testing.T, f *fixture) {
	w := inConflict(t, f)
	f.GitIn(w.Path, "commit", "--quiet", "--all", "--no-edit")
	f.stillIn(allConflicts...)
	for _, name := range allConflicts {
		f.writeIn(w, name, "both\n")
	}
	f.mustMerge(croft.MergeRequest{Workspace: "a"})
}

// ASideIsChosen: git checkout --ours or --theirs resolves a file.
func (resolveScenarios) ASideIsChosen(t *testing.T, f *fixture) {
	w := inConflict(t, f)
	f.GitIn(w.Path, "checkout", "--quiet", "--ours", conflictBinary, conflictMine, conflictText)
	f.GitIn(w.Path, "checkout", "--quiet", "--theirs", conflictWide, conflictTheirs)
	f.GitIn(w.Path, "add", "--all")
	m := f.mustMerge(croft.MergeRequest{Workspace: "a"})
	if got := f.Git("show", m.Commit+":"+conflictWide) + f.Git("show", m.Commit+":"+conflictText); got != "therehere" {
		t.Errorf("landed: %q", got)
	}
}

// GivenUp: a merge that was aborted leaves no conflict.
func (resolveScenarios) GivenUp(t *testing.T, f *fixture) {
	w := inConflict(t, f)
	f.GitIn(w.Path, "merge", "--abort")
	f.writeIn(w, "more.txt", "more\n")
	if m, err := f.Finish(t.Context(), croft.FinishRequest{Workspace: "a"}); err != nil || m.Status != croft.MergePending {
		t.Errorf("%+v, %v", m, err)
	}
}

// MarkersOfTheirOwn: lines that look like markers and belong to the text do not count as a
// conflict.
func (resolveScenarios) MarkersOfTheirOwn(t *testing.T, f *fixture) {
	const doc = "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> main\n"
	f.commitIn(f.Dir, "doc.md", doc)
	w := f.createWith("a", "doc.md", doc+"here\n")
	f.commitIn(f.Dir, "doc.md", doc+"there\n")
	if res, err := f.Resolve(t.Context(), croft.MergeRequest{Workspace: "a"}); err != nil || len(res.Conflicts) != 1 {
		t.Fatalf("%+v, %v", res, err)
	}
	f.writeIn(w, "doc.md", doc+"both\n")
	f.GitIn(w.Path, "add", "doc.md")
	f.mustMerge(croft.MergeRequest{Workspace: "a"})
}
