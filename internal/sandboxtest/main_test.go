//go:build linux

package sandboxtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/buildtest"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// croftBinary is the croft under test. TestMain sets it before any test runs.
var croftBinary string

func TestMain(m *testing.M) {
	os.Exit(buildtest.Main(m, buildtest.Options{}, func(program string) { croftBinary = program }))
}

// host is a project with a workspace of each mode, w and iso.
type host struct {
	repo *gittest.Repo
	top  string // everything lies below it
	temp string
}

func newHost(t *testing.T) host {
	t.Helper()
	Require(t)
	repo := gittest.New(t)
	repo.Env = append(repo.Env, "CROFT_GC_AUTO=false") // upkeep in the background would write while a test compares files
	h := host{repo: repo, top: filepath.Dir(filepath.Dir(repo.Dir)), temp: t.TempDir()}
	h.outside(t, "new", "w")
	h.outside(t, "new", "--mode", "isolated", "iso")
	for _, name := range []string{"w", "iso"} {
		gittest.WriteFile(t, filepath.Join(h.path(name), "new.txt"), "new\n")
		gittest.WriteFile(t, filepath.Join(h.path(name), "README.md"), "changed in "+name+"\n")
	}
	return h
}

func (h host) path(workspace string) string {
	return filepath.Join(filepath.Dir(h.repo.Dir), filepath.Base(h.repo.Dir)+".croft", workspace)
}

func (h host) stateDir() string {
	for _, entry := range h.repo.Env {
		if dir, ok := strings.CutPrefix(entry, "CROFT_STATE_DIR="); ok {
			return dir
		}
	}
	return ""
}

// outside runs croft outside of every sandbox.
func (h host) outside(t *testing.T, args ...string) {
	t.Helper()
	if err := h.tryOutside(t.Context(), args...); err != nil {
		t.Fatal(err)
	}
}

// tryOutside is outside for a goroutine that is not the test's, and may not end it.
func (h host) tryOutside(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, croftBinary, args...)
	cmd.Dir, cmd.Env = h.repo.Dir, h.repo.Env
	if _, err := cmd.Output(); err != nil {
		return fmt.Errorf("croft %s: %w\n%s", strings.Join(args, " "), err, stderrOf(err))
	}
	return nil
}

func stderrOf(err error) []byte {
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return e.Stderr
	}
	return nil
}

// result is what a command inside has printed.
type result struct {
	exit           int
	stdout, stderr string
}

// inside runs croft in a sandbox.
func (h host) inside(t *testing.T, s Sandbox, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s.Temp, s.Env = h.temp, h.repo.Env
	cmd := s.Command(ctx, t, append([]string{croftBinary}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("croft %s hangs", strings.Join(args, " "))
	}
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// files returns what can be told apart of all files below the host's directory: their kind, time
// and content.
func (h host) files(t *testing.T) map[string]string {
	t.Helper()
	seen := map[string]string{}
	for _, top := range []string{filepath.Dir(h.repo.Dir), h.stateDir()} {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			text := ""
			if info.Mode().IsRegular() && info.Mode().Perm()&0o400 != 0 {
				b, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				text = fmt.Sprintf("%x", sha256.Sum256(b))
			}
			at := info.ModTime().UnixNano()
			if strings.Contains(path, "/objects/") {
				at = 0 // git touches a pack that has an object which it would write, against its own gc
			}
			seen[path] = fmt.Sprint(info.Mode(), at, info.Size(), text)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return seen
}

// wantUnchanged fails if a file was made, changed or deleted since before.
func (h host) wantUnchanged(t *testing.T, before map[string]string, what string) {
	t.Helper()
	now := h.files(t)
	for path, is := range now {
		if was, ok := before[path]; !ok || was != is {
			t.Errorf("%s changed %s: %s, before %q", what, path, is, was)
		}
	}
	for path := range before {
		if _, ok := now[path]; !ok {
			t.Errorf("%s deleted %s", what, path)
		}
	}
	left, err := os.ReadDir(h.temp)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range left {
		t.Errorf("%s left %s in the directory for temporary files", what, entry.Name())
	}
}
