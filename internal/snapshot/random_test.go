//go:build unix

package snapshot_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/snapshot"
)

// seeds returns the random seeds: 50, or 1,000 with CROFT_LONG=1, or the one that
// CROFT_SEED names.
func seeds(t *testing.T) (first, last uint64) {
	t.Helper()
	for _, kv := range proc.Environ() {
		if kv == "CROFT_LONG=1" {
			return 1, 1000
		}
		if v, ok := strings.CutPrefix(kv, "CROFT_SEED="); ok {
			n, err := strconv.ParseUint(v, 10, 64)
			must(t, err)
			return n, n
		}
	}
	return 1, 50
}

// TestRandomTrees saves random states, deletes them, runs git gc, restores and compares;
// then it rewinds back and forth between two of them.
func TestRandomTrees(t *testing.T) {
	first, last := seeds(t)
	for seed := first; seed <= last; seed++ {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, seed)
			defer func() {
				if t.Failed() {
					t.Logf("CROFT_SEED=%d go test ./internal/snapshot -run TestRandomTrees\ndid:\n\t%s", seed, strings.Join(w.did, "\n\t"))
				}
			}()
			w.changes(4 + w.IntN(12))
			w.roundTrip(chosen)
			w.thereAndBack()
		})
	}
}

// chosen are the ignored files in the random states that a snapshot includes.
var chosen = snapshot.Selection{Ignored: []string{"*.keep", "kept/"}}

// world is a worktree with a random state.
type world struct {
	*bench
	*rand.Rand
	n   int      // counts names, so that none is used twice
	did []string // the changes that were made, for the failure message
}

// hostile are parts of names that programs often handle wrongly.
var hostile = []string{
	"plain", "with space", "tab\t", "new\nline", "\"quote", "'", "-dash", "--", "\xff\xfe", "ünï", "back\\slash", "*", "?", "[a]", "$x", "trail ", ":(top)", "#", "!neg", "~",
	".hidden", "a.dos", "a.shout", "a.keep", strings.Repeat("long", 50), "\r", "\x01", "CON", "%2e",
}

func (w *world) name() string {
	w.n++
	return fmt.Sprintf("%s%d", hostile[w.IntN(len(hostile))], w.n) + []string{"", "", ".txt", ".dos", ".shout", ".auto"}[w.IntN(6)]
}

func (w *world) text() string {
	var b strings.Builder
	for range w.IntN(6) {
		fmt.Fprintf(&b, "Line %d%s", w.IntN(1000), []string{"\n", "\n", "\r\n", "\x00", "é\n"}[w.IntN(5)])
	}
	return b.String()
}

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	w := &world{bench: newBench(t), Rand: rand.New(rand.NewPCG(seed, seed))}
	filter := "[filter \"shout\"]\n\tclean = tr A-Z a-z\n\tsmudge = tr a-z A-Z\n"
	if w.IntN(2) == 0 { // without any filter, git trusts times and sizes
		filter = ""
	}
	must(t, os.WriteFile(filepath.Join(w.Home, ".gitconfig"), []byte(filter+`[core]
	autocrlf = `+[]string{"false", "false", "input", "true"}[w.IntN(4)]+`
	safecrlf = false
	fsync = none
[gc]
	writeCommitGraph = false
[protocol "file"]
	allow = always
`), 0o644))
	w.Write(".gitignore", "*.keep\nkept/\n")
	if w.IntN(3) > 0 {
		w.Write(".gitattributes", "*.shout filter=shout\n*.dos text eol=crlf\n*.auto text=auto\n")
	}
	w.Write("conflict.txt", "base\n")
	for range 5 + w.IntN(15) {
		path := []string{"", "d1/", "d1/sub/", "d2/", "d3/x/y/"}[w.IntN(5)] + w.name()
		if w.IntN(8) == 0 {
			must(t, os.MkdirAll(filepath.Join(w.Dir, filepath.Dir(path)), 0o755))
			must(t, os.Symlink([]string{"conflict.txt", "nowhere", "d1"}[w.IntN(3)], filepath.Join(w.Dir, path)))
			continue
		}
		w.Write(path, w.text())
	}
	w.Commit("tree")
	w.Git("checkout", "--quiet", "-b", "other")
	w.Write("conflict.txt", "theirs\n")
	w.Write("theirs.txt", "theirs\n")
	w.Commit("theirs")
	w.Git("checkout", "--quiet", "main")
	if seed%5 == 0 {
		lib := gittest.New(t)
		w.Git("submodule", "add", "--quiet", lib.Dir, "lib")
		w.Commit("submodule")
	}
	w.open()
	if seed%5 == 0 {
		w.git("submodule", "update", "--quiet", "--init")
	}
	w.inProgress()
	return w
}

// inProgress may leave git in the middle of a merge, a rebase or the like.
func (w *world) inProgress() {
	what := []string{"nothing", "nothing", "merge", "rebase", "cherry-pick", "revert", "bisect", "detached"}[w.IntN(8)]
	w.did = append(w.did, "in progress: "+what)
	switch what {
	case "nothing":
		return
	case "detached":
		w.git("checkout", "--quiet", "--detach")
		return
	case "bisect":
		w.git("bisect", "start")
		w.git("bisect", "bad", "HEAD")
		return
	}
	w.file("conflict.txt", "ours\n")
	w.git("commit", "--quiet", "--all", "--message", "ours")
	args := map[string][]string{"merge": {"merge", "other"}, "rebase": {"rebase", "other"}, "cherry-pick": {"cherry-pick", "other"}, "revert": {"revert", "other"}}[what]
	if _, err := w.TryGit(w.tree.Path, args...); err == nil {
		w.t.Fatalf("the %s was meant to stop", what)
	}
}

// changes makes random changes.
func (w *world) changes(n int) {
	ops := w.operations()
	names := make([]string, 0, len(ops))
	for name := range ops {
		names = append(names, name)
	}
	slices.Sort(names)
	for range n {
		name := names[w.IntN(len(names))]
		path := w.tracked()
		w.did = append(w.did, fmt.Sprintf("%s %q", name, path))
		ops[name](path)
	}
}

// tracked returns a random path of the index that is a file on disk, not below a link.
func (w *world) tracked() string {
	var list []string
	for p := range strings.SplitSeq(w.git("ls-files", "-z"), "\x00") {
		info, err := os.Lstat(w.path(p))
		real, rerr := filepath.EvalSymlinks(filepath.Dir(w.path(p)))
		above, aerr := os.Lstat(filepath.Dir(w.path(p)))
		writable := err == nil && aerr == nil && info.Mode()&0o200 != 0 && above.Mode()&0o200 != 0
		if p != "" && p != ".gitmodules" && writable && rerr == nil && info.Mode().IsRegular() && real == filepath.Dir(w.path(p)) {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		p := w.name()
		w.file(p, w.text())
		w.try("add", "--force", "--", ":(literal)"+p)
		return p
	}
	return list[w.IntN(len(list))]
}

func (w *world) path(p string) string { return filepath.Join(w.tree.Path, p) }

// try runs a git command that may fail.
func (w *world) try(args ...string) { _, _ = w.TryGit(w.tree.Path, args...) }

// fresh returns a path that does not exist, in a directory that does.
func (w *world) fresh() string {
	dir := []string{"", "new/", "d1/", "d2/deep/er/"}[w.IntN(4)]
	if os.MkdirAll(w.path(dir), 0o755) != nil {
		dir = ""
	}
	return dir + w.name()
}

func (w *world) operations() map[string]func(string) {
	ops := map[string]func(string){}
	for _, group := range []map[string]func(string){w.contents(), w.kinds(), w.staging(), w.repositories()} {
		maps.Copy(ops, group)
	}
	return ops
}

func (w *world) contents() map[string]func(string) {
	return map[string]func(string){
		"modify":        func(p string) { w.file(p, w.text()) },
		"modify again":  func(p string) { w.file(p, w.text()+"again\n") },
		"delete":        func(p string) { must(w.t, os.Remove(w.path(p))) },
		"delete all of": func(p string) { must(w.t, os.RemoveAll(w.path(strings.Split(p, "/")[0]))) },
		"untracked":     func(string) { w.file(w.fresh(), w.text()) },
		"ignored":       func(string) { w.file(w.fresh()+".keep", w.text()) },
		"ignored below": func(string) { w.file("kept/"+w.name()+"/"+w.name(), w.text()) },
		"mode 600":      func(p string) { must(w.t, os.Chmod(w.path(p), 0o600)) },
		"mode 444":      func(p string) { must(w.t, os.Chmod(w.path(p), 0o444)) },
		"executable":    func(p string) { must(w.t, os.Chmod(w.path(p), 0o755)) },
		"attributes": func(string) {
			if info, err := os.Lstat(w.path(".gitattributes")); err == nil && !info.Mode().IsRegular() {
				return
			}
			w.file(".gitattributes", []string{"* -text\n", "*.txt text eol=crlf\n*.auto filter=shout\n", "* text=auto\n", "*.dos ident\n"}[w.IntN(4)])
		},
		"mode of directory": func(string) {
			p := "modes" + w.name()
			w.file(p+"/file", w.text())
			must(w.t, os.Chmod(w.path(p), []os.FileMode{0o555, 0o700, 0o500, 0o775}[w.IntN(4)]))
		},
	}
}

func (w *world) kinds() map[string]func(string) {
	link := func(target, p string) { must(w.t, os.Symlink(target, w.path(p))) }
	return map[string]func(string){
		"empty directory":   func(string) { must(w.t, os.MkdirAll(w.path(w.fresh()+"/"+w.name()), 0o755)) },
		"empty ignored":     func(string) { must(w.t, os.MkdirAll(w.path("kept/"+w.name()), 0o755)) },
		"pipe":              func(string) { must(w.t, syscall.Mkfifo(w.path(w.fresh()), 0o644)) },
		"dangling":          func(string) { link("no\nwhere\xff", w.fresh()) },
		"link outside":      func(string) { link("/etc/hostname", w.fresh()) },
		"link to self":      func(string) { p := w.fresh(); link(filepath.Base(p), p) },
		"link to directory": func(string) { link(filepath.Dir(w.tree.Path), w.fresh()) },
		"file to link":      func(p string) { must(w.t, os.Remove(w.path(p))); link("conflict.txt", p) },
		"file to directory": func(p string) {
			must(w.t, os.Remove(w.path(p)))
			w.file(p+"/"+w.name(), w.text())
		},
		"file to empty directory": func(p string) {
			must(w.t, os.Remove(w.path(p)))
			must(w.t, os.Mkdir(w.path(p), 0o755))
		},
		"directory to file": func(p string) {
			top, _, _ := strings.Cut(p, "/")
			must(w.t, os.RemoveAll(w.path(top)))
			w.file(top, w.text())
		},
		"directory to link": func(p string) { // with the same files behind it
			top, _, _ := strings.Cut(p, "/")
			must(w.t, os.Rename(w.path(top), w.path(fmt.Sprintf("moved%d", w.n))))
			link(fmt.Sprintf("moved%d", w.n), top)
			w.n++
		},
	}
}

func (w *world) staging() map[string]func(string) {
	add := func(p string) { w.try("add", "--force", "--", ":(literal)"+p) }
	return map[string]func(string){
		"stage":           func(p string) { w.file(p, w.text()); add(p) },
		"stage, modify":   func(p string) { w.file(p, w.text()); add(p); w.file(p, w.text()) },
		"stage, delete":   func(p string) { w.file(p, w.text()); add(p); must(w.t, os.Remove(w.path(p))) },
		"stage new":       func(string) { p := w.fresh(); w.file(p, w.text()); add(p) },
		"stage directory": func(string) { p := w.fresh(); w.file(p+"/"+w.name(), w.text()); add(p) },
		"intent to add": func(string) {
			p := w.fresh()
			w.file(p, w.text())
			w.try("add", "--intent-to-add", "--force", "--", ":(literal)"+p)
		},
		"remove":          func(p string) { w.try("rm", "--quiet", "--force", "--", ":(literal)"+p) },
		"forget":          func(p string) { w.try("rm", "--quiet", "--cached", "--force", "--", ":(literal)"+p) },
		"rename":          func(p string) { w.try("mv", "--", p, w.fresh()) },
		"stage mode":      func(p string) { w.try("update-index", "--chmod=+x", "--", p) },
		"assume":          func(p string) { w.try("update-index", "--assume-unchanged", "--", p); w.file(p, w.text()) },
		"assume, delete":  func(p string) { w.try("update-index", "--assume-unchanged", "--", p); must(w.t, os.Remove(w.path(p))) },
		"skip":            func(p string) { w.try("update-index", "--skip-worktree", "--", p); w.file(p, w.text()) },
		"skip, delete":    func(p string) { w.try("update-index", "--skip-worktree", "--", p); must(w.t, os.Remove(w.path(p))) },
		"commit":          func(p string) { w.file(p, w.text()); w.try("commit", "--quiet", "--all", "--message", "own") },
		"version 4":       func(string) { w.try("update-index", "--index-version", "4") },
		"split":           func(string) { w.try("update-index", "--split-index") },
		"untracked cache": func(string) { w.try("update-index", "--force-untracked-cache") },
		"stash":           func(string) { w.try("stash") },
		"add all":         func(string) { w.try("add", "--all") },
	}
}

func (w *world) repositories() map[string]func(string) {
	nested := func(p string) {
		must(w.t, os.MkdirAll(w.path(p), 0o755))
		w.GitIn(w.path(p), "init", "--quiet")
	}
	commit := func(p string) {
		w.file(p+"/"+w.name(), w.text())
		_, _ = w.TryGit(w.path(p), "add", "--all")
		_, _ = w.TryGit(w.path(p), "commit", "--quiet", "--message", "inside")
		w.file(p+"/"+w.name(), w.text())
	}
	return map[string]func(string){
		"repository":          func(string) { p := w.fresh(); nested(p); commit(p) },
		"repository, no head": func(string) { nested(w.fresh()) },
		"repository, ignored": func(string) { p := "kept/" + w.name(); nested(p); commit(p) },
		"file to repository": func(p string) {
			must(w.t, os.Remove(w.path(p)))
			nested(p)
			commit(p)
		},
		"submodule": func(string) {
			if info, err := os.Lstat(w.path("lib/.git")); err != nil || info.IsDir() {
				return
			}
			switch w.IntN(5) {
			case 0:
				w.file("lib/dirty.txt", w.text())
			case 1:
				commit("lib")
			case 2:
				must(w.t, os.RemoveAll(w.path("lib")))
			case 3:
				must(w.t, os.RemoveAll(w.path("lib")))
				w.file("lib", "a file now\n")
			case 4:
				commit("lib")
				w.try("add", "lib")
			}
		},
	}
}

// thereAndBack rewinds between two states in place.
func (w *world) thereAndBack() {
	ctx := context.Background()
	save := func() (snapshot.Saved, picture) {
		saved, err := snapshot.Save(ctx, w.tree, chosen)
		must(w.t, err)
		w.touch()
		return saved, w.picture()
	}
	one, first := save()
	w.did = append(w.did, "-- second state")
	w.changes(3 + w.IntN(6))
	two, second := save()
	for i, step := range []struct {
		from, to snapshot.Saved
		want     picture
	}{{two, one, first}, {one, two, second}, {one, two, second}} { // the last one as after a crash
		head, err := snapshot.HeadOf(ctx, w.repo, step.to.Commit)
		must(w.t, err)
		if head.Branch != "" {
			w.Git("update-ref", "refs/heads/"+head.Branch, head.OID)
		}
		must(w.t, w.rewind(step.from.Commit, step.to.Commit, nil))
		if d := cmp.Diff(step.want, w.picture()); d != "" {
			w.t.Fatalf("rewind %d (-want +got):\n%s", i, d)
		}
	}
}
