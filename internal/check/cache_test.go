package check

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestCacheComesFromPublishedTrees: the files that a check left become the cache of the next
// checks when its tree was published, and not before.
func TestCacheComesFromPublishedTrees(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := OpenCache(dir, []string{"deps"})
	left := func(text string) *git.Scratch {
		t.Helper()
		s := &git.Scratch{Path: t.TempDir()}
		gittest.WriteFile(t, filepath.Join(s.Path, "deps", "f"), text)
		return s
	}
	current := func() string {
		b, _ := os.ReadFile(filepath.Join(c.dir, currentCache, "deps", "f"))
		return string(b)
	}
	c.keep(left("good"), "tree1")
	if current() != "" {
		t.Error("what a check left that passed is what the next ones begin with")
	}
	c.Adopt("tree2")
	if current() != "" {
		t.Error("the publication of another tree made it that")
	}
	c.Adopt("tree1")
	if got := current(); got != "good" {
		t.Errorf("after the publication it is %q", got)
	}
	c.keep(left("evil"), "tree3")
	c.Discard()
	c.Adopt("tree3")
	if got := current(); got != "good" {
		t.Errorf("after one that was thrown away it is %q", got)
	}
	c.keep(left("evil"), "tree4") // and the process that runs the lane dies
	OpenCache(dir, []string{"deps"}).Adopt("tree4")
	entries, err := os.ReadDir(c.dir)
	if err != nil || len(entries) != 1 || current() != "good" {
		t.Errorf("a driver that died left %v, %v, and %q", entries, err, current())
	}
}
