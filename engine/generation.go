package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/journal"
)

// generationFile says, in the repository, which database changed something
// about it last, and at what count. A database that counts less is an older
// copy of itself, and one of another name has not seen everything.
func generationFile(common string) string { return filepath.Join(common, "croft", "generation") }

// readGeneration returns what the repository says. What cannot be read says
// nothing.
func readGeneration(common string) journal.Generation {
	var g journal.Generation
	b, err := os.ReadFile(generationFile(common))
	if err != nil {
		return g
	}
	if n, err := fmt.Sscanf(string(b), "%d %s", &g.Number, &g.Database); err != nil || n != 2 {
		return journal.Generation{}
	}
	return g
}

// writeGeneration writes down how far a database has come, unless another
// process has written more. It is not synced: a file that lags behind is no
// alarm, and that it is missing is not one either.
func writeGeneration(r journal.Repo, now journal.Generation) {
	if strings.HasPrefix(r.CommonDir, plainPrefix) {
		return
	}
	l, err := flock.Acquire(context.Background(), generationFile(r.CommonDir)+"-lock")
	if err != nil {
		return // the repository is gone, or read-only
	}
	defer l.Unlock()
	if have := readGeneration(r.CommonDir); have.Database == now.Database && have.Number >= now.Number {
		return
	}
	text := now.String() + "\n" // of a fixed width, so that one write replaces the whole
	f, err := os.OpenFile(generationFile(r.CommonDir), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	if _, err := f.WriteAt([]byte(text), 0); err == nil {
		_ = f.Truncate(int64(len(text)))
	}
	_ = f.Close()
}
