package provision_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/provision"
)

// manyNames makes files in several directories, each with its own name in it, and returns their names.
func manyNames(t *testing.T, dir string, n int) []string {
	t.Helper()
	var names []string
	for i := range n {
		name := fmt.Sprintf("d%02d/e%d/f%04d", i/100, i%3, i)
		gittest.WriteFile(t, filepath.Join(dir, name), name)
		names = append(names, name)
	}
	return names
}

// TestCopyEach: of few files and of many, copied several at a time, what became of each is told in the order of the names.
func TestCopyEach(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 255, 256, 1000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			from, to := t.TempDir(), t.TempDir()
			names := manyNames(t, from, n)
			if n > 100 {
				gittest.WriteFile(t, filepath.Join(to, names[100]), "mine")
			}
			i := 0
			for made, err := range (&provision.Copier{From: fsx.OpenTree(from), To: fsx.OpenTree(to)}).CopyEach(t.Context(), names, fsx.ContentCopied) {
				if i == 100 {
					if skip, ok := errors.AsType[*provision.SkipError](err); !ok || skip.Path != names[i] || skip.Why != croft.SkipExists {
						t.Errorf("a file that is there: %v", err)
					}
				} else if err != nil || made.Path != names[i] || made.Size != int64(len(names[i])) {
					t.Errorf("%s: %+v, %v", names[i], made, err)
				} else if text, err := os.ReadFile(filepath.Join(to, names[i])); err != nil || string(text) != names[i] {
					t.Errorf("%s has %q, %v", names[i], text, err)
				}
				i++
			}
			if i != n {
				t.Errorf("%d of %d names", i, n)
			}
		})
	}
}

// TestCopyEachWithinLimits: workers share what may be copied.
func TestCopyEachWithinLimits(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	names := manyNames(t, from, 1000)
	size := int64(len(names[0]))
	for _, tt := range []struct {
		limits provision.Limits
		want   int
		why    croft.SkipReason
	}{
		{provision.Limits{Files: 700}, 700, croft.SkipTooMany},
		{provision.Limits{Bytes: 250*size + 3}, 250, croft.SkipTooLarge},
	} {
		copied, skipped := 0, 0
		cp := &provision.Copier{From: fsx.OpenTree(from), To: fsx.OpenTree(filepath.Join(to, string(tt.why))), Limits: tt.limits}
		if err := os.Mkdir(cp.To.Path(""), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, err := range cp.CopyEach(t.Context(), names, fsx.ContentCopied) {
			if skip, ok := errors.AsType[*provision.SkipError](err); ok && skip.Why == tt.why {
				skipped++
			} else if err != nil {
				t.Fatal(err)
			} else {
				copied++
			}
		}
		if copied != tt.want || copied+skipped != len(names) {
			t.Errorf("%+v: %d copied, %d skipped", tt.limits, copied, skipped)
		}
	}
}

// TestCopyEachEnds: nothing more is copied once the context has ended, and that is told.
func TestCopyEachEnds(t *testing.T) {
	t.Parallel()
	for _, n := range []int{10, 1000} {
		from, to := t.TempDir(), t.TempDir()
		names := manyNames(t, from, n)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var last error
		yielded := 0
		for _, err := range (&provision.Copier{From: fsx.OpenTree(from), To: fsx.OpenTree(to)}).CopyEach(ctx, names, fsx.ContentCopied) {
			last = err
			yielded++
		}
		if !errors.Is(last, context.Canceled) || yielded > 2 {
			t.Errorf("%d files: %d yielded, then %v", n, yielded, last)
		}
	}
}
