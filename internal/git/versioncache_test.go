package git

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/git/gitcmd"
)

// The version of each git program is asked once, and again when the program has changed.
func TestVersionIsCached(t *testing.T) {
	dir := t.TempDir()
	program, log := filepath.Join(dir, "git"), filepath.Join(dir, "log")
	answer := func(version string) {
		text := "#!/bin/sh\necho asked >> " + log + "\necho git version " + version + "\n"
		if err := os.WriteFile(program, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	ask := func() string {
		t.Helper()
		v, err := gitcmd.New(gitcmd.Options{Path: program, ConfigDir: filepath.Join(dir, "config"), Environ: os.Environ()}).Version()
		if err != nil {
			t.Fatal(err)
		}
		return v.String()
	}
	answer("2.40.1")
	for range 2 {
		if got := ask(); got != "2.40.1" {
			t.Errorf("version %s", got)
		}
	}
	if got := readFile(t, log); got != "asked\n" {
		t.Errorf("asked: %q", got)
	}
	answer("2.41.0")
	later := time.Now().Add(time.Minute)
	if err := os.Chtimes(program, later, later); err != nil {
		t.Fatal(err)
	}
	if got := ask(); got != "2.41.0" {
		t.Errorf("version %s after another git took its place", got)
	}
}
