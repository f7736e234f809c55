//go:build failpoints

package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// staleDeps is a project with a full pool whose copies are of files that have changed since: filling deletes them and makes
// others.
func staleDeps(t *testing.T) (*gittest.Repo, task) {
	t.Helper()
	r, _ := fullDeps(t)
	r.Write("deps/d1/f1", "another\n")
	return r, task{Call: "ChangePool", Request: json.RawMessage("{}")}
}

// fullDeps is a project with a full pool.
func fullDeps(t *testing.T) (*gittest.Repo, task) {
	t.Helper()
	r := withDeps(t, "copy")
	brief(t, r, func(e *engine.Engine) { stockedDeps(t, e, 3) })
	return r, task{Create: &croft.CreateAllRequest{Key: "k", Workspaces: []croft.CreateRequest{{Name: "a"}, {Name: "b"}}}}
}

// wantSoundCopies wants what comes in from the stock to be what is copied, and nothing else in the stock's directory.
func wantSoundCopies(t *testing.T, r *gittest.Repo, e croft.Service) {
	t.Helper()
	p := stockedDeps(t, e, 3)
	eachCopy(t, p, func(string) {})
	if all, err := os.ReadDir(p.Path); err != nil || len(all) != len(p.Spares)+len(p.Copies) {
		t.Errorf("%v in the pool, %+v, %v", all, p, err)
	}
	w := newWith(t, e, "sound", true)
	plain := newWith(t, engineIn(t, r, 0, "pool.size", "0"), "plain", false)
	if diff := cmp.Diff(provisionedAs(t, r, plain), provisionedAs(t, r, w)); diff != "" {
		t.Errorf("(-copied +from the pool):\n%s", diff)
	}
}

// TestKilledTakingCopies kills a process that makes workspaces, or has it fail, around the moments at which it takes a copy.
func TestKilledTakingCopies(t *testing.T) {
	for _, point := range []string{"pool.copyclaimed", "pool.copyplaced", "pool.copyplaced#2", "equip.copied#2", "equip.copied#400", "pool.removed#2", "equip.placed", "create.equipped"} {
		for _, how := range []string{"kill", "fail"} {
			t.Run(how+" "+point, func(t *testing.T) {
				t.Parallel()
				r, job := fullDeps(t)
				out, err := run(t, helper(t, r, job, "CROFT_FAILPOINT="+how+"="+point))
				if how == "kill" && err == nil {
					t.Fatalf("it was to be killed: %s", out)
				}
				e := engineIn(t, r, 0)
				gc(t, e)
				list, err := e.CreateAll(t.Context(), *job.Create)
				if err != nil || len(list.Workspaces) != 2 {
					t.Fatalf("%+v, %v", list, err)
				}
				plain := newWith(t, engineIn(t, r, 0, "pool.size", "0"), "first", false)
				for _, w := range list.Workspaces {
					if diff := cmp.Diff(provisionedAs(t, r, plain), provisionedAs(t, r, &w)); diff != "" {
						t.Errorf("%s (-copied +after %s):\n%s", w.Name, point, diff)
					}
				}
				wantSoundCopies(t, r, e)
			})
		}
	}
}

// TestKilledFillingCopies kills a process that brings the copies up to date, or has it fail.
func TestKilledFillingCopies(t *testing.T) {
	for _, point := range []string{"pool.removed", "pool.removed#3", "pool.begun", "pool.made", "pool.recorded", "pool.copied", "pool.copied#2", "pool.begun#3"} {
		for _, how := range []string{"kill", "fail"} {
			t.Run(how+" "+point, func(t *testing.T) {
				t.Parallel()
				r, job := staleDeps(t)
				if out, err := run(t, helper(t, r, job, "CROFT_FAILPOINT="+how+"="+point)); err == nil {
					t.Fatalf("it was to end there: %s", out)
				}
				wantSoundCopies(t, r, engineIn(t, r, 0))
			})
		}
	}
}

// TestWritesWhileCopiesAreMade: an agent writes to the project's files while copies of them are made, with the size and the
// time that they had. No copy with the one or the other content is handed out as the project's.
func TestWritesWhileCopiesAreMade(t *testing.T) {
	r := withDeps(t, "copy")
	goOn := paused(t, r, task{Call: "ChangePool", Request: json.RawMessage("{}")}, "pool.copied")
	f := filepath.Join(r.Dir, "deps", "d1", "f1")
	info, err := os.Stat(f)
	check(t, joined(err, os.WriteFile(f, []byte("FILE 1\n"), 0o600), os.Chtimes(f, info.ModTime(), info.ModTime())))
	if out, err := goOn(); err != nil {
		t.Fatal(out, err)
	}
	e := engineIn(t, r, 0)
	p, err := e.Pool(t.Context(), croft.PoolRequest{})
	if err != nil || len(p.Copies) > 0 || p.Why == "" {
		t.Errorf("%+v, %v", p, err)
	}
	w := newWith(t, e, "a", false)
	if got := read(t, filepath.Join(w.Path, "deps", "d1", "f1")); got != "FILE 1\n" {
		t.Errorf("%q", got)
	}
	stockedDeps(t, e, 3)
	w = newWith(t, e, "b", true)
	if got := read(t, filepath.Join(w.Path, "deps", "d1", "f1")); got != "FILE 1\n" {
		t.Errorf("%q", got)
	}
}
