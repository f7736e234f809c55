package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/proc"
)

// TestTrust: the cases that a caller relies on which lets Croft commit unattended.
func TestTrust(t *testing.T) {
	t.Parallel()
	if proc.Here().Boot == "" {
		t.Skip("this platform does not tell one start from another")
	}
	g := gittest.New(t)
	gittest.WriteFile(t, filepath.Join(g.Dir, "src", "more.txt"), "more")
	g.Git("add", "--all")
	g.Git("commit", "--quiet", "-m", "more")
	e, err := Open(t.Context(), g.Dir, &Options{Environ: g.Env})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	w, err := e.Create(t.Context(), croft.CreateRequest{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	look := func() error {
		t.Helper()
		r, rec, err := e.projects.FindByID(t.Context(), w.ID)
		if err != nil {
			t.Fatal(err)
		}
		return e.commits.RequireVerified(t.Context(), r, rec)
	}
	if err := os.RemoveAll(filepath.Join(w.Path, "src")); err != nil {
		t.Fatal(err)
	}
	if err := look(); err != nil {
		t.Errorf("what was made since the machine was started is not trusted: %v", err)
	}
	if err := e.projects.Journal.Update(t.Context(), func(tx *journal.Tx) error {
		rec, err := tx.Record(w.ID)
		rec.Boot = "an-earlier-start"
		return errors.Join(err, tx.PutRecord(rec))
	}); err != nil {
		t.Fatal(err)
	}
	err = look()
	told, _ := errors.AsType[*croft.Error](err)
	if told == nil || told.Code != croft.WorkspaceBroken || !strings.Contains(told.Details, "missing") || told.Hint == "" {
		t.Errorf("trust = %+v, want a refusal that says what is missing", err)
	}
	g.GitIn(w.Path, "checkout", "--quiet", "--", "src")
	if err := look(); err != nil {
		t.Errorf("mended, and still not trusted: %v", err)
	}
}

// TestApprovalCoversOnlyShownChecks: the target's checks change after a person has read
// them and before the approval. Neither the new checks, which were not shown, nor the old
// ones, which the target no longer asks for, are approved.
func TestApprovalCoversOnlyShownChecks(t *testing.T) {
	t.Parallel()
	g := gittest.New(t)
	g.Write("croft.toml", "[merge]\nchecks = [\"true\"]\n")
	g.Commit("checks")
	e, err := Open(t.Context(), g.Dir, &Options{Environ: g.Env})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	seen, err := e.Checks(t.Context(), croft.ChecksRequest{})
	if err != nil {
		t.Fatal(err)
	}
	g.Write("croft.toml", "[merge]\nchecks = [\"touch /tmp/evil\"]\n")
	g.Commit("other checks")
	for _, hash := range []string{seen.Hash, "0", ""} {
		if plan, err := e.Approve(t.Context(), croft.ApproveRequest{Hash: hash}); err == nil {
			t.Errorf("with the hash %q %q was approved", hash, plan.Checks)
		}
	}
	if now, err := e.Checks(t.Context(), croft.ChecksRequest{}); err != nil || now.IsApproved {
		t.Errorf("%+v, %v", now, err)
	}
	g.Write("croft.toml", "[merge]\nchecks = [\"true\"]\n")
	g.Commit("the checks that were seen")
	if now, err := e.Checks(t.Context(), croft.ChecksRequest{}); err != nil || now.IsApproved {
		t.Errorf("what was seen: %+v, %v", now, err)
	}
	if plan, err := e.Approve(t.Context(), croft.ApproveRequest{Hash: seen.Hash}); err != nil || !plan.IsApproved {
		t.Errorf("approved as it was seen: %+v, %v", plan, err)
	}
}
