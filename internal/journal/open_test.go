package journal_test

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/croft-sh/croft/internal/journal"
)

// TestOpenByManyProcesses has many processes make the database at the same
// moment: none of them may find it busy.
func TestOpenByManyProcesses(t *testing.T) {
	if dir := os.Getenv("JOURNAL_TEST_DIR"); dir != "" {
		j, err := journal.Open(t.Context(), dir, journal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Running(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		return
	}
	for range 3 {
		dir := t.TempDir()
		const n = 40
		errs := make(chan error, n)
		for range n {
			go func() {
				cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOpenByManyProcesses$")
				cmd.Env = append(os.Environ(), "JOURNAL_TEST_DIR="+dir)
				out, err := cmd.CombinedOutput()
				if err != nil {
					err = errors.Join(err, errors.New(string(out)))
				}
				errs <- err
			}()
		}
		for range n {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	}
}
