package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/config"
)

// FuzzRepoFile: whatever a repository's file says, the result is ConfigInvalid, or settings
// that are in range and no less strict than the user's own.
func FuzzRepoFile(f *testing.F) {
	seeds := []string{
		"", "layout = 'swarm'\n[limits]\nmax_workers = 3\n", "limits = {max_workers = -1}",
		"trash.retention = '9d'\n[git]\nfilters = ['x']", "[[env]]\nx = {y = [1, {z = 2}]}",
		"roles.files = ['a', '../b']", "\"limits.max_workers\" = 1", "[limits.max_workers]\na.b.c = 1",
		"\ufefflayout = \"\\u0000\"", "layout = '''\n'''", "merge = 1979-05-27", "path = \"", "state_dir = '/'",
		strings.Repeat("a.", 20) + "b = {", "checkout.workers = 0x7f_ff",
	}
	for _, seed := range append(seeds, string(config.Template())) {
		f.Add([]byte(seed))
	}
	root := f.TempDir()
	base, err := config.Load(config.Input{Home: root, Flags: map[string]string{}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(filepath.Join(root, "croft.toml"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := base.AtTarget("main:croft.toml", data); err != nil {
			var e *croft.Error
			if !errors.As(err, &e) || e.Code != croft.ConfigInvalid || !printable(e.Message) || !printable(e.Hint) {
				t.Fatalf("error is %#v", err)
			}
		}
		set := base.ForRepo(root)
		checkGuarded(t, base.Config(), set.Config())
		for _, v := range set.Values() {
			if !printable(v.Value) {
				t.Errorf("%s is %q", v.Key, v.Value)
			}
		}
		for _, warning := range set.Warnings() {
			if !printable(warning) {
				t.Errorf("warning %q", warning)
			}
		}
	})
}

func printable(text string) bool { return !strings.ContainsFunc(text, unicode.IsControl) }

func checkGuarded(t *testing.T, own, got config.Config) {
	t.Helper()
	if got.Limits.MaxWorkers < 0 || got.Checkout.Workers < 0 || got.Checkout.Workers > 1024 {
		t.Errorf("workers out of range: %+v %+v", got.Limits, got.Checkout)
	}
	if got.Limits.MinFreeBytes < own.Limits.MinFreeBytes || got.Limits.MinFreeInodes < own.Limits.MinFreeInodes ||
		got.Trash.Retention < own.Trash.Retention {
		t.Errorf("limits were loosened: %+v %+v", got.Limits, got.Trash)
	}
	if got.Lease != own.Lease || got.GC != own.GC || got.Git.Path != own.Git.Path || len(got.Git.Filters) != 0 ||
		got.StateDir != own.StateDir || got.DataDir != own.DataDir {
		t.Errorf("what only the user may set was changed: %+v", got)
	}
	outside := func(name string) bool { return !filepath.IsLocal(filepath.FromSlash(name)) }
	if got.Layout == "" || outside(got.Roles.Dir) || slices.ContainsFunc(got.Roles.Files, outside) {
		t.Errorf("layout %q, roles %+v", got.Layout, got.Roles)
	}
}
