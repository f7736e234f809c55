package servicetest

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
)

func cleanUp(svc croft.Service) func(context.Context, croft.CleanRequest) (*croft.CleanResult, error) {
	return svc.Clean
}

// Clean: repeated with its key, it removes neither what was finished since, nor what was
// restored since.
func (keyScenarios) Clean(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	req := croft.CleanRequest{Key: "k", All: croft.ScopeAll}
	first := once(t, f, cleanUp, req)
	if len(first.Removed) != 1 || first.Removed[0].Name != "a" {
		t.Fatalf("cleaned %+v", first)
	}
	must(t, errOf(f.Restore(t.Context(), croft.RestoreRequest{Ref: "a"})))
	f.create(croft.CreateRequest{Name: "b"})
	again(t, f, cleanUp, req, first)
	f.wantNames("a", "b")
	if plan, err := f.Clean(t.Context(), croft.CleanRequest{Key: "k", All: croft.ScopeAll, DryRun: croft.DryRunOn}); err != nil || len(plan.Removed) != 2 {
		t.Errorf("a dry run ignores the key: %+v, %v", plan, err)
	}
	wantCode(t, errOf(f.Clean(t.Context(), croft.CleanRequest{Key: "k"})), croft.KeyConflict)
	f.wantNames("a", "b")
}

// CleanOfKept: what was kept is tried again, and nothing else is.
func (keyScenarios) CleanOfKept(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	lock(t, f, "a", "mine")
	req := croft.CleanRequest{Key: "k", All: croft.ScopeAll}
	first, err := f.Clean(t.Context(), req)
	if err != nil || len(first.Kept) != 1 || len(first.Removed) != 0 {
		t.Fatalf("cleaned %+v, %v", first, err)
	}
	must(t, errOf(f.Unlock(t.Context(), croft.LockRequest{Workspace: "a"})))
	f.create(croft.CreateRequest{Name: "b"})
	if res := once(t, f, cleanUp, req); len(res.Kept) != 0 || len(res.Removed) != 1 || res.Removed[0].Name != "a" {
		t.Errorf("repeated: %+v", res)
	}
	f.wantNames("b")
}

func reapOnce(svc croft.Service) func(context.Context, croft.ReapRequest) (*croft.CleanResult, error) {
	return svc.Reap
}

// Reap: repeated with its key, it removes nothing that grew old since.
func (keyScenarios) Reap(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	req := croft.ReapRequest{Key: "k", OlderThan: 1, Mode: croft.RemoveForce}
	first := once(t, f, reapOnce, req)
	if len(first.Removed) != 1 {
		t.Fatalf("reaped %+v", first)
	}
	f.create(croft.CreateRequest{Name: "b"})
	again(t, f, reapOnce, req, first)
	f.wantNames("b")
}

func collect(svc croft.Service) func(context.Context, croft.GCRequest) (*croft.GCResult, error) {
	return svc.GC
}

// GC: repeated with its key, it deletes no trash.
func (keyScenarios) GC(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	f.removed("a")
	f.Service = f.with("trash.max_bytes", "0")
	first := once(t, f, collect, croft.GCRequest{Key: "k"})
	if len(first.Purged) != 1 {
		t.Fatalf("collected %+v", first)
	}
	f.create(croft.CreateRequest{Name: "b"})
	f.removed("b")
	if got, err := f.GC(t.Context(), croft.GCRequest{Key: "k"}); err != nil || len(got.Purged) != 1 || got.Purged[0] != first.Purged[0] {
		t.Errorf("repeated: %+v, %v", got, err)
	}
	if list, err := f.Trash(t.Context(), croft.TrashRequest{}); err != nil || len(list.Items) != 1 {
		t.Errorf("the trash has %+v, %v", list, err)
	}
}

func examine(svc croft.Service) func(context.Context, croft.DoctorRequest) (*croft.DoctorResult, error) {
	return svc.Doctor
}

// Doctor: repeated with its key, it mends nothing that broke since.
func (keyScenarios) Doctor(t *testing.T, f *fixture) {
	f.Git("config", "core.bare", "true")
	req := croft.DoctorRequest{Key: "k", Fix: croft.FixAll}
	first := once(t, f, examine, req)
	if len(first.Findings) == 0 || !first.Findings[0].Fixed {
		t.Fatalf("mended %+v", first)
	}
	f.Git("config", "--replace-all", "core.bare", "true")
	again(t, f, examine, req, first)
	if now, err := f.Doctor(t.Context(), croft.DoctorRequest{}); err != nil || len(now.Findings) != len(first.Findings) {
		t.Errorf("found %+v, %v", now, err)
	}
}

func uninstall(svc croft.Service) func(context.Context, croft.UninstallRequest) (*croft.UninstallResult, error) {
	return svc.Uninstall
}

// Uninstall: repeated with its key, it leaves a repository alone that Croft was used in
// again.
func (keyScenarios) Uninstall(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a", Mode: croft.ModeWorktree})
	req := croft.UninstallRequest{Key: "k", Repo: f.Dir}
	first := once(t, f, uninstall, req)
	f.create(croft.CreateRequest{Name: "b", Mode: croft.ModeWorktree})
	again(t, f, uninstall, req, first)
	f.wantNames("b")
	wantCode(t, errOf(f.Uninstall(t.Context(), croft.UninstallRequest{Key: "k", Repo: f.Dir, Gone: croft.GoneForGood})), croft.KeyConflict)
}

func archive(svc croft.Service) func(context.Context, croft.ArchiveRequest) (*croft.Archive, error) {
	return svc.ArchiveScratch
}

// ArchiveScratch: repeated with its key, it keeps what it has archived first.
func (keyScenarios) ArchiveScratch(t *testing.T, f *fixture) {
	ses := f.session(croft.SessionRequest{})
	w := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID), Agents: []string{"x"}}).Workspaces[0]
	notes := filepath.Join(w.Path, f.prompt(string(w.ID)).Scratch, "notes.txt")
	f.WriteFile(notes, "one\n")
	req := croft.ArchiveRequest{Key: "k", Workspace: string(w.ID)}
	first := once(t, f, archive, req)
	f.WriteFile(notes, "two\n")
	again(t, f, archive, req, first)
	if len(first.Paths) == 0 {
		t.Fatalf("archived %+v", first)
	}
	if b, err := f.Host.Read(filepath.Join(first.Paths[0], "notes.txt")); err != nil || b != "one\n" {
		t.Errorf("the archive has %q, %v", b, err)
	}
}

func acceptConfig(svc croft.Service) func(context.Context, croft.AcceptGitConfigRequest) (*croft.GitConfig, error) {
	return svc.AcceptGitConfig
}

// AcceptGitConfig: repeated with its key, it accepts nothing that was written since.
func (keyScenarios) AcceptGitConfig(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	f.Git("config", "user.name", "One")
	now, err := f.GitConfig(t.Context(), croft.GitConfigRequest{})
	must(t, err)
	req := croft.AcceptGitConfigRequest{Key: "k", Hash: now.Hash}
	first := once(t, f, acceptConfig, req)
	f.Git("config", "user.name", "Two")
	again(t, f, acceptConfig, req, first)
	if now, err = f.GitConfig(t.Context(), croft.GitConfigRequest{}); err != nil || now.Hash == "" {
		t.Errorf("the configuration is %+v, %v", now, err)
	}
	wantCode(t, errOf(f.AcceptGitConfig(t.Context(), croft.AcceptGitConfigRequest{Key: "k", Hash: now.Hash})), croft.KeyConflict)
}

func approve(svc croft.Service) func(context.Context, croft.ApproveRequest) (*croft.CheckPlan, error) {
	return svc.Approve
}

// Approve: repeated with its key, it returns what was approved, and refuses other checks.
func (keyScenarios) Approve(t *testing.T, f *fixture) {
	write := func(command string) *croft.CheckPlan {
		f.commitIn(f.Dir, "croft.toml", "[merge]\nchecks = [\""+command+"\"]\n")
		plan, err := f.Checks(t.Context(), croft.ChecksRequest{Target: "main"})
		must(t, err)
		return plan
	}
	req := croft.ApproveRequest{Key: "k", Target: "main", Hash: write("true").Hash}
	first := once(t, f, approve, req)
	other := write("false")
	again(t, f, approve, req, first)
	wantCode(t, errOf(f.Approve(t.Context(), croft.ApproveRequest{Key: "k", Target: "main", Hash: other.Hash})), croft.KeyConflict)
	if now, err := f.Checks(t.Context(), croft.ChecksRequest{Target: "main"}); err != nil || now.IsApproved {
		t.Errorf("the checks are %+v, %v", now, err)
	}
}
