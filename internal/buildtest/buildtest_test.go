package buildtest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/buildtest"
)

// TestCroft: the program runs, and lies in the directory alone.
func TestCroft(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	program, err := buildtest.Croft(dir, buildtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), program, "version").CombinedOutput(); err != nil {
		t.Errorf("croft version: %v\n%s", err, out)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 1 || filepath.Join(dir, all[0].Name()) != program {
		t.Errorf("the directory has %v, %v", all, err)
	}
}

// TestFailureIsTold: a build that fails says what the compiler said.
func TestFailureIsTold(t *testing.T) {
	_, err := buildtest.Croft(t.TempDir(), buildtest.Options{More: []string{"none"}})
	if err == nil || !strings.Contains(err.Error(), "croft/none") {
		t.Errorf("a package that is not there is built: %v", err)
	}
}
