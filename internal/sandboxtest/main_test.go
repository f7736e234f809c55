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
	repo     *gittest.Repo
	temp     string
	croft    string // the program
	programs string // the directory of the agents' own programs
	kinds    []Kind // the sandboxes that a test runs in
}

// newHost makes a project for the sandboxes that are made here.
func newHost(t *testing.T) host {
	t.Helper()
	return makeHost(t, host{croft: croftBinary, kinds: Kinds()})
}

// newRealHost makes a project for the agents' own sandboxes. It lies neither below /tmp, where
// Codex lets agents write, nor below /dev, which they have anew.
func newRealHost(t *testing.T) host {
	t.Helper()
	h := host{programs: Programs(t), kinds: RealKinds()}
	dir, err := os.MkdirTemp("/var/tmp", "croft-agents-") //nolint:usetesting // t.TempDir lies below TMPDIR, which this changes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	t.Setenv("TMPDIR", dir)
	h.croft = filepath.Join(dir, "croft")
	text, err := os.ReadFile(croftBinary)
	if err == nil {
		err = os.WriteFile(h.croft, text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return makeHost(t, h)
}

// eachHost runs a test with the sandboxes that are made here and, if long tests are asked for, with the agents' own.
func eachHost(t *testing.T, f func(t *testing.T, h host)) {
	t.Run("made", func(t *testing.T) { f(t, newHost(t)) })
	t.Run("real", func(t *testing.T) { f(t, newRealHost(t)) })
}

// sandbox returns a sandbox for a workspace.
func (h host) sandbox(kind Kind, workspace string) Sandbox {
	return Sandbox{Kind: kind, Dir: h.path(workspace), Temp: h.temp, Env: h.repo.Env, Programs: h.programs}
}

func makeHost(t *testing.T, h host) host {
	t.Helper()
	Require(t)
	h.repo, h.temp = gittest.New(t), t.TempDir()
	h.repo.Env = append(h.repo.Env, "CROFT_GC_AUTO=false") // upkeep in the background would write while a test compares files
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
	cmd := exec.CommandContext(ctx, h.croft, args...)
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

// beside runs croft outside of every sandbox, and returns what it printed.
func (h host) beside(t *testing.T, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, h.croft, args...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = h.repo.Dir, h.repo.Env, &out, &errs
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// inside runs croft in a sandbox.
func (h host) inside(t *testing.T, s Sandbox, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := s.Command(ctx, t, append([]string{h.croft}, args...)...)
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
			if d.IsDir() && h.programs != "" {
				at = 0 // the agents' own sandboxes make files that others are mounted on, and delete them
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
		if h.programs != "" && strings.HasPrefix(entry.Name(), "codex-bwrap-") {
			continue // Codex's own
		}
		t.Errorf("%s left %s in the directory for temporary files", what, entry.Name())
	}
}
