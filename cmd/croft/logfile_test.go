package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestLogStaysShort: a log that is written to for long has the last lines, those before in a second
// file, and no more.
func TestLogStaysShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "daemon.log")
	l, err := openLogFile(path, 1000)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for i := range 500 {
		if _, err := l.Write(append(bytes.Repeat([]byte{byte('a' + i%26)}, 49), '\n')); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{path, path + ".old"} {
		text, err := os.ReadFile(name)
		if err != nil || len(text) > 1050 || len(text) == 0 {
			t.Errorf("%s has %d bytes, %v", name, len(text), err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil || !bytes.HasSuffix(text, append(bytes.Repeat([]byte{byte('a' + 499%26)}, 49), '\n')) {
		t.Errorf("the last line is not there: %v", err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}
