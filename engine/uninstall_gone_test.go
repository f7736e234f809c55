package engine

import (
	"errors"
	"os"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/owner"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/project"
)

// TestForgetBesideOthers: the records of a repository that a user says is gone stay while
// another process works in it. It may only have been moved away for a moment.
func TestForgetBesideOthers(t *testing.T) {
	t.Parallel()
	g := gittest.New(t)
	e, err := Open(t.Context(), g.Dir, &Options{Environ: g.Env})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.Create(t.Context(), croft.CreateRequest{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	repos, err := e.projects.Journal.Repos(t.Context())
	if err != nil || len(repos) != 1 {
		t.Fatal(repos, err)
	}
	other, ok := proc.Of(os.Getppid())
	if !ok {
		t.Skip("no other process can be seen")
	}
	op := journal.Operation{ID: project.NewID(), Act: project.NewID(), Kind: "create", Repo: repos[0].ID, Input: []byte("{}"), Owner: owner.Of(other), StartedAt: e.projects.Now()}
	if err := e.projects.Journal.Update(t.Context(), func(tx *journal.Tx) error { return tx.Begin(op) }); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(g.Dir, g.Dir+".away"); err != nil {
		t.Fatal(err)
	}
	req := croft.UninstallRequest{Repo: g.Dir, Gone: croft.GoneForGood}
	if res, err := e.Uninstall(t.Context(), req); !errors.Is(err, croft.WorkspaceBusy) {
		t.Errorf("while somebody is at work: %+v, %v", res, err)
	}
	if err := e.projects.Journal.Update(t.Context(), func(tx *journal.Tx) error { return tx.End(op.ID, journal.OpUndone, "", e.projects.Now()) }); err != nil {
		t.Fatal(err)
	}
	if res, err := e.Uninstall(t.Context(), req); err != nil || len(res.Repos) != 1 {
		t.Errorf("afterwards: %+v, %v", res, err)
	}
}
