package journal_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/journal/readonly"
	"github.com/croft-sh/croft/internal/sandboxtest"
)

// TestFormerReadsAreClosed: a process that may only read, for long, does not keep the databases
// open that it read before the state changed.
func TestFormerReadsAreClosed(t *testing.T) {
	const variable = "JOURNAL_TEST_READER"
	if dir := os.Getenv(variable); dir != "" {
		readAtEachLine(t, dir)
		return
	}
	sandboxtest.Require(t)
	dir := t.TempDir()
	j, err := journal.Open(t.Context(), dir, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	database := filepath.Join(dir, journal.FileName)
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Remove(database + suffix); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	//nolint:gosec // the arguments are the test's own
	cmd := exec.CommandContext(ctx, "bwrap", "--dev-bind", "/", "/", "--ro-bind", dir, dir, "--die-with-parent", os.Args[0], "-test.run=^TestFormerReadsAreClosed$")
	cmd.Env = append(os.Environ(), variable+"="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, open := bufio.NewScanner(out), 0
	for round := range 12 {
		at := time.Now().Add(time.Duration(round+1) * time.Hour)
		if err := os.Chtimes(database, at, at); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(in, round)
		if !lines.Scan() {
			break
		}
		if _, err := fmt.Sscanf(lines.Text(), "open %d", &open); err != nil {
			t.Errorf("the reader says %q", lines.Text())
			break
		}
	}
	_ = in.Close()
	for lines.Scan() {
		continue // until it has ended
	}
	if err := cmd.Wait(); err != nil || open == 0 || open > 4 {
		t.Errorf("after 12 changes of the state the reader has %d of its files open: %v", open, err)
	}
}

// readAtEachLine reads the state for each line of the input, and prints how many files of it are
// open then.
func readAtEachLine(t *testing.T, dir string) {
	j, err := journal.Open(t.Context(), dir, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if source, _ := j.ReadOnly(); source != readonly.File {
			t.Fatalf("the state is read from %q", source)
		}
		if _, err := j.Running(t.Context()); err != nil {
			t.Fatal(err)
		}
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		open := 0
		for _, entry := range all {
			if at, err := os.Readlink("/proc/self/fd/" + entry.Name()); err == nil && strings.HasPrefix(at, dir) {
				open++
			}
		}
		fmt.Println("open", open)
	}
}
