//go:build unix

package fsx

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestReplaceIfChanged: a link to a file with the same text is replaced, and a pipe does
// not block.
func TestReplaceIfChanged(t *testing.T) {
	dir := t.TempDir()
	target, link, pipe := filepath.Join(dir, "target"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	if err := os.WriteFile(target, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		if err := ReplaceIfChanged(link, "text"); err != nil {
			done <- err
			return
		}
		done <- ReplaceIfChanged(pipe, "text")
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for a writer of the pipe")
	}
	for _, path := range []string{link, pipe} {
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s is %v, %v", path, info, err)
		}
	}
	before, err := os.Stat(target)
	if err != nil {
		t.Fatal(err)
	}
	if err := ReplaceIfChanged(target, "text"); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(target); err != nil || !os.SameFile(before, after) {
		t.Errorf("a file with the text was replaced: %v", err)
	}
}
