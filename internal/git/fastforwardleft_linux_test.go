package git

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestAdvanceAfterADeadMove: what a process left that died before it moved a file, or whose list was lost, is out of the way of the
// next one, which names what it has kept.
func TestAdvanceAfterADeadMove(t *testing.T) {
	for name, list := range map[string]string{"before it moved a file": "", "its list was lost": "{"} {
		t.Run(name, func(t *testing.T) {
			r := gittest.New(t)
			r.Write("goes", "goes\n")
			old := r.Commit("second")
			now := next(r, map[string]string{"goes": "new\n"})
			settle(t, r, "goes")
			repo := open(t, r)
			h := repo.Hosts("main")[0]
			own := h.place().Own
			for _, dir := range []string{"new", "gone"} {
				if err := os.MkdirAll(filepath.Join(own, dir), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			gittest.WriteFile(t, filepath.Join(own, "new", "goes"), "mine\n")
			if list != "" {
				gittest.WriteFile(t, filepath.Join(own, "files"), list)
				if _, err := h.Prepare(t.Context(), old, now); err == nil {
					t.Error("nothing is said of the list")
				}
				kept := repo.Unrestored()
				if len(kept) != 1 || len(kept[0].Files) == 0 {
					t.Fatalf("kept: %+v", kept)
				}
			}
			a, err := repo.Hosts("main")[0].Prepare(t.Context(), old, now)
			if err != nil {
				t.Fatal(err)
			}
			defer a.Cancel()
			if err := a.Apply(t.Context()); err != nil {
				t.Error(err)
			}
			if got := readFile(t, filepath.Join(r.Dir, "goes")); got != "new\n" {
				t.Errorf("the file is %q", got)
			}
			a.Cancel()
			if left, err := os.ReadDir(filepath.Dir(own)); err != nil || len(left) > 0 {
				t.Errorf("left in Croft's own directory: %v, %v", left, err)
			}
		})
	}
}
