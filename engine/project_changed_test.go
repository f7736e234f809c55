package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/journal"
)

// TestSettingsChangeWhileOpen: an open engine uses the croft.toml that is on disk now, for
// a repository and for a directory without git.
func TestSettingsChangeWhileOpen(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	plain := filepath.Join(filepath.Dir(r.Dir), "plain")
	if err := os.Mkdir(plain, 0o755); err != nil {
		t.Fatal(err)
	}
	e := engineIn(t, r, 0)
	for dir, mode := range map[string]croft.Mode{r.Dir: "", plain: croft.ModeLegacy} {
		file := filepath.Join(dir, "croft.toml")
		try := func(name string, want croft.Code) {
			t.Helper()
			_, err := e.Create(t.Context(), croft.CreateRequest{Repo: dir, Name: name, Mode: mode})
			if want == "" && err != nil || want != "" && !errors.Is(err, want) {
				t.Errorf("in %s, %s: %v, want %q", filepath.Base(dir), name, err, want)
			}
		}
		try("a", "")
		gittest.WriteFile(t, file, "[limits]\nmax_workers = 1\n")
		try("b", croft.LimitReached)
		gittest.WriteFile(t, file, "[limits]\nmax_workers = 2\n") // of the same size, and perhaps with the same mtime
		try("c", "")
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		try("d", "")
	}
}

// TestMadeAnewWhileOpen: while an engine is open, a repository is deleted and made again at
// the same path, several times. The new one has no workspace of the old one.
func TestMadeAnewWhileOpen(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	for range 3 {
		create(t, e, croft.CreateRequest{Name: "a"})
		if err := errors.Join(os.RemoveAll(r.Dir), os.RemoveAll(r.Dir+".croft")); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{}); !errors.Is(err, croft.NotARepo) {
			t.Errorf("a repository that is gone: %v", err)
		}
		r.GitIn(filepath.Dir(r.Dir), "init", "--quiet", r.Dir)
		r.Git("commit", "--quiet", "--allow-empty", "-m", "anew")
		if got := names(t, e); len(got) != 0 {
			t.Errorf("the new one has %v", got)
		}
		if list, err := e.History(t.Context(), croft.HistoryRequest{}); err != nil || len(list.Items) != 0 {
			t.Errorf("its history is %+v, %v", list, err)
		}
	}
}

// TestRecoveryIsOfOneRepository: a call recovers the interrupted operations of its own
// repository only. Those of others are recovered by calls there, and by gc.
func TestRecoveryIsOfOneRepository(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	other := moreRepos(t, r, 1)[0]
	e := engineIn(t, r, 0)
	there, err := e.Repo(t.Context(), croft.RepoRequest{Repo: other})
	if err != nil {
		t.Fatal(err)
	}
	j := database(t, r)
	leave := func(id croft.ID) {
		update(t, j, func(tx *journal.Tx) error {
			return tx.Begin(journal.Operation{ID: id, Act: id, Kind: "create", Repo: there.ID, Owner: dead(), Input: []byte("{}"), StartedAt: time.Now()})
		})
	}
	running := func() []croft.ID {
		ops, err := j.Running(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var ids []croft.ID
		for _, op := range ops {
			ids = append(ids, op.ID)
		}
		return ids
	}
	leave("begun-there")
	create(t, e, croft.CreateRequest{Name: "a"})
	if !slices.Contains(running(), "begun-there") {
		t.Error("who works in one repository took back what was begun in another")
	}
	if _, err := e.Create(t.Context(), croft.CreateRequest{Repo: other, Name: "b"}); err != nil {
		t.Fatal(err)
	}
	if slices.Contains(running(), "begun-there") {
		t.Error("who works in it did not take it back")
	}
	leave("begun-again")
	if _, err := e.GC(t.Context(), croft.GCRequest{}); err != nil {
		t.Fatal(err)
	}
	if got := running(); len(got) != 0 {
		t.Errorf("gc left %v", got)
	}
}
