package proc

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestWriteBelow: a process writes below the allowed directories, and nowhere else: not
// through a link, not by renaming, not by truncating.
func TestWriteBelow(t *testing.T) {
	if !CanConfine() {
		t.Skip("this kernel cannot confine processes")
	}
	in, out := t.TempDir(), t.TempDir()
	secret := filepath.Join(out, "secret")
	if err := os.WriteFile(secret, []byte("kept"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(out, filepath.Join(in, "link")); err != nil {
		t.Fatal(err)
	}
	run := func(line string) error {
		_, err := Run(t.Context(), Command{Path: "sh", Args: []string{"-c", line}, Env: os.Environ(), Dir: in, WriteBelow: []string{in, filepath.Join(in, "none")}})
		return err
	}
	for _, line := range []string{
		"echo x > a", "mkdir d && mv a d/b && ln d/b c && rm -r d c", "echo x > /dev/null", "cat " + secret,
	} {
		if err := run(line); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	for _, line := range []string{
		"echo x > link/new", "echo x >> " + secret, ": > " + secret, "rm link/secret", "mkdir link/d", "echo x > a && mv a link/a", "ln -s x link/l", "mv link/secret here",
	} {
		if err := run(line); err == nil {
			t.Errorf("%s went through", line)
		}
	}
	if b, err := os.ReadFile(secret); err != nil || string(b) != "kept" {
		t.Errorf("%q, %v", b, err)
	}
	// Only the process was confined.
	if err := os.WriteFile(filepath.Join(out, "own"), nil, 0o644); err != nil {
		t.Errorf("this process cannot write any more: %v", err)
	}
	var wg sync.WaitGroup
	for i := range 50 { // also on threads that are made from now on
		wg.Go(func() {
			if i%2 == 0 {
				_ = run("true")
			}
			if err := os.WriteFile(filepath.Join(out, fmt.Sprint("own", i)), nil, 0o644); err != nil {
				t.Error(err)
			}
			if _, err := Run(t.Context(), Command{Path: "touch", Args: []string{filepath.Join(out, fmt.Sprint("child", i))}, Env: os.Environ()}); err != nil {
				t.Errorf("a process that is not confined: %v", err)
			}
		})
	}
	wg.Wait()
}

// TestConfinedLives: a process does not end with the thread that started it, and ends with
// its context.
func TestConfinedLives(t *testing.T) {
	dir := t.TempDir()
	c := Command{Path: "sh", Args: []string{"-c", "sleep 0.3; echo lived"}, Env: os.Environ(), WriteBelow: []string{dir}}
	res, err := Run(t.Context(), c)
	if err != nil || string(res.Stdout) != "lived\n" {
		t.Errorf("Run: %q, %v", res.Stdout, err)
	}
	p, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 6)
	if _, err := p.Stdout.Read(text); err != nil || string(text) != "lived\n" {
		t.Errorf("Start: %q, %v", text, err)
	}
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begun := time.Now()
	c.Args = []string{"-c", "sleep 30"}
	if _, err := Run(ctx, c); err == nil || !strings.Contains(err.Error(), "deadline") || time.Since(begun) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(begun))
	}
}

func BenchmarkRun(b *testing.B) {
	dir := b.TempDir()
	for name, dirs := range map[string][]string{"Free": nil, "Confined": {dir, dir, dir, dir, dir}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Run(b.Context(), Command{Path: "true", Env: os.Environ(), WriteBelow: dirs}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestConfinedKillsNoOther: the thread of a confined process ends with it, so no other
// process may have been started on that thread with a parent-death signal.
func TestConfinedKillsNoOther(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 60 {
		wg.Go(func() {
			if _, err := Run(t.Context(), Command{Path: "sleep", Args: []string{"0.4"}, Env: os.Environ()}); err != nil {
				t.Errorf("Run: %v", err)
			}
		})
		wg.Go(func() {
			if err := RunGroup(t.Context(), Command{Path: "sleep", Args: []string{"0.4"}, Env: os.Environ()}); err != nil {
				t.Errorf("RunGroup: %v", err)
			}
		})
		for range 3 {
			wg.Go(func() {
				if _, err := Run(t.Context(), Command{Path: "true", Env: os.Environ(), WriteBelow: []string{dir}}); err != nil {
					t.Errorf("confined: %v", err)
				}
			})
		}
	}
	wg.Wait()
}

// TestConfinedInEveryWay: a process that is started, and not run, is confined too; a file
// is not truncated by its name; and allowing a link allows nothing.
func TestConfinedInEveryWay(t *testing.T) {
	if file := os.Getenv("CROFT_TEST_TRUNCATE"); file != "" {
		if err := os.Truncate(file, 0); err == nil {
			fmt.Println("truncated")
		}
		return
	}
	if !CanConfine() {
		t.Skip("this kernel cannot confine processes")
	}
	in, out := t.TempDir(), t.TempDir()
	secret, link := filepath.Join(out, "secret"), filepath.Join(in, "link")
	if err := os.WriteFile(secret, []byte("kept"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(out, link); err != nil {
		t.Fatal(err)
	}
	write := Command{Path: "sh", Args: []string{"-c", "echo x > " + filepath.Join(out, "new")}, Env: os.Environ(), WriteBelow: []string{in, link}}
	p, err := Start(t.Context(), write)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err == nil {
		t.Error("one that was started wrote elsewhere")
	}
	if _, err := Run(t.Context(), write); err == nil {
		t.Error("a link that is allowed leads elsewhere")
	}
	if landlockVersion() >= hasTruncate {
		res, err := Run(t.Context(), Command{
			Path: os.Args[0], Args: []string{"-test.run=^TestConfinedInEveryWay$"}, Env: append(os.Environ(), "CROFT_TEST_TRUNCATE="+secret), WriteBelow: []string{in},
		})
		if err != nil || strings.Contains(string(res.Stdout), "truncated") {
			t.Errorf("%s, %v", res.Stdout, err)
		}
	}
	if b, err := os.ReadFile(secret); err != nil || string(b) != "kept" {
		t.Errorf("%q, %v", b, err)
	}
	if list, err := os.ReadDir(out); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}
