package fsx

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func roots(t *testing.T) (from, to *os.Root, fromDir, toDir string) {
	t.Helper()
	fromDir, toDir = t.TempDir(), t.TempDir()
	var err error
	if from, err = os.OpenRoot(fromDir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = from.Close() })
	if to, err = os.OpenRoot(toDir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = to.Close() })
	return from, to, fromDir, toDir
}

// TestCopyTree: a copy has the same files, links and modes, and shares no inode
// with the original.
func TestCopyTree(t *testing.T) {
	from, to, src, dst := roots(t)
	old := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := os.MkdirAll(filepath.Join(src, "deps/cache/bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	tool := filepath.Join(src, "deps/cache/bin/tool")
	for _, err := range []error{
		os.WriteFile(tool, []byte("#!/bin/sh\n"), 0o755), os.Chtimes(tool, old, old),
		os.WriteFile(filepath.Join(src, "deps/cache/readonly"), []byte("x"), 0o444),
		os.Symlink("/etc/passwd", filepath.Join(src, "deps/cache/link")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := CopyTree(from, to, "deps/cache", CopyLimits{100, 20}); err != nil {
		t.Fatal(err)
	}
	got, err := os.Lstat(filepath.Join(dst, "deps/cache/bin/tool"))
	if err != nil || got.Mode().Perm() != 0o755 || !got.ModTime().Equal(old) {
		t.Fatalf("%+v, %v", got, err)
	}
	if was, err := os.Lstat(tool); err != nil || os.SameFile(was, got) {
		t.Errorf("the copy is the original: %v", err)
	}
	if info, err := os.Lstat(filepath.Join(dst, "deps/cache/readonly")); err != nil || info.Mode().Perm() != 0o444 {
		t.Errorf("%+v, %v", info, err)
	}
	if link, err := os.Readlink(filepath.Join(dst, "deps/cache/link")); err != nil || link != "/etc/passwd" {
		t.Errorf("the link is %q, %v", link, err)
	}
	if err := CopyTree(from, to, "deps/cache", CopyLimits{100, 20}); !errors.Is(err, os.ErrExist) {
		t.Errorf("over what is there: %v", err)
	}
}

// TestCopyTreeLink: a source that is itself a link is copied as a link.
func TestCopyTreeLink(t *testing.T) {
	from, to, src, dst := roots(t)
	if err := os.Symlink("/etc", filepath.Join(src, "cache")); err != nil {
		t.Fatal(err)
	}
	if err := CopyTree(from, to, "cache", CopyLimits{100, 20}); err != nil {
		t.Fatal(err)
	}
	if link, err := os.Readlink(filepath.Join(dst, "cache")); err != nil || link != "/etc" {
		t.Errorf("%q, %v", link, err)
	}
}

func TestCopyTreeLimits(t *testing.T) {
	from, to, src, _ := roots(t)
	for _, dir := range []string{"deep/" + strings.Repeat("d/", 30), "wide/a", "wide/b", "wide/c"} {
		if err := os.MkdirAll(filepath.Join(src, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, limits := range map[string]CopyLimits{"deep": {Entries: 100, Depth: 20}, "wide": {Entries: 3, Depth: 20}} {
		if err := CopyTree(from, to, name, limits); !errors.Is(err, ErrTooMuch) {
			t.Errorf("%s: %v, want ErrTooMuch", name, err)
		}
	}
}
