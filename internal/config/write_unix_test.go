//go:build unix

package config

import (
	"os"
	"path/filepath"
	"testing"
)

// TestDestinationOfARepository: an agent can put a link in the place of croft.toml after that was read, and take it away before it is
// read again. Nothing is written to where it leads; the user's own file may be a link.
func TestDestinationOfARepository(t *testing.T) {
	dir := t.TempDir()
	link, real := filepath.Join(dir, "croft.toml"), filepath.Join(dir, "mine")
	if err := os.WriteFile(real, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	if got := destination(Source{Kind: KindRepo, Name: link}); got != link {
		t.Errorf("croft.toml is written to %s", got)
	}
	want, err := filepath.EvalSymlinks(real)
	if err != nil {
		t.Fatal(err)
	}
	if got := destination(Source{Kind: KindUser, Name: link}); got != want {
		t.Errorf("the user's own file is written to %s", got)
	}
}
