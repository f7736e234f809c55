//go:build unix

package git

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// both runs a test for files that are exchanged, and for those that git writes into the checkout.
func both(t *testing.T, name string, test func(t *testing.T, r *gittest.Repo)) {
	t.Run(name, func(t *testing.T) { test(t, gittest.New(t)) })
	t.Run(name+", by git", func(t *testing.T) {
		r := gittest.New(t)
		r.Write(".gitattributes", "other -text\n")
		r.Write(".git/info/exclude", ".gitattributes\n")
		test(t, r)
	})
}

// TestAdvanceKeepsLateEdits: what a user writes after the checkout was compared, and before git writes it, stays.
func TestAdvanceKeepsLateEdits(t *testing.T) {
	replace := func(name string) func(r *gittest.Repo) {
		return func(r *gittest.Repo) {
			r.Write(name+"~", "mine\n")
			if err := os.Rename(filepath.Join(r.Dir, name+"~"), filepath.Join(r.Dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, tt := range map[string]struct {
		path string
		do   func(r *gittest.Repo)
	}{
		"in place":      {"goes", func(r *gittest.Repo) { r.Write("goes", "mine\n") }},
		"by rename":     {"goes", replace("goes")},
		"new":           {"dir/new", func(r *gittest.Repo) { r.Write("dir/new", "mine\n") }},
		"new by rename": {"dir/new", replace("dir/new")},
	} {
		both(t, name, func(t *testing.T, r *gittest.Repo) {
			r.Write("goes", "goes\n")
			old := r.Commit("second")
			now := next(r, map[string]string{"goes": "new\n", "dir/new": "new\n"})
			settle(t, r, "goes")
			repo := open(t, r)
			a, err := repo.Hosts("main")[0].Prepare(t.Context(), old, now)
			if err != nil {
				t.Fatal(err)
			}
			defer a.Cancel()
			isExchanged := a.move != nil
			tt.do(r)
			err = a.Apply(t.Context())
			found, dirty := errors.AsType[*HostDirtyError](err)
			if !dirty {
				t.Fatalf("it failed otherwise: %v", err)
			}
			if isNew := tt.path == "dir/new"; isExchanged && (found.Cause == inTheWay) != isNew {
				t.Errorf("the cause is %q", found.Cause)
			}
			if got, _ := os.ReadFile(filepath.Join(r.Dir, tt.path)); string(got) != "mine\n" {
				t.Errorf("the edit became %q", got)
			}
		})
	}
}

// TestAdvanceKeepsEditsMeanwhile: what a user writes in place into a file that git has compared already, and replaces then, stays.
func TestAdvanceKeepsEditsMeanwhile(t *testing.T) {
	both(t, "exchanged", func(t *testing.T, r *gittest.Repo) {
		r.Write("goes", "goes\n")
		old := r.Commit("second")
		now := next(r, map[string]string{"goes": "new\n", "dir/new": "new\n"})
		settle(t, r, "goes")
		file := filepath.Join(r.Dir, "goes")
		late := script(t, filepath.Join(r.Home, "late-git"), `case "$*" in *read-tree*) exec 3>>'`+file+`'; git "$@" || exit; echo mine >&3;; *) exec git "$@";; esac`)
		repo := open(t, r, func(o *gitcmd.Options) { o.Path, o.Unfenced = late, true })
		err := advance(t, repo, old, now)
		if _, dirty := errors.AsType[*HostDirtyError](err); !dirty {
			t.Errorf("it failed otherwise: %v", err)
		}
		if got := readFile(t, file); got != "goes\nmine\n" {
			t.Errorf("the edit became %q", got)
		}
		if got := r.Git("status", "--porcelain"); got != " M goes" {
			t.Errorf("status: %s", got)
		}
	})
}

// TestUndoKeepsEdits: a checkout goes back, but for what its user has written meanwhile.
func TestUndoKeepsEdits(t *testing.T) {
	both(t, "exchanged", func(t *testing.T, r *gittest.Repo) {
		r.Write("goes", "goes\n")
		r.Write("also", "also\n")
		old := r.Commit("second")
		now := next(r, map[string]string{"goes": "new\n", "also": "new\n", "dir/new": "new\n"})
		settle(t, r, "goes", "also")
		a, err := open(t, r).Hosts("main")[0].Prepare(t.Context(), old, now)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Cancel()
		if err := a.Apply(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.Write("goes", "mine\n")
		if err := a.Undo(errors.New("the branch did not move")); err == nil {
			t.Error("nothing is said of the edit")
		}
		if got := readFile(t, filepath.Join(r.Dir, "goes")); got != "mine\n" {
			t.Errorf("the edit became %q", got)
		}
		if got := r.Git("status", "--porcelain"); got != " M goes" {
			t.Errorf("status: %s", got)
		}
	})
}
