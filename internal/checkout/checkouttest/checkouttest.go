// Package checkouttest proves that an implementation of checkout.Checkout keeps the
// contract of that package: a checkout can be rolled back after any step of its making,
// and nothing else is touched.
package checkouttest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// Kind says what the suite may expect besides the contract itself.
type Kind string

// The kinds of checkouts.
const (
	// Isolated: the checkout is a directory of its own.
	Isolated Kind = "isolated"
	// Shared: the checkout is the project itself.
	Shared Kind = "shared"
)

// Fixture is one checkout that a test may make.
type Fixture struct {
	Checkout checkout.Checkout
	Spec     checkout.Spec
	Repo     *gittest.Repo // the project; it has README.md and src/main.txt
	Kind     Kind
}

// Run proves the contract. make returns a checkout in a fresh project; its branch, if
// it has one, exists already.
func Run(t *testing.T, make func(t *testing.T) Fixture) {
	for _, c := range []struct {
		name string
		kind Kind // the kind that the test applies to; empty: all
		run  func(t *testing.T, f Fixture)
	}{
		{"MadeInSteps", "", made},
		{"DiscardAfterEachStep", "", discardAfterEachStep},
		{"DiscardAgain", "", discardAgain},
		{"DiscardLeavesForeign", Isolated, discardLeavesForeign},
		{"PathTaken", Isolated, pathTaken},
		{"VerifyFindsDifferences", Isolated, verifyDiffers},
		{"Changes", Isolated, changes},
		{"Health", Isolated, health},
		{"HealthOfAProjectThatIsGone", Shared, healthShared},
		{"Stow", Isolated, moveToTrash},
		{"StowAgain", Isolated, moveToTrashAgain},
		{"StowLink", Isolated, moveLinkToTrash},
		{"StowOther", Isolated, moveOtherToTrash},
		{"NeverTouchesTheProject", Shared, neverTouched},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := make(t)
			if c.kind != "" && c.kind != f.Kind {
				t.Skipf("for a checkout that is %s", c.kind)
			}
			c.run(t, f)
		})
	}
}

// steps returns the steps of making a checkout, in order.
func (f Fixture) steps(t *testing.T) []func() error {
	return []func() error{
		func() error { return f.Checkout.Prepare(t.Context(), f.Spec) },
		func() error { return f.Checkout.Fill(t.Context(), f.Spec) },
		func() error { _, err := f.Checkout.Verify(t.Context(), f.Spec); return err },
		func() error { return f.Checkout.Release(f.Spec) },
	}
}

// make makes the checkout or ends the test.
func (f Fixture) make(t *testing.T) {
	t.Helper()
	for i, step := range f.steps(t) {
		if err := step(); err != nil {
			t.Fatalf("step %d: %v", i+1, err)
		}
	}
}

// must ends the test if err is not nil.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantHealth compares the health of the checkout with want.
func (f Fixture) wantHealth(t *testing.T, when string, want checkout.Health) {
	t.Helper()
	if got := f.Checkout.Health(f.Spec); got != want {
		t.Errorf("%s: %s, want %s", when, got, want)
	}
}

// wantUntouched compares the files of the project, and those beside it, with an earlier
// snapshot.
func (f Fixture) wantUntouched(t *testing.T, otherwise string, before []string) {
	t.Helper()
	if after := f.snapshot(t); !slices.Equal(before, after) {
		t.Fatalf("%s:\n%q\nwant\n%q", otherwise, after, before)
	}
}

// snapshot lists every file of the project and beside it, with its content, except for
// git's objects.
func (f Fixture) snapshot(t *testing.T) []string {
	t.Helper()
	var list []string
	top := filepath.Dir(f.Repo.Dir)
	err := filepath.WalkDir(top, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "objects" || path == filepath.Join(f.Repo.Dir, ".git", "croft")):
			return filepath.SkipDir // Croft's own directory in the git directory holds no files of a checkout
		case d.Name() == "worktrees" && d.IsDir() && isEmpty(path):
			return filepath.SkipDir
		case d.Type().IsRegular():
			b, err := os.ReadFile(path)
			list = append(list, path+"\x00"+string(b))
			return err
		}
		list = append(list, path)
		return nil
	})
	must(t, err)
	return list
}

func isEmpty(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) == 0
}

func made(t *testing.T, f Fixture) {
	if f.Kind == Isolated {
		f.wantHealth(t, "health before", checkout.Missing)
	}
	f.make(t)
	f.wantHealth(t, "health", checkout.Intact)
	list, err := f.Checkout.Changes(t.Context(), f.Spec)
	if err != nil || len(list) != 0 {
		t.Errorf("changes %v, %v, want none", list, err)
	}
	for name, want := range map[string]string{"README.md": "# app\n", "src/main.txt": "one\ntwo\nthree\n"} {
		b, err := os.ReadFile(filepath.Join(f.Spec.Path, filepath.FromSlash(name)))
		if err != nil || string(b) != want {
			t.Errorf("%s = %q, %v, want %q", name, b, err, want)
		}
	}
}

func discardAfterEachStep(t *testing.T, f Fixture) {
	before := f.snapshot(t)
	for n := range len(f.steps(t)) + 1 {
		for i, step := range f.steps(t)[:n] {
			if err := step(); err != nil {
				t.Fatalf("step %d of %d: %v", i+1, n, err)
			}
		}
		if err := f.Checkout.Discard(f.Spec); err != nil {
			t.Fatalf("discard after %d steps: %v", n, err)
		}
		f.wantUntouched(t, fmt.Sprintf("after %d steps something is left", n), before)
	}
	f.make(t) // the path is free again
}

func discardAgain(t *testing.T, f Fixture) {
	f.make(t)
	for range 2 {
		if err := f.Checkout.Discard(f.Spec); err != nil {
			t.Errorf("discard: %v", err)
		}
	}
}

func discardLeavesForeign(t *testing.T, f Fixture) {
	mine := filepath.Join(f.Spec.Path, "mine.txt")
	gittest.WriteFile(t, mine, "mine")
	before := f.snapshot(t)
	must(t, f.Checkout.Discard(f.Spec))
	f.wantUntouched(t, "a foreign directory was touched", before)
}

func pathTaken(t *testing.T, f Fixture) {
	for _, what := range []string{"directory", "file", "link"} {
		switch what {
		case "directory":
			gittest.WriteFile(t, filepath.Join(f.Spec.Path, "mine.txt"), "mine")
		case "file":
			gittest.WriteFile(t, f.Spec.Path, "mine")
		case "link":
			if err := os.Symlink("nowhere", f.Spec.Path); err != nil {
				t.Skip("needs symbolic links")
			}
		}
		before := f.snapshot(t)
		if err := f.Checkout.Prepare(t.Context(), f.Spec); !errors.Is(err, checkout.ErrExists) {
			t.Errorf("%s: %v, want ErrExists", what, err)
		}
		f.wantUntouched(t, fmt.Sprintf("%s: something was touched", what), before)
		must(t, os.RemoveAll(f.Spec.Path))
	}
}

func verifyDiffers(t *testing.T, f Fixture) {
	for name, damage := range map[string]func() error{
		"deleted": func() error { return os.Remove(filepath.Join(f.Spec.Path, "README.md")) },
		"extra":   func() error { return os.WriteFile(filepath.Join(f.Spec.Path, "extra"), nil, 0o644) },
	} {
		for _, step := range f.steps(t)[:2] {
			must(t, step())
		}
		must(t, damage())
		if _, err := f.Checkout.Verify(t.Context(), f.Spec); !errors.Is(err, checkout.ErrDiffers) {
			t.Errorf("%s: %v, want ErrDiffers", name, err)
		}
		must(t, f.Checkout.Discard(f.Spec))
	}
}

func changes(t *testing.T, f Fixture) {
	f.make(t)
	gittest.WriteFile(t, filepath.Join(f.Spec.Path, "README.md"), "changed\n")
	gittest.WriteFile(t, filepath.Join(f.Spec.Path, "new", "file.txt"), "new\n")
	got, err := f.Checkout.Changes(t.Context(), f.Spec)
	want := []checkout.Change{{Path: "README.md", Kind: checkout.Modified}, {Path: "new/file.txt", Kind: checkout.Untracked}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("changes %v, %v, want %v", got, err, want)
	}
}

func health(t *testing.T, f Fixture) {
	f.make(t)
	away := f.Spec.Path + ".away"
	must(t, os.Rename(f.Spec.Path, away))
	f.wantHealth(t, "moved away", checkout.Missing)
	gittest.WriteFile(t, filepath.Join(f.Spec.Path, "mine.txt"), "mine")
	f.wantHealth(t, "something else in its place", checkout.Foreign)
	must(t, os.RemoveAll(f.Spec.Path))
	must(t, os.Rename(away, f.Spec.Path))
	f.wantHealth(t, "moved back", checkout.Intact)
}

func healthShared(t *testing.T, f Fixture) {
	f.make(t)
	must(t, os.Rename(f.Repo.Dir, f.Repo.Dir+".away"))
	f.wantHealth(t, "health", checkout.Missing)
	if err := f.Checkout.Prepare(t.Context(), f.Spec); err == nil {
		t.Error("a project that is gone was handed out")
	}
}

// moveToTrash tests that a checkout moves with everything in it.
func moveToTrash(t *testing.T, f Fixture) {
	f.make(t)
	gittest.WriteFile(t, filepath.Join(f.Spec.Path, "wip.txt"), "wip")
	trash := realTempDir(t)
	must(t, f.Checkout.MoveToTrash(f.Spec, trash))
	f.wantHealth(t, "health", checkout.Missing)
	b, err := os.ReadFile(filepath.Join(trash, "tree", "wip.txt"))
	if err != nil || string(b) != "wip" {
		t.Errorf("in the trash: %q, %v", b, err)
	}
	f.make(t) // the path is free again
}

func moveToTrashAgain(t *testing.T, f Fixture) {
	f.make(t)
	trash := realTempDir(t)
	for range 2 {
		if err := f.Checkout.MoveToTrash(f.Spec, trash); err != nil {
			t.Fatalf("stow: %v", err)
		}
	}
	if _, err := os.Stat(filepath.Join(trash, "tree", "README.md")); err != nil {
		t.Errorf("the second time lost what the first had kept: %v", err)
	}
	// It also succeeds for a checkout that was never made.
	if err := f.Checkout.MoveToTrash(f.Spec, realTempDir(t)); err != nil {
		t.Errorf("stow of nothing: %v", err)
	}
}

func moveLinkToTrash(t *testing.T, f Fixture) {
	f.make(t)
	away := f.Spec.Path + ".away"
	must(t, os.Rename(f.Spec.Path, away))
	if err := os.Symlink(away, f.Spec.Path); err != nil {
		t.Skip("needs symbolic links")
	}
	if err := f.Checkout.MoveToTrash(f.Spec, realTempDir(t)); !errors.Is(err, checkout.ErrOther) {
		t.Errorf("stow of a link: %v", err)
	}
	if _, err := os.Stat(filepath.Join(away, "README.md")); err != nil {
		t.Errorf("the link was followed: %v", err)
	}
	if _, err := os.Lstat(f.Spec.Path); err != nil {
		t.Error("the link, which nobody of ours made, is gone")
	}
	must(t, errors.Join(os.Remove(f.Spec.Path), os.Rename(away, f.Spec.Path)))
	if err := f.Checkout.MoveToTrash(f.Spec, realTempDir(t)); err != nil {
		t.Errorf("what came back to its path: %v", err)
	}
}

// moveOtherToTrash tests that an equal directory in the checkout's place is not moved.
func moveOtherToTrash(t *testing.T, f Fixture) {
	f.make(t)
	away := f.Spec.Path + ".away"
	must(t, os.Rename(f.Spec.Path, away))
	must(t, os.CopyFS(f.Spec.Path, os.DirFS(away)))
	if err := f.Checkout.MoveToTrash(f.Spec, realTempDir(t)); !errors.Is(err, checkout.ErrOther) {
		t.Errorf("stow of another directory: %v", err)
	}
	if err := f.Checkout.Discard(f.Spec); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(f.Spec.Path, "README.md")); err != nil {
		t.Errorf("another directory was moved or deleted: %v", err)
	}
}

// realTempDir returns a directory no part of whose path is a link.
func realTempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}

func neverTouched(t *testing.T, f Fixture) {
	before := f.snapshot(t)
	f.make(t)
	must(t, f.Checkout.MoveToTrash(f.Spec, realTempDir(t)))
	must(t, f.Checkout.Discard(f.Spec))
	f.wantUntouched(t, "the project was touched", before)
}
