package refs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestTidyRefs: many refs are packed, and keep their values.
func TestTidyRefs(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	head := strings.TrimSpace(r.Git("rev-parse", "HEAD"))
	numbered := func(from, to int) (updates []Update) {
		for i := range to - from {
			updates = append(updates, Update{Ref: fmt.Sprintf("refs/croft/x/%d/last", from+i), New: head})
		}
		return updates
	}
	packed := filepath.Join(r.Dir, ".git", "packed-refs")
	for i, n := range []int{0, manyRefs, manyRefs + 1} {
		if n > 0 {
			if err := repo.UpdateRefs(t.Context(), numbered([]int{0, 0, manyRefs}[i], n)...); err != nil {
				t.Fatal(err)
			}
		}
		if err := repo.PackRefs(t.Context(), "refs/croft/"); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(packed); (err == nil) != (n > manyRefs) {
			t.Errorf("with %d refs: %v", n, err)
		}
	}
	if err := repo.UpdateRefs(t.Context(), Update{Ref: "refs/croft/x/own/other", New: head}); err != nil {
		t.Fatal(err)
	}
	for last, want := range map[string]int{"last": manyRefs + 1, "other": 1, "none": 0} {
		found, err := repo.Refs(t.Context(), "refs/croft/x/*/"+last)
		if err != nil || len(found) != want {
			t.Errorf("%d refs are called %s, %v, want %d", len(found), last, err, want)
		}
		for _, ref := range found {
			if ref.OID != head || !strings.HasSuffix(ref.Name, "/"+last) {
				t.Errorf("found %+v", ref)
			}
		}
	}
	if oid, err := repo.ReadRef(t.Context(), "refs/croft/x/7/last"); oid != head || err != nil {
		t.Errorf("%s, %v", oid, err)
	}
}
