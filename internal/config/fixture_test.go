package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/config"
)

// place is a home directory and a repository for one test.
type place struct {
	t    *testing.T
	home string
	root string
}

func newPlace(t *testing.T) place {
	t.Helper()
	return place{t: t, home: t.TempDir(), root: t.TempDir()}
}

func (p place) userFile() string { return filepath.Join(p.home, ".config", "croft", "config.toml") }
func (p place) repoFile() string { return filepath.Join(p.root, "croft.toml") }

func (p place) write(path, text string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// try loads everything, with the test's home. The first problem of the
// repository's file is an error here.
func (p place) try(in config.Input) (*config.Set, error) {
	if in.Home == "" {
		in.Home = p.home
	}
	set, err := config.Load(in)
	if err != nil {
		return nil, err
	}
	with := set.ForRepo(p.root)
	if list := with.Problems(); len(list) > 0 {
		return nil, &croft.Error{Code: croft.ConfigInvalid, Message: list[0]}
	}
	return with, nil
}

func (p place) load(in config.Input) *config.Set {
	p.t.Helper()
	set, err := p.try(in)
	if err != nil {
		p.t.Fatal(err)
	}
	return set
}

func value(t *testing.T, set *config.Set, key string) config.Value {
	t.Helper()
	for _, v := range set.Values() {
		if v.Key == key {
			return v
		}
	}
	t.Fatalf("Values has no %s", key)
	return config.Value{}
}

// wantInvalid fails the test unless err is ConfigInvalid with all of parts in
// its message.
func wantInvalid(t *testing.T, err error, parts ...string) *croft.Error {
	t.Helper()
	if !errors.Is(err, croft.ConfigInvalid) {
		t.Fatalf("error is %v, want ConfigInvalid", err)
	}
	var e *croft.Error
	if !errors.As(err, &e) {
		t.Fatalf("error is a %T, want a *croft.Error", err)
	}
	for _, part := range parts {
		if !strings.Contains(e.Message, part) {
			t.Errorf("message %q lacks %q", e.Message, part)
		}
	}
	if strings.ContainsAny(e.Message, "\n\r\x1b\x00") {
		t.Errorf("message %q has control characters", e.Message)
	}
	return e
}
