package engine_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/provision"
)

// ways are those in which provisioning is asked for a directory named deps.
var ways = map[string]func(r *gittest.Repo){
	"include": func(r *gittest.Repo) { r.Write(".worktreeinclude", "deps/\n.env\n") },
	"copy":    func(r *gittest.Repo) { r.Write("croft.toml", "[[provision.path]]\npath = \"deps\"\nhow = \"copy\"\n") },
	"clone":   func(r *gittest.Repo) { r.Write("croft.toml", "[[provision.path]]\npath = \"deps\"\nhow = \"clone\"\n") },
	"pattern": func(r *gittest.Repo) { r.Write("croft.toml", "[[provision.path]]\npath = \"dep*\"\nhow = \"copy\"\n") },
}

// withDeps returns a project whose workspaces get a directory of many ignored files.
func withDeps(t *testing.T, way string) *gittest.Repo {
	t.Helper()
	r := gittest.New(t)
	r.Write(".gitignore", "deps/\n.env\n")
	ways[way](r)
	r.Commit("rules")
	r.Write(".env", "KEY=1\n")
	for i := range 300 {
		r.Write(fmt.Sprintf("deps/d%d/f%d", i%7, i), fmt.Sprintln("file", i))
	}
	return r
}

// stockedDeps fills the pool, and wants copies of deps in it.
func stockedDeps(t *testing.T, e croft.Service, want int) *croft.Pool {
	t.Helper()
	p, err := e.ChangePool(t.Context(), croft.ChangePoolRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(p.Copies); n != want || n > 0 && p.Copies[0].Path != "deps" {
		t.Fatalf("copies in stock: %+v (%s), want %d of deps", p.Copies, p.Why, want)
	}
	return p
}

// fromPool is how many of a workspace's provisioned files came in by a rename.
func fromPool(w *croft.Workspace) (n int) {
	if w.Provision == nil {
		return 0
	}
	for _, p := range w.Provision.Paths {
		n += p.FromPool
	}
	return n
}

// newWith makes a workspace, and wants its files from the pool, or none of them.
func newWith(t *testing.T, e croft.Service, name string, isFromPool bool) *croft.Workspace {
	t.Helper()
	w, err := e.Create(t.Context(), croft.CreateRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	if n := fromPool(w); n > 0 != isFromPool {
		t.Fatalf("%s: %d files from the pool: %+v", name, n, w.Provision)
	}
	return w
}

// provisionedAs is all that can be seen of what was brought into a workspace.
func provisionedAs(t *testing.T, r *gittest.Repo, w *croft.Workspace) map[string]string {
	t.Helper()
	got := map[string]string{"/status": r.GitIn(w.Path, "status", "--porcelain", "--ignored")}
	for _, p := range w.Provision.Paths {
		p.FromPool = 0
		text, err := json.Marshal(p)
		check(t, err)
		got["/provision "+p.Path] = string(text)
	}
	lists, err := filepath.Glob(filepath.Join(stateDir(r), "repos", "*", "provision", string(w.ID)))
	check(t, err)
	var copies []provision.Copy
	for _, list := range lists {
		text, err := os.ReadFile(list)
		check(t, joined(err, json.Unmarshal(text, &copies)))
	}
	for _, c := range copies {
		text, err := json.Marshal(c)
		check(t, err)
		got["/copy "+c.Path] = string(text)
	}
	check(t, filepath.WalkDir(filepath.Join(w.Path, "deps"), func(path string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		check(t, err)
		info, err := d.Info()
		check(t, err)
		text := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			b, err := os.ReadFile(path)
			check(t, err)
			text += fmt.Sprint(" ", info.ModTime().UnixNano(), " ", string(b))
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			check(t, err)
			text += " " + to
		}
		got[strings.TrimPrefix(path, w.Path)] = text
		return nil
	}))
	return got
}

// TestPoolCopiesEqualCopies: what comes in from the stock is what would be copied now, in random directories.
func TestPoolCopiesEqualCopies(t *testing.T) {
	n := 2
	if os.Getenv("CROFT_LONG") != "" {
		n = 50
	}
	for way := range ways {
		for seed := range n {
			t.Run(fmt.Sprint(way, seed), func(t *testing.T) {
				t.Parallel()
				rnd := rand.New(rand.NewPCG(uint64(seed), 2))
				r := withDeps(t, way)
				growDeps(t, r, rnd)
				var plain *croft.Workspace
				brief(t, r, func(e *engine.Engine) { plain = newWith(t, e, "plain", false) })
				e := engineIn(t, r, 0)
				stockedDeps(t, e, 3)
				want := provisionedAs(t, r, plain)
				for _, name := range []string{"a", "b", "c"} {
					w := newWith(t, e, name, true)
					if diff := cmp.Diff(want, provisionedAs(t, r, w)); diff != "" {
						t.Fatalf("%s is not what is copied (-copied +pool):\n%s", name, diff)
					}
				}
				if diff := cmp.Diff(want, provisionedAs(t, r, newWith(t, e, "d", false))); diff != "" {
					t.Errorf("%s", diff)
				}
				for _, name := range []croft.Ref{"plain", "a"} {
					_, err := e.Provision(t.Context(), croft.ProvisionRequest{Workspace: name})
					check(t, err)
				}
				var drift [2][]croft.Drift
				for i, name := range []croft.Ref{"plain", "a"} {
					plan, err := e.PlanProvision(t.Context(), croft.PlanProvisionRequest{Workspace: name})
					check(t, err)
					drift[i] = plan.Provision.Drift
				}
				if diff := cmp.Diff(drift[0], drift[1]); diff != "" {
					t.Errorf("drift (-copied +pool): %s", diff)
				}
				if w, err := e.Workspace(t.Context(), croft.WorkspaceRequest{Ref: "a"}); err != nil || fromPool(w) == 0 {
					t.Errorf("it is not told any more where its files came from: %+v, %v", w, err)
				}
			})
		}
	}
}

// growDeps adds links, modes, times, empty and large files, nested repositories, pipes and odd names.
func growDeps(t *testing.T, r *gittest.Repo, rnd *rand.Rand) {
	t.Helper()
	top := filepath.Join(r.Dir, "deps")
	dirs := []string{"", ".bin", "a", "a/b c", "ä", "\xff\xfe", strings.Repeat("deep/", 20) + "end", strings.Repeat("n", 200), "-x", "d1", "new\nline"}
	for i := range 40 + rnd.IntN(40) {
		name := filepath.Join(top, dirs[rnd.IntN(len(dirs))], fmt.Sprintf("f %d", i))
		check(t, os.MkdirAll(filepath.Dir(name), 0o777))
		switch rnd.IntN(9) {
		case 0:
			check(t, os.Symlink([]string{"f 1", "../d1/f1", "/nowhere/at/all", "../../../out", "../.git/config"}[rnd.IntN(5)], name))
		case 1:
			gittest.WriteFile(t, name, "#!/bin/sh\n")
			check(t, os.Chmod(name, []fs.FileMode{0o755, 0o400, 0, 0o777, 0o600}[rnd.IntN(5)]))
		case 2:
			gittest.WriteFile(t, name, "")
		case 3:
			r.GitIn(filepath.Dir(name), "init", "--quiet", name)
		case 4:
			gittest.WriteFile(t, name, strings.Repeat("\x00\xff", rnd.IntN(1_000_000)))
		case 5:
			gittest.WriteFile(t, name, "old\n")
			when := time.Unix(rnd.Int64N(1_700_000_000), rnd.Int64N(1e9))
			check(t, os.Chtimes(name, when, when))
		case 6:
			check(t, unix.Mkfifo(name, 0o644))
		case 7:
			check(t, os.Mkdir(name, 0o755)) // an empty directory
		default:
			gittest.WriteFile(t, name, fmt.Sprint(i))
		}
	}
}

// TestPoolCopiesFollowTheProject: after any change of what was copied it is copied anew.
func TestPoolCopiesFollowTheProject(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, dir string){
		"a file is written with the same size and time": func(t *testing.T, dir string) {
			f := filepath.Join(dir, "d1", "f1")
			info, err := os.Stat(f)
			check(t, err)
			check(t, joined(os.WriteFile(f, []byte("FILE 1\n"), 0o600), os.Chtimes(f, info.ModTime(), info.ModTime())))
		},
		"a file is added":   func(t *testing.T, dir string) { gittest.WriteFile(t, filepath.Join(dir, "d1", "more"), "more\n") },
		"a file is removed": func(t *testing.T, dir string) { check(t, os.Remove(filepath.Join(dir, "d1", "f1"))) },
		"a file is renamed": func(t *testing.T, dir string) {
			check(t, os.Rename(filepath.Join(dir, "d1", "f1"), filepath.Join(dir, "d1", "f1a")))
		},
		"two files change places": func(t *testing.T, dir string) {
			a, b := filepath.Join(dir, "d1", "f1"), filepath.Join(dir, "d1", "f8")
			check(t, joined(os.Rename(a, a+"x"), os.Rename(b, a), os.Rename(a+"x", b)))
		},
		"a mode is changed": func(t *testing.T, dir string) { check(t, os.Chmod(filepath.Join(dir, "d1", "f1"), 0o755)) },
		"a file becomes a link": func(t *testing.T, dir string) {
			f := filepath.Join(dir, "d1", "f1")
			check(t, joined(os.Remove(f), os.Symlink("f8", f)))
		},
		"a directory becomes a link": func(t *testing.T, dir string) {
			check(t, joined(os.Rename(filepath.Join(dir, "d1"), filepath.Join(dir, "..", ".git", "aside")), os.Symlink("../.git/aside", filepath.Join(dir, "d1"))))
		},
		"the directory becomes a link": func(t *testing.T, dir string) {
			check(t, joined(os.Rename(dir, filepath.Join(dir, "..", ".git", "aside")), os.Symlink(".git/aside", dir)))
		},
		"the directory is gone": func(t *testing.T, dir string) { check(t, os.RemoveAll(dir)) },
		"a repository is made": func(t *testing.T, dir string) {
			at := filepath.Join(dir, "d1", ".git")
			check(t, joined(os.MkdirAll(filepath.Join(at, "objects"), 0o755), os.Mkdir(filepath.Join(at, "refs"), 0o755)))
			gittest.WriteFile(t, filepath.Join(at, "HEAD"), "ref: refs/heads/main\n")
		},
		"all files are written anew": func(t *testing.T, dir string) {
			check(t, joined(os.CopyFS(dir+".new", os.DirFS(dir)), os.RemoveAll(dir), os.Rename(dir+".new", dir)))
		},
	} {
		for way := range ways {
			if way != "clone" && (way != "include" || !strings.HasPrefix(name, "a ")) {
				continue
			}
			t.Run(name+" "+way, func(t *testing.T) {
				t.Parallel()
				r := withDeps(t, way)
				e := engineIn(t, r, 0)
				stockedDeps(t, e, 3)
				newWith(t, e, "before", true)
				change(t, filepath.Join(r.Dir, "deps"))
				after := provisionedAsIfAny(t, r, newWith(t, e, "after", false))
				plain := newWith(t, engineIn(t, r, 0, "pool.size", "0"), "plain", false)
				if diff := cmp.Diff(provisionedAsIfAny(t, r, plain), after); diff != "" {
					t.Errorf("(-copied +with a pool):\n%s", diff)
				}
				p, err := e.ChangePool(t.Context(), croft.ChangePoolRequest{})
				check(t, err)
				w := newWith(t, e, "refilled", len(p.Copies) > 0)
				if diff := cmp.Diff(after, provisionedAsIfAny(t, r, w)); diff != "" {
					t.Errorf("(-copied +from the pool):\n%s", diff)
				}
			})
		}
	}
}

// provisionedAsIfAny is provisionedAs, also of a workspace that got nothing.
func provisionedAsIfAny(t *testing.T, r *gittest.Repo, w *croft.Workspace) map[string]string {
	t.Helper()
	if w.Provision == nil {
		w.Provision = &croft.Provision{}
	}
	return provisionedAs(t, r, w)
}

// eachCopy calls act with the directory of each copy in stock.
func eachCopy(t *testing.T, p *croft.Pool, act func(dir string)) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(p.Path, "*", "deps"))
	check(t, err)
	if len(found) != len(p.Copies) || len(found) == 0 {
		t.Fatalf("%q, and %d copies", found, len(p.Copies))
	}
	for _, dir := range found {
		act(dir)
	}
}

// TestPoolCopiesAreTheUsers: what has happened to copies in stock is noticed, and nothing of it is handed out.
func TestPoolCopiesAreTheUsers(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, dir string){
		"a file was added":   func(t *testing.T, dir string) { gittest.WriteFile(t, filepath.Join(dir, "d1", "evil"), "evil\n") },
		"a file was deleted": func(t *testing.T, dir string) { check(t, os.Remove(filepath.Join(dir, "d1", "f1"))) },
		"a file was written with the same size and time": func(t *testing.T, dir string) {
			f := filepath.Join(dir, "d1", "f1")
			info, err := os.Stat(f)
			check(t, err)
			check(t, joined(os.WriteFile(f, []byte("FILE 1\n"), 0o600), os.Chtimes(f, info.ModTime(), info.ModTime())))
		},
		"a mode was changed": func(t *testing.T, dir string) { check(t, os.Chmod(filepath.Join(dir, "d1", "f1"), 0o755)) },
		"a file got a second name": func(t *testing.T, dir string) {
			check(t, os.Link(filepath.Join(dir, "d1", "f1"), filepath.Join(dir, "..", "..", "..", filepath.Base(filepath.Dir(dir)))))
		},
		"a directory is a link": func(t *testing.T, dir string) {
			d := filepath.Join(dir, "d1")
			check(t, joined(os.Rename(d, filepath.Join(dir, "..", "aside")), os.Symlink("../aside", d)))
		},
		"it is a link": func(t *testing.T, dir string) { check(t, joined(os.Rename(dir, dir+"x"), os.Symlink("depsx", dir))) },
		"it was made anew": func(t *testing.T, dir string) {
			check(t, joined(os.CopyFS(dir+".copy", os.DirFS(dir)), os.RemoveAll(dir), os.Rename(dir+".copy", dir)))
		},
		"it is gone": func(t *testing.T, dir string) { check(t, os.RemoveAll(dir)) },
		"what it lies in is a link": func(t *testing.T, dir string) {
			up := filepath.Dir(dir)
			check(t, joined(os.Rename(up, up+"x"), os.Symlink(up+"x", up)))
		},
		"an empty directory was added": func(t *testing.T, dir string) { check(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := withDeps(t, "copy")
			var plain *croft.Workspace
			brief(t, r, func(e *engine.Engine) { plain = newWith(t, e, "plain", false) })
			e := engineIn(t, r, 0)
			eachCopy(t, stockedDeps(t, e, 3), func(dir string) { harm(t, dir) })
			w := newWith(t, e, "a", false)
			if diff := cmp.Diff(provisionedAs(t, r, plain), provisionedAs(t, r, w)); diff != "" {
				t.Error(diff)
			}
			stockedDeps(t, e, 3)
			w = newWith(t, e, "b", true)
			if diff := cmp.Diff(provisionedAs(t, r, plain), provisionedAs(t, r, w)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPoolCopiesLimits: no more than the settings allow, and nothing that does not come in.
func TestPoolCopiesLimits(t *testing.T) {
	for name, tt := range map[string]struct {
		settings []string
		prepare  func(r *gittest.Repo)
		want     int
		isOther  bool // two workspaces differ anyway: in what is over a limit, or in the times of tracked files
	}{
		"as many as checkouts":         {[]string{"pool.size", "2"}, nil, 2, false},
		"none":                         {[]string{"pool.size", "0"}, nil, 0, false},
		"pool.max_inodes":              {[]string{"pool.max_inodes", "700"}, nil, 2, false},
		"pool.max_bytes":               {[]string{"pool.max_bytes", "4000"}, nil, 1, false},
		"provision.max_files":          {[]string{"provision.max_files", "299"}, nil, 0, true},
		"provision.max_bytes":          {[]string{"provision.max_bytes", "1000"}, nil, 0, true},
		"provision.include":            {[]string{"provision.include", "false"}, nil, 0, false},
		"the directory is linked":      {[]string{"checkout.links", "deps"}, nil, 0, false},
		"the commit has the directory": {nil, func(r *gittest.Repo) { r.Git("add", "--force", "deps/d1"); r.Git("commit", "--quiet", "-m", "tracked") }, 0, true},
		"the directory became too small": {nil, func(r *gittest.Repo) {
			_ = os.RemoveAll(filepath.Join(r.Dir, "deps", "d1"))
			_ = os.RemoveAll(filepath.Join(r.Dir, "deps", "d2"))
		}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := withDeps(t, "include")
			if tt.prepare != nil {
				tt.prepare(r)
			}
			e := engineIn(t, r, 0, tt.settings...)
			stockedDeps(t, e, tt.want)
			w := newWith(t, e, "a", tt.want > 0)
			plain := newWith(t, engineIn(t, r, 0, append(tt.settings, "pool.size", "0")...), "plain", false)
			if diff := cmp.Diff(provisionedAsIfAny(t, r, plain), provisionedAsIfAny(t, r, w)); diff != "" && !tt.isOther {
				t.Error(diff)
			}
		})
	}
}

// TestPoolCopiesAndLimitsOfWorkspaces: limits that were lowered since count for what is in stock.
func TestPoolCopiesAndLimitsOfWorkspaces(t *testing.T) {
	for _, setting := range [][]string{{"provision.max_files", "200"}, {"provision.max_bytes", "1000"}} {
		r := withDeps(t, "copy")
		stockedDeps(t, engineIn(t, r, 0), 3)
		w := newWith(t, engineIn(t, r, 0, setting...), "a", false)
		if p := w.Provision.Paths[0]; p.Files >= 300 || len(p.Skipped) == 0 {
			t.Errorf("%s: %+v", setting, p)
		}
	}
}

// TestPoolCopiesInIsolation: an isolated workspace gets ignored files only if the user allows it, also of those in stock.
func TestPoolCopiesInIsolation(t *testing.T) {
	r := withDeps(t, "include")
	for _, allowed := range []string{"false", "true"} {
		e := engineIn(t, r, 0, "provision.secrets", allowed)
		stockedDeps(t, e, 3)
		w, err := e.Create(t.Context(), croft.CreateRequest{Name: "w" + allowed, Mode: croft.ModeIsolated})
		check(t, err)
		if got := fromPool(w); got > 0 != (allowed == "true") || exists(filepath.Join(w.Path, "deps")) != (allowed == "true") {
			t.Errorf("secrets %s: %d files", allowed, got)
		}
	}
}

// TestPoolCopiesAreEmptied: nothing is left once the stock is emptied.
func TestPoolCopiesAreEmptied(t *testing.T) {
	r := withDeps(t, "copy")
	e := engineIn(t, r, 0)
	at := stockedDeps(t, e, 3).Path
	p, err := e.ChangePool(t.Context(), croft.ChangePoolRequest{Do: croft.PoolEmpty})
	if err != nil || len(p.Copies)+len(p.Spares) > 0 || exists(at) {
		t.Errorf("%+v, %v", p, err)
	}
	left, err := filepath.Glob(filepath.Join(stateDir(r), "repos", "*", "pool", "copies", "*", "*"))
	if err != nil || slices.ContainsFunc(left, func(p string) bool { return filepath.Base(p) != "lock" }) {
		t.Errorf("%q, %v", left, err)
	}
}
