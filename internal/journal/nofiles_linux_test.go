package journal_test

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/croft-sh/croft/internal/journal"
)

// TestNoFilesLeft: a process that may open few more files either opens the state for writing or
// is told that files have run out. It takes the state neither for one that it may only read nor
// for one that it cannot read.
func TestNoFilesLeft(t *testing.T) {
	const variable = "JOURNAL_TEST_FEW_FILES"
	if dir := os.Getenv(variable); dir != "" {
		openWithFewFiles(t, dir)
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNoFilesLeft$")
	cmd.Env = append(os.Environ(), variable+"="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func openWithFewFiles(t *testing.T, dir string) {
	open := func() (string, error) {
		j, err := journal.Open(t.Context(), dir, journal.Options{})
		if err != nil {
			return "", err
		}
		source, _ := j.ReadOnly()
		return string(source), j.Close()
	}
	if _, err := open(); err != nil { // Go has opened what it needs itself
		t.Fatal(err)
	}
	limit := syscall.Rlimit{Cur: 100, Max: 100}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	var held []*os.File
	for {
		f, err := os.Open(os.DevNull)
		if errors.Is(err, syscall.EMFILE) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, f)
	}
	refused, opened := 0, 0
	for more := range 16 {
		switch source, err := open(); {
		case err == nil && source == "":
			opened++
		case err == nil:
			t.Errorf("with %d more files the state is read from %q", more, source)
		case errors.Is(err, syscall.EMFILE):
			refused++
		default:
			t.Errorf("with %d more files: %v", more, err)
		}
		_ = held[more].Close()
	}
	if refused < 3 || opened == 0 {
		t.Errorf("%d were refused, %d opened: the limits are not those that matter", refused, opened)
	}
}
