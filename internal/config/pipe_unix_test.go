//go:build unix

package config_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/croft-sh/croft/internal/config"
)

// TestNamedPipe would hang if the file were opened and waited for a writer.
func TestNamedPipe(t *testing.T) {
	user, repo := newPlace(t), newPlace(t)
	if err := os.MkdirAll(filepath.Dir(user.userFile()), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{user.userFile(), repo.repoFile()} {
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := user.try(config.Input{})
	wantInvalid(t, err, user.userFile()+": is not a regular file")
	_, err = repo.try(config.Input{})
	wantInvalid(t, err, repo.repoFile()+": is not a regular file")
}
