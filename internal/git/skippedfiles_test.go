package git

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestHiddenEdits: in every index version, edits of files that git was told not to look at
// are found, and nothing else is.
func TestHiddenEdits(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		for _, index := range []string{"2", "4", "split"} {
			t.Run(format+" "+index, func(t *testing.T) {
				t.Parallel()
				r := gittest.Empty(t)
				if err := os.RemoveAll(filepath.Join(r.Dir, ".git")); err != nil {
					t.Fatal(err)
				}
				r.Git("init", "--quiet", "--object-format="+format)
				long := strings.Repeat("long/", 30) + "file"
				names := []string{"assumed", "skipped", "both", "gone", "absent", "same", "mode", "kind", "dir/file", long, "seen", "empty"}
				for _, name := range names {
					r.Write(name, "text of "+name+"\n")
				}
				r.Write("empty", "")
				r.Commit("files")
				past := time.Now().Add(-time.Hour)
				for _, name := range names { // so that their times differ from the index's
					if err := os.Chtimes(filepath.Join(r.Dir, name), past, past); err != nil {
						t.Fatal(err)
					}
				}
				r.Git("update-index", "--refresh")
				r.Git("update-index", "--assume-unchanged", "assumed", "both", "gone", "same", "mode", "kind", "dir/file", long, "empty")
				r.Git("update-index", "--skip-worktree", "skipped", "both", "absent")
				if index == "split" {
					r.Git("update-index", "--split-index")
				} else {
					r.Git("update-index", "--index-version", index)
				}
				w := open(t, r).Main()
				if got := statusOf(t, w, UntrackedAll); len(got) > 0 {
					t.Fatalf("untouched: %q", got)
				}
				in := func(name string) string { return filepath.Join(r.Dir, name) }
				for _, name := range []string{"assumed", "skipped", "both", "seen", "dir/file", long, "empty"} {
					r.Write(name, "Text of "+name+"\n") // most are as long as before
				}
				r.Write("same", "text of same\n")
				for _, name := range []string{"gone", "absent", "kind"} {
					if err := os.Remove(in(name)); err != nil {
						t.Fatal(err)
					}
				}
				r.Write("kind/of/directory", "")
				if err := os.Chmod(in("mode"), 0o755); err != nil {
					t.Fatal(err)
				}
				var got []string
				for e, err := range w.Status(t.Context(), UntrackedAll, RefreshNothing) {
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, fmt.Sprintf("%c%c %s %v", e.Index, e.Work, e.Path, e.Hidden))
				}
				slices.Sort(got)
				want := []string{
					".M assumed true", ".M skipped true", ".M both true", ".D gone true", ".M mode true", ".D kind true",
					".M dir/file true", ".M " + long + " true", ".M empty true", ".M seen false", "?? kind/of/directory false",
				}
				slices.Sort(want)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}
