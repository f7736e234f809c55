package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/config"
)

// TestCurrent: settings follow the user's file; one that cannot be used changes nothing and
// is told.
func TestCurrent(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, ".config", "croft", "config.toml")
	write := func(text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := config.Follow(config.Input{Environ: []string{"HOME=" + home}})
	if err != nil {
		t.Fatal(err)
	}
	want := func(when, layout string, code croft.Code) {
		t.Helper()
		err := c.Refresh()
		if got := c.Config().Layout; got != layout || (code == "") != (err == nil) || code != "" && !errors.Is(err, code) {
			t.Errorf("%s: layout %q, %v", when, got, err)
		}
	}
	want("no file", "default", "")
	write("layout = 'swarm'\n")
	want("a new file", "swarm", "")
	write("layout = 'agent'\n") // as long
	want("another one", "agent", "")
	write("layout = [\n")
	want("one that cannot be used", "agent", croft.ConfigInvalid)
	write("layout = 'swarm'\n")
	want("a good one", "swarm", "")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	want("none again", "default", "")
}

// TestFingerprintOfAProcess: it follows the user's file as the process does, and not what the
// process decided at its start.
func TestFingerprintOfAProcess(t *testing.T) {
	home := t.TempDir()
	environ := []string{"HOME=" + home}
	file := filepath.Join(home, ".config", "croft", "config.toml")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := config.Follow(config.Input{Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	for text, isFollowed := range map[string]bool{
		"layout = 'swarm'\n":                             true,
		"[git]\nfilters = ['lfs']\n":                     false,
		"[git]\nfence = 'off'\n":                         false,
		"[checkout]\nisolated_objects = 'hardlink'\n":    false,
		"[merge]\nchecks = ['make test']\n":              true,
		"[git]\nfilters = ['lfs']\n[merge]\nbatch = 2\n": false,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := c.Refresh(); err != nil {
			t.Fatal(text, err)
		}
		other, err := config.Load(config.Input{Environ: environ})
		if err != nil {
			t.Fatal(err)
		}
		if is := c.Fingerprint(environ) == other.Fingerprint(environ); is != isFollowed {
			t.Errorf("%q: followed %v", text, is)
		}
	}
}
