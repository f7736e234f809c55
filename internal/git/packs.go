package git

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"time"
)

const (
	// manyPacks is how many packs there may be before they are joined, which is
	// when git's own automatic gc does it too.
	manyPacks = 50
	// keptTime is longer than it takes to name what was written.
	keptTime = time.Hour
)

// TidyPacks joins the packs of a repository once there are many, because git
// looks into each for an object, and lets go of packs that a process which died
// was about to name. Every object stays, whether anything names it or not; those
// are git's to prune. Only one process at a time may call it.
func (r *Repository) TidyPacks(ctx context.Context) error {
	dir := filepath.Join(r.CommonDir, "objects", "pack")
	keeps, err := filepath.Glob(filepath.Join(dir, "pack-*.keep"))
	if err != nil {
		return err
	}
	for _, name := range keeps {
		info, err := os.Lstat(name)
		if err != nil || time.Since(info.ModTime()) < keptTime {
			continue
		}
		if text, err := os.ReadFile(name); err == nil && bytes.Equal(text, []byte(keepText)) {
			_ = os.Remove(name)
		}
	}
	packs, err := filepath.Glob(filepath.Join(dir, "pack-*.pack"))
	if err != nil || len(packs)-len(keeps) <= manyPacks {
		return err
	}
	if lazy, err := filepath.Glob(filepath.Join(dir, "pack-*.promisor")); err != nil || len(lazy) > 0 {
		return err // a partial clone's packs say what need not be there; git gc knows how to join them
	}
	if _, err := r.run(ctx, "-c", "repack.writeBitmaps=false", "repack", "-d", "-l", "--geometric=2", "--quiet"); err != nil {
		return err
	}
	return syncAll(dir)
}
