package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// TestGitWritesWhereItWasMade: git writes a checkout into the very directory that was made
// for it. If its parent was replaced by a link, nothing is written through the link.
func TestGitWritesWhereItWasMade(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux starts a process in an open directory")
	}
	for name, write := range map[string]func(context.Context, *Worktree) error{
		"reset":          func(ctx context.Context, w *Worktree) error { return w.Checkout(ctx, 1) },
		"checkout-index": func(ctx context.Context, w *Worktree) error { return w.WriteStaged(ctx, 1) },
		"by workers":     func(ctx context.Context, w *Worktree) error { return w.WriteStaged(ctx, 4) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			r.Git("branch", "wt")
			up := r.Beside("app.croft")
			if err := os.Mkdir(up, 0o700); err != nil {
				t.Fatal(err)
			}
			w, err := open(t, r).Add(t.Context(), worktree.AddSpec{Admin: "croft-wt", Path: filepath.Join(up, "wt"), Branch: "wt"})
			if err != nil {
				t.Fatal(err)
			}
			victim := t.TempDir()
			gittest.WriteFile(t, filepath.Join(victim, filepath.Base(w.Path), "README.md"), "precious\n")
			if err := errors.Join(w.Checkout(t.Context(), 1), os.RemoveAll(filepath.Join(w.Path, "src")), write(t.Context(), w)); err != nil {
				t.Fatalf("before: %v", err)
			}
			if !fsx.IsThere(filepath.Join(w.Path, "src", "main.txt")) {
				t.Error("before: it wrote nothing")
			}
			if err := errors.Join(os.Rename(up, up+".aside"), os.Symlink(victim, up)); err != nil {
				t.Fatal(err)
			}
			if err := write(t.Context(), w); !errors.Is(err, fsx.ErrLink) {
				t.Errorf("through a link: %v", err)
			}
			for name, want := range map[string]string{"README.md": "precious\n", "src/main.txt": ""} {
				if b, _ := os.ReadFile(filepath.Join(victim, filepath.Base(w.Path), name)); string(b) != want {
					t.Errorf("%s of the victim: %q", name, b)
				}
			}
		})
	}
}
