package servicetest

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
)

// toldScenarios are about what events tell beyond the records of workspaces and merges.
type toldScenarios struct{}

// Finished: the end of an agent is told once per call, before the merge that it leads to, with
// the commit and the files that are left.
func (toldScenarios) Finished(t *testing.T, f *fixture) {
	for _, tt := range []struct {
		name string
		req  croft.FinishRequest
		want []string
	}{
		{"merged", croft.FinishRequest{Policy: croft.MergeAlways}, []string{croft.EventWorkspaceFinished, croft.EventMergeQueued}},
		{"kept", croft.FinishRequest{Policy: croft.MergeNever}, []string{croft.EventWorkspaceFinished, croft.EventMergePending}},
		{"killed", croft.FinishRequest{Policy: croft.MergeAlways, Outcome: croft.Killed}, []string{croft.EventWorkspaceFinished, croft.EventMergePending}},
		{"empty", croft.FinishRequest{Policy: croft.MergeAlways}, []string{croft.EventWorkspaceFinished, croft.EventMergeChanged}},
	} {
		w := f.create(croft.CreateRequest{Name: tt.name})
		if tt.name != "empty" {
			f.writeIn(w, tt.name+".txt", "x\n")
		}
		if tt.name == "kept" {
			f.writeIn(w, ".env", "SECRET=1\n") // is not committed
		}
		from := f.cursor()
		tt.req.Workspace, tt.req.Key = tt.name, "end "+tt.name
		m, err := f.Finish(t.Context(), tt.req)
		must(t, err)
		must(t, errOf(f.at(f.Dir).Finish(t.Context(), tt.req)))
		list := events(t, f, croft.EventsRequest{After: from})
		if !slices.Equal(kinds(list), tt.want) {
			t.Errorf("%s: events %v, want %v", tt.name, kinds(list), tt.want)
			continue
		}
		told, now := list[0], list[0].After.Workspace
		if told.Workspace != w.ID || now.Finished == nil || now.Finished.Head != m.Head || told.Actor == "" || told.Operation == "" || list[1].Merge != m.ID {
			t.Errorf("%s: %+v, then %+v", tt.name, told, list[1])
		}
		if now.Head != m.Head || !now.Work.Has(croft.AspectFiles) || now.Work.Uncommitted != len(m.HeldBack) || (len(m.HeldBack) == 1) != (tt.name == "kept") {
			t.Errorf("%s: at %s with %+v; the merge is %+v", tt.name, now.Head, now.Work, m)
		}
	}
	f.writeIn(f.create(croft.CreateRequest{Name: "merge"}), "merge.txt", "x\n")
	from := f.cursor()
	f.mustMerge(croft.MergeRequest{Workspace: "merge"})
	if slices.Contains(kinds(events(t, f, croft.EventsRequest{After: from})), croft.EventWorkspaceFinished) {
		t.Error("a merge says that an agent has ended")
	}
}

// cursor returns the place of the last event.
func (f *fixture) cursor() croft.Cursor {
	f.t.Helper()
	list, err := f.Workspaces(f.t.Context(), croft.WorkspacesRequest{})
	must(f.t, err)
	return list.Cursor
}

// Approvals: what a person allows is told once per key, with the person and what was allowed.
func (toldScenarios) Approvals(t *testing.T, f *fixture) {
	f.landed("a")
	tip := f.commitIn(f.Dir, "croft.toml", "[merge]\nchecks = [\"true\"]\n")
	f.Git("config", "user.name", "Secret Name")
	plan, err := f.Checks(t.Context(), croft.ChecksRequest{Target: "main"})
	must(t, err)
	config, err := f.GitConfig(t.Context(), croft.GitConfigRequest{})
	must(t, err)
	from := f.cursor()
	for range 2 {
		must(t, errOf(f.Approve(ada(t.Context()), croft.ApproveRequest{Key: "k", Target: "main", Hash: plan.Hash})))
		must(t, errOf(f.AcceptTarget(ada(t.Context()), croft.AcceptRequest{Key: "k", Target: "main"})))
		must(t, errOf(f.AcceptGitConfig(ada(t.Context()), croft.AcceptGitConfigRequest{Key: "k", Hash: config.Hash})))
	}
	if plan, err = f.Checks(t.Context(), croft.ChecksRequest{Target: "main"}); err != nil || plan.ApprovedBy != "ada" || plan.ApprovedAt.IsZero() {
		t.Errorf("the checks are %+v, %v", plan, err)
	}
	defer f.withdrawn(plan)
	want := []croft.Approval{
		{Kind: croft.ApprovalChecks, Target: "main", Commit: tip, Hash: plan.Hash, Checks: []string{"true"}},
		{Kind: croft.ApprovalTarget, Target: "main", Commit: tip},
		{Kind: croft.ApprovalGitConfig, Hash: config.Hash, Keys: []string{"user.name"}},
	}
	list := events(t, f, croft.EventsRequest{After: from, Kinds: []string{croft.EventApprovalGiven}})
	if len(list) != len(want) {
		t.Fatalf("%d approvals were told, want %d", len(list), len(want))
	}
	for i, e := range list {
		if !cmp.Equal(*e.After.Approval, want[i]) || e.Actor != "ada" || e.Target != want[i].Target || e.Repo == "" || e.Time.IsZero() {
			t.Errorf("%+v with %+v, want %+v", e, e.After.Approval, want[i])
		}
		op, err := f.Operation(t.Context(), croft.GetRequest{Ref: string(e.Operation)})
		if err != nil || op.Actor != "ada" {
			t.Errorf("%s is a part of %+v, %v", e.After.Approval.Kind, op, err)
		}
	}
}

// withdrawn: what a person allowed, and does not allow any more, is told once, with the person.
func (f *fixture) withdrawn(plan *croft.CheckPlan) {
	t := f.t
	t.Helper()
	from := f.cursor()
	req := croft.ApproveRequest{Target: "main", Hash: plan.Hash, Mode: croft.ApproveWithdraw}
	for _, key := range []string{"w", "w", "x"} { // the last finds nothing to withdraw
		req.Key = key
		if got, err := f.Approve(ada(t.Context()), req); err != nil || got.IsApproved || got.ApprovedBy != "" {
			t.Errorf("withdrawn: %+v, %v", got, err)
		}
	}
	if now, err := f.Checks(t.Context(), croft.ChecksRequest{Target: "main"}); err != nil || now.IsApproved {
		t.Errorf("the checks are %+v, %v", now, err)
	}
	list := events(t, f, croft.EventsRequest{After: from, Kinds: []string{croft.EventApprovalWithdrawn}})
	if len(list) != 1 || list[0].Actor != "ada" || list[0].After.Approval.Hash != plan.Hash || list[0].Operation == "" {
		t.Errorf("told: %+v", list)
	}
	req.Mode, req.Key = "take", ""
	wantCode(t, errOf(f.Approve(t.Context(), req)), croft.InvalidRequest)
}

// Progress: an act that takes long tells how far it has come, not too often, and that it is
// over. Events of it change nothing in lists.
func (toldScenarios) Progress(t *testing.T, f *fixture) {
	f.Git("config", "--global", "filter.lfs.smudge", "sleep 1.6 && cat")
	f.Git("config", "--global", "filter.lfs.clean", "cat")
	f.Write(".gitattributes", "*.slow filter=lfs\n")
	f.Write("a.slow", "slow\n")
	f.Commit("a file that takes long")
	from := f.cursor()
	made := f.createAll(croft.CreateRequest{Name: "a"}, croft.CreateRequest{Name: "b"})
	list := events(t, f, croft.EventsRequest{After: from, Kinds: []string{croft.EventOperationProgressed}})
	if len(list) < 2 {
		t.Fatalf("%d events of progress", len(list))
	}
	op := f.last("create", "done")
	for i, e := range list {
		p := e.After.Progress
		if p.Operation != op.ID || e.Operation != op.ID || e.Repo != made[0].RepoID || e.Actor == "" || p.Kind != "create" || p.Unit != "workspaces" || p.Total != 2 || p.IsOver != (i == len(list)-1) {
			t.Errorf("%+v of %+v", p, e)
		}
		if i > 0 && i < len(list)-1 && e.Time.Sub(list[i-1].Time) < 200*time.Millisecond {
			t.Errorf("told again after %v", e.Time.Sub(list[i-1].Time))
		}
	}
	if last := list[len(list)-1].After.Progress; last.Done != 2 {
		t.Errorf("at the end %+v", last)
	}
}
