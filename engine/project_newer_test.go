//go:build unix

package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/journal"
)

// TestNewerState: where a later version of Croft has written the state, this one says so,
// hints at the remedy and writes nothing.
func TestNewerState(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	create(t, e, croft.CreateRequest{Name: "a"})
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(stateDir(r), journal.FileName)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[63] = 99 // the last byte of user_version
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	before, files := manifest(t, r.Dir), filesIn(t, stateDir(r))
	_, err = engine.Open(t.Context(), r.Dir, &engine.Options{Environ: r.Env})
	var told *croft.Error
	if !errors.As(err, &told) || told.Code != croft.StateUnavailable || told.Hint == "" || !errors.Is(err, croft.StateUnavailable) {
		t.Errorf("Open = %v", err)
	}
	wantSame(t, "the repository", before, manifest(t, r.Dir))
	if now := filesIn(t, stateDir(r)); now != files {
		t.Errorf("the state directory has\n%sand had\n%s", now, files)
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != string(b) {
		t.Errorf("the database was changed: %v", err)
	}
}

// filesIn names the entries of a directory, but not those of its subdirectories.
func filesIn(t *testing.T, dir string) (names string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names += e.Name() + "\n"
	}
	return names
}
