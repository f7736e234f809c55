package journal_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/croft-sh/croft/internal/journal"
)

// TestDamagedAndOpenedAtOnce: several processes open a damaged database at the same time.
// One sets it aside and makes another, and all go on with that.
func TestDamagedAndOpenedAtOnce(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 5
	}
	dir := t.TempDir()
	file := filepath.Join(dir, journal.FileName)
	for range rounds {
		j, err := journal.Open(t.Context(), dir, journal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(file, info.Size()/2); err != nil {
			t.Fatal(err)
		}
		var opened sync.WaitGroup
		for range 8 {
			opened.Go(func() {
				j, err := journal.Open(t.Context(), dir, journal.Options{})
				if err != nil {
					t.Error(err)
					return
				}
				if err := j.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		opened.Wait()
		if t.Failed() {
			return
		}
	}
}
