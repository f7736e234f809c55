package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestPagerOfTheUser: the first of those who say it wins, and a repository says nothing.
func TestPagerOfTheUser(t *testing.T) {
	home := t.TempDir()
	repo := filepath.Join(home, "repo")
	if out, err := exec.Command("git", "init", "-q", repo).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command("git", "-C", repo, "config", "core.pager", "evil").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Chdir(repo)
	bin := filepath.Join(home, "bin")
	writeFiles(t, map[string]string{filepath.Join(bin, "less"): "#!/bin/sh\n"})
	if err := os.Chmod(filepath.Join(bin, "less"), 0o755); err != nil {
		t.Fatal(err)
	}
	base := []string{"HOME=" + home, "PATH=" + bin + ":" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_DIR=" + filepath.Join(repo, ".git")}
	is := func(want string, more ...string) {
		t.Helper()
		if got := pager(t.Context(), append(append([]string{}, base...), more...)); got != want {
			t.Errorf("%v: %q, want %q", more, got, want)
		}
	}
	is("less -FRX")
	is("more", "PAGER=more")
	is("", "PAGER=cat")
	is("", "PAGER=")
	writeFiles(t, map[string]string{filepath.Join(home, ".gitconfig"): "[core]\n\tpager = delta --side-by-side\n"})
	is("delta --side-by-side", "PAGER=more")
	is("most", "PAGER=more", "CROFT_PAGER=most")
	is("", "CROFT_PAGER=")
	is("", "CROFT_PAGER=cat")
}

func writeFiles(t *testing.T, files map[string]string) {
	t.Helper()
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
