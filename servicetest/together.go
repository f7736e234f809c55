package servicetest

import (
	"context"
	"slices"
	"testing"

	"github.com/croft-sh/croft"
)

func submitMerges(svc croft.Service) func(context.Context, croft.SubmitMergesRequest) (*croft.SubmitResult, error) {
	return svc.SubmitMerges
}

// Together: the work of several workspaces is submitted by one call and lands in the order of the
// request. One that cannot be submitted says so, and stops no other; if one does not exist, nothing
// is committed.
func (mergeScenarios) Together(t *testing.T, f *fixture) {
	names := []string{"d", "c", "b", "a"}
	for _, name := range names {
		f.createWith(name, name+".txt", name+"\n")
	}
	held := f.createWith("locked", "README.md", "theirs\n")
	f.GitIn(held.Path, "commit", "--quiet", "--all", "--message", "theirs")
	f.GitIn(held.Path, "switch", "--quiet", "--create", "elsewhere")
	_, err := f.SubmitMerges(t.Context(), croft.SubmitMergesRequest{Workspaces: append(slices.Clone(names), "nothing")})
	wantCode(t, err, croft.WorktreeNotFound)
	_, err = f.SubmitMerges(t.Context(), croft.SubmitMergesRequest{})
	wantCode(t, err, croft.InvalidRequest)
	if list, err := f.Merges(t.Context(), croft.MergesRequest{}); err != nil || len(list.Items) != 0 {
		t.Fatalf("queued: %+v, %v", list, err)
	}
	res, err := f.SubmitMerges(t.Context(), croft.SubmitMergesRequest{Workspaces: []croft.Ref{"d", "locked", "c", "b", "c", "a"}, After: croft.AfterKeep})
	must(t, err)
	var got []string
	for _, m := range res.Merges {
		got = append(got, m.WorkspaceName)
		switch {
		case m.WorkspaceName == "locked":
			if m.Reason != croft.WrongBranch || m.State != croft.MergeDone || m.Status != croft.MergePending || m.ID != "" || m.Workspace != held.ID {
				t.Errorf("%+v", m)
			}
		case m.State != croft.MergeQueued || m.Reason != "" || m.ID == "":
			t.Errorf("%+v", m)
		}
	}
	if want := []string{"d", "locked", "c", "b", "a"}; !slices.Equal(got, want) {
		t.Errorf("merges of %q, want %q", got, want)
	}
	done, err := f.DriveLanes(t.Context(), croft.DriveRequest{})
	must(t, err)
	var landed []string
	for _, m := range done.Merges {
		if m.Status == croft.MergeMerged {
			landed = append(landed, m.WorkspaceName)
		}
	}
	if !slices.Equal(landed, names) {
		t.Errorf("landed %q, want %q", landed, names)
	}
}

// SubmitMerges: repeated with its key, it submits nothing again, also once the work has landed and
// the workspaces are gone.
func (keyScenarios) SubmitMerges(t *testing.T, f *fixture) {
	f.createWith("a", "a.txt", "a\n")
	f.createWith("b", "b.txt", "b\n")
	req := croft.SubmitMergesRequest{Key: "k", Workspaces: []croft.Ref{"a", "b"}}
	first := once(t, f, submitMerges, req)
	done, err := f.DriveLanes(t.Context(), croft.DriveRequest{})
	if err != nil || len(done.Merges) != 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	again(t, f, submitMerges, req, first)
	wantCode(t, errOf(f.SubmitMerges(t.Context(), croft.SubmitMergesRequest{Key: "k", Workspaces: []croft.Ref{"a"}})), croft.KeyConflict)
	all, err := f.Merges(t.Context(), croft.MergesRequest{Scope: croft.ScopeAll})
	if err != nil || len(all.Items) != 2 {
		t.Errorf("%+v, %v", all, err)
	}
}
