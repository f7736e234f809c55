package mutant_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/mutant"
)

// A test that a mutant makes hang fails after testLimit. A run that takes longer than
// callLimit hangs for another reason.
const (
	testLimit = 2 * time.Minute
	callLimit = 15 * time.Minute
)

// TestMutants tries the mutants that CROFT_MUTANTS names, each by a part of its
// name, its file or its test; "all" are all of them. The tests are run without a
// change first: one that fails anyway would find every mutant.
func TestMutants(t *testing.T) {
	wanted := strings.Split(os.Getenv("CROFT_MUTANTS"), "\n")
	if wanted[0] == "" {
		t.Skip("run by .ci/mutants")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	all, err := mutant.All(root)
	if err != nil {
		t.Fatal(err)
	}
	all = slices.DeleteFunc(all, func(m mutant.Mutant) bool {
		return wanted[0] != "all" && !slices.ContainsFunc(wanted, func(part string) bool {
			return strings.Contains(m.At+" "+m.Name+" "+m.File+" "+m.Package+" "+m.Test, part)
		})
	})
	if len(all) == 0 {
		t.Fatalf("no mutant has %q in its name, its file or its test", wanted)
	}
	start, caught := time.Now(), 0
	testsPass(t, root, all)
	for _, m := range all {
		began := time.Now()
		err := try(t, root, m)
		word := "caught"
		switch {
		case err == nil:
			caught++
		case errors.Is(err, errSkipped) && os.Geteuid() != 0: // some need root
			word = "skipped"
		default:
			t.Errorf("%s: %s: %v", m.At, m.Name, err)
			word = "MISSED"
		}
		t.Logf("mutants: %s %5.1fs  %s: %s (%s.%s)", word, time.Since(began).Seconds(), m.File, m.Name, m.Package, m.Test)
	}
	t.Logf("mutants: %d of %d caught, in %v", caught, len(all), time.Since(start).Round(time.Second))
}

// errSkipped says that a test does not run here.
var errSkipped = errors.New("the test is skipped")

// try returns nil if the mutant's test fails because of it.
func try(t *testing.T, root string, m mutant.Mutant) error {
	t.Helper()
	dir, name := t.TempDir(), filepath.Join(root, filepath.FromSlash(m.File))
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	changed, err := m.Apply(string(text))
	if err != nil {
		return err
	}
	with := filepath.Join(dir, "mutant.go")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {name: with}})
	if err != nil {
		return err
	}
	overlayFile := filepath.Join(dir, "overlay.json")
	if err := errors.Join(os.WriteFile(with, []byte(changed), 0o600), os.WriteFile(overlayFile, overlay, 0o600)); err != nil {
		return err
	}
	out, err := goTest(t, root, overlayFile, m.Tags, m.Run(), m.Pattern())
	_, isExit := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil && strings.Contains(out, "[no tests to run]"):
		return errors.New("there is no such test")
	case err == nil && strings.Contains(out, "--- SKIP: "+m.Test+" "):
		return errSkipped
	case err == nil:
		return errors.New("the test passes")
	case !isExit:
		return err
	case strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]"):
		return fmt.Errorf("it does not compile:\n%s", out)
	case !strings.Contains(out, "--- FAIL: ") && !strings.Contains(out, "panic: test timed out"):
		return fmt.Errorf("no test has failed:\n%s", out)
	}
	return nil
}

// testsPass runs the tests of mutants on the code as it is.
func testsPass(t *testing.T, root string, all []mutant.Mutant) {
	t.Helper()
	type build struct{ pattern, tags string }
	tests := map[build]map[string]bool{}
	for _, m := range all {
		b := build{m.Pattern(), m.Tags}
		if tests[b] == nil {
			tests[b] = map[string]bool{}
		}
		tests[b][m.Run()] = true
	}
	for _, b := range slices.SortedFunc(maps.Keys(tests), func(a, b build) int { return cmp.Compare(a.pattern+a.tags, b.pattern+b.tags) }) {
		began := time.Now()
		out, err := goTest(t, root, "", b.tags, strings.Join(slices.Sorted(maps.Keys(tests[b])), "|"), b.pattern)
		if err != nil {
			t.Fatalf("%s: the tests fail without a mutant: %v\n%s", b.pattern, err, out)
		}
		t.Logf("mutants: passes %5.1fs  %d tests of %s without a mutant", time.Since(began).Seconds(), len(tests[b]), b.pattern)
	}
}

// goTest runs tests, and returns their output. The overlay is in the environment, for tests
// that build a binary.
func goTest(t *testing.T, root, overlay, tags, run, pattern string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), callLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-v", "-vet=off", "-timeout", testLimit.String(), "-tags", tags, "-run", run, pattern)
	cmd.Env = os.Environ()
	if overlay != "" {
		cmd.Env = append(cmd.Env, "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay)
	}
	cmd.Dir, cmd.WaitDelay = root, 10*time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return out.String(), err
}
