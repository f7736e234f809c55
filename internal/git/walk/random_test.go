//go:build unix

package walk_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/walk"
)

// TestAnswersAreGits: over random trees and edits, a checkout that is called clean has an empty
// status by git, and as long as a settled walk has the same key, git's answer is the same.
// CROFT_LONG=1 takes 1,000 trees.
func TestAnswersAreGits(t *testing.T) {
	t.Setenv("TMPDIR", "/var/tmp") // in memory no answer about changed files is remembered
	trees, steps := 12, 14
	if os.Getenv("CROFT_LONG") != "" {
		trees = 1000
	}
	seed := uint64(time.Now().UnixNano())
	total := tally{}
	for i := range trees {
		ok := t.Run(fmt.Sprint("seed-", seed+uint64(i)), func(t *testing.T) {
			r := newRandomTree(t, seed+uint64(i))
			for range steps {
				r.step()
				r.compare()
				if r.rnd.IntN(3) == 0 { // nothing has changed: what was remembered has to be found
					r.settle()
					r.compare()
					r.compare()
				}
			}
			total.clean += r.clean
			total.gitClean += r.gitClean
			total.recalled += r.recalled
			total.dirtyRecalled += r.dirtyRecalled
			total.unknown += r.unknown
			total.traced += r.traced
			total.dirtyTraced += r.dirtyTraced
		})
		if !ok {
			return
		}
	}
	t.Logf("%+v", total)
	if total.clean == 0 || trees > 100 && total.clean*10 < total.gitClean || total.recalled == 0 || total.dirtyRecalled == 0 || isTracedHere && (total.traced == 0 || total.dirtyTraced == 0) {
		t.Errorf("hardly any answer without git: %+v", total)
	}
}

type tally struct{ clean, gitClean, recalled, dirtyRecalled, unknown, traced, dirtyTraced int }

type randomTree struct {
	tally
	*gittest.Repo
	t       *testing.T
	rnd     *rand.Rand
	log     []string
	known   map[[32]byte]string
	ignored map[string]bool

	names   walk.Names // of the last walk that was settled
	trace   [32]byte
	traceOf string // git's answer
}

// isTracedHere says that the file system of the tests is one whose directories tell.
var isTracedHere = runtime.GOOS == "linux"

func newRandomTree(t *testing.T, seed uint64) *randomTree {
	r := &randomTree{Repo: gittest.New(t), t: t, rnd: rand.New(rand.NewPCG(seed, 1)), known: map[[32]byte]string{}}
	for range 3 + r.rnd.IntN(12) {
		r.write(r.path(), r.text())
	}
	if r.rnd.IntN(2) == 0 {
		r.write(".gitignore", "*.log\nbuild/\n/only\nvenv/*\n!venv/kept\n")
	}
	if r.rnd.IntN(6) == 0 {
		r.write(".gitattributes", "*.txt text\n")
	}
	if r.rnd.IntN(5) == 0 {
		r.Git("config", "core.autocrlf", "true")
	}
	if r.rnd.IntN(3) == 0 {
		r.Git("update-index", "--index-version", "4")
	}
	r.run("add", "--all")
	r.run("commit", "--quiet", "--allow-empty", "-m", "first")
	return r
}

func (r *randomTree) pick(list ...string) string { return list[r.rnd.IntN(len(list))] }

func (r *randomTree) path() string {
	name := r.pick("a", "b", "c.txt", "d.log", "e-f", "e", "e0", "only", "kept")
	for range r.rnd.IntN(3) {
		name = r.pick("a", "dir", "build", "venv", "e", "e.d") + "/" + name
	}
	return name
}

func (r *randomTree) text() string {
	if r.rnd.IntN(20) == 0 {
		return "cr\r\n"
	}
	return r.pick("one\n", "two\n", "six\n", "more than that\n", "") + r.pick("", "", "end\n")
}

func (r *randomTree) file() string {
	list := strings.Split(strings.TrimSuffix(r.Git("ls-files", "-z"), "\x00"), "\x00")
	return r.pick(list...)
}

func (r *randomTree) write(name, text string) {
	path := filepath.Join(r.Dir, name)
	for up := filepath.Dir(path); up != r.Dir; up = filepath.Dir(up) {
		if info, err := os.Lstat(up); err == nil && !info.IsDir() {
			return
		}
	}
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		return
	}
	_ = os.Remove(path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// run runs git, whose refusals are part of the game.
func (r *randomTree) run(args ...string) {
	r.log = append(r.log, "git "+strings.Join(args, " "))
	_, _ = r.TryGit(r.Dir, args...)
}

// step changes something.
func (r *randomTree) step() {
	name := r.file()
	path := filepath.Join(r.Dir, name)
	act := r.pick("edit", "edit", "same size", "in place", "touch", "chmod", "remove", "rename", "link", "new", "new", "empty dir", "ignored",
		"pipe", "rule", "add", "add", "commit", "commit", "reset", "reset", "rm", "flag", "later", "stash", "dirlink", "nested", "attributes")
	r.log = append(r.log, act+" "+name)
	info, err := os.Lstat(path)
	isFile := err == nil && info.Mode().IsRegular()
	switch act {
	case "edit":
		r.write(name, r.text())
	case "same size":
		if isFile { // the time as before
			data, _ := os.ReadFile(path)
			if len(data) > 0 {
				data[0] ^= 1
			}
			_ = os.WriteFile(path, data, 0o600)
			_ = os.Chtimes(path, info.ModTime(), info.ModTime())
		}
	case "in place":
		if isFile {
			data, _ := os.ReadFile(path)
			_ = os.WriteFile(path, []byte(strings.ToUpper(string(data))), 0o600)
		}
	case "touch":
		at := time.Now().Add(time.Duration(r.rnd.IntN(9)-6) * time.Second)
		_ = os.Chtimes(path, at, at)
	case "chmod":
		if isFile {
			_ = os.Chmod(path, info.Mode()^0o100)
		}
	case "remove":
		_ = os.Remove(path)
	case "rename":
		_ = os.Rename(path, filepath.Join(r.Dir, r.path()))
	case "link":
		_ = os.Remove(path)
		_ = os.Symlink("a", path)
	case "new":
		r.write(r.path(), r.text())
	case "empty dir":
		_ = os.MkdirAll(filepath.Join(r.Dir, "hollow", r.pick("a", "b")), 0o700)
	case "ignored":
		r.write(r.pick("x.log", "build/x", "venv/x", "dir/build/y", "build/deep/z"), r.text())
	case "pipe":
		_ = mkfifo(filepath.Join(r.Dir, r.pick("pipe", "dir/pipe", "pipe.log")))
	case "rule":
		r.write(r.pick(".gitignore", "dir/.gitignore", "venv/.gitignore"), r.pick("*\n", "*.log\n", "a\n!b\n", ""))
	case "attributes":
		r.write(r.pick(".gitattributes", "dir/.gitattributes"), r.pick("* text\n", "* text=auto\n", "* eol=crlf\n", "* ident\n", "a filter=x\n", "*.txt working-tree-encoding=UTF-16\n"))
	case "add":
		r.run("add", r.pick("--all", "--update", "--intent-to-add"), ".")
	case "commit":
		r.run("add", "--all")
		r.run("commit", "--quiet", "-m", "next")
	case "reset":
		r.run("reset", "--quiet", "--hard")
		if r.rnd.IntN(2) == 0 {
			r.run("clean", "-ffdxq")
		}
	case "rm":
		r.run("rm", "--quiet", "--force", r.pick("--cached", "--ignore-unmatch"), "--", name)
	case "flag":
		r.run("update-index", r.pick("--assume-unchanged", "--skip-worktree", "--no-assume-unchanged", "--no-skip-worktree"), name)
	case "later": // an index that is older or younger than its files
		at := time.Now().Add(time.Duration(r.rnd.IntN(9)-6) * time.Second)
		_ = os.Chtimes(filepath.Join(r.Dir, ".git", "index"), at, at)
	case "stash":
		r.run("stash", "--include-untracked", "--quiet")
		r.run("stash", "pop", "--quiet")
	case "dirlink":
		if dir := filepath.Dir(path); dir != r.Dir {
			_ = os.Rename(dir, r.Beside("moved"))
			_ = os.Symlink(r.Beside("moved"), dir)
		}
	case "nested":
		if r.rnd.IntN(4) == 0 {
			r.run("init", "--quiet", r.pick("nest", "dir/nest", "build/nest"))
		}
	}
}

// settle waits until what was written is older than the grain of times.
func (r *randomTree) settle() { time.Sleep(80 * time.Millisecond) }

func mkfifo(path string) error { return exec.Command("mkfifo", path).Run() }

// status asks git, which may not write the index.
func (r *randomTree) status() (entries []string, ignored map[string]bool) {
	cmd := exec.Command("git", "status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=all", "--ignored=matching")
	cmd.Dir, cmd.Env = r.Dir, append(slices.Clone(r.Env), "GIT_OPTIONAL_LOCKS=0")
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("%v after %q", err, r.log)
	}
	ignored = map[string]bool{}
	for e := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if path, is := strings.CutPrefix(e, "! "); is {
			ignored[path] = true
		} else if e != "" {
			entries = append(entries, e)
		}
	}
	return entries, ignored
}

// look walks by one goroutine and by as many as there can be, which see the same, and returns what either saw.
func (r *randomTree) look(req walk.Request) (*walk.Seen, error) {
	req.Grain = 1
	many, err := walk.Look(req)
	req.Grain = 1 << 20
	one, errOne := walk.Look(req)
	if isMany, isOne := err == nil && many.IsWhole, errOne == nil && one.IsWhole; isMany != isOne {
		r.t.Fatalf("many goroutines: %v, one: %v after %q", err, errOne, r.log)
	} else if !isOne {
		return one, errOne // which of two reasons to ask git is met first is not the same
	}
	traceMany, namesMany := many.Trace()
	traceOne, namesOne := one.Trace()
	if many.Key() != one.Key() || !slices.Equal(many.Unknown, one.Unknown) || len(many.Changed) != len(one.Changed) ||
		many.HasIgnored != one.HasIgnored || many.HasShared != one.HasShared || !reflect.DeepEqual(traceMany, traceOne) || !reflect.DeepEqual(namesMany, namesOne) {
		r.t.Fatalf("many goroutines saw %+v, one %+v after %q", many, one, r.log)
	}
	if r.rnd.IntN(2) == 0 {
		return many, nil
	}
	return one, nil
}

// compare walks, asks git, and walks again with what git ignores.
func (r *randomTree) compare() {
	req := walk.Request{Work: r.Dir, Index: filepath.Join(r.Dir, ".git", "index")}
	head := strings.TrimSpace(r.Git("rev-parse", "HEAD"))
	tree := strings.TrimSpace(r.Git("rev-parse", "HEAD^{tree}"))
	seen, err := r.look(req)
	isClean := err == nil && seen.IsWhole && len(seen.Unknown) == 0 && seen.AreAsStaged(r.t.Context(), walk.Unconverted, "") && seen.IsTree(tree, "")
	var recalled string
	isRecalled := false
	if r.ignored != nil {
		req.Ignored = r.ignored
		if s, err := r.look(req); err == nil {
			recalled, isRecalled = r.known[s.Key(head)]
		}
	}
	isTraced := false
	if r.names.Index != "" {
		if t, err := walk.Again(req, r.names); err == nil {
			isTraced = t.Key(head) == r.trace
		}
	}
	began := time.Now()
	entries, ignored := r.status()
	hides := strings.Contains(strings.Join(r.log, "\n"), "--assume-unchanged") || strings.Contains(strings.Join(r.log, "\n"), "--skip-worktree")
	answer := strings.Join(entries, "\n")
	if answer == "" {
		r.gitClean++
	}
	if isClean {
		if r.clean++; answer != "" {
			r.t.Fatalf("called clean, git says:\n%s\nafter %q", answer, r.log)
		}
	}
	if isRecalled {
		if r.recalled++; answer != "" {
			r.dirtyRecalled++
		}
		if recalled != answer {
			r.t.Fatalf("remembered:\n%s\ngit says:\n%s\nafter %q (hides: %v)", recalled, answer, r.log, hides)
		}
	}
	if isTraced {
		if r.traced++; answer != "" {
			r.dirtyTraced++
		}
		if r.traceOf != answer {
			r.t.Fatalf("traced:\n%s\ngit says:\n%s\nafter %q (hides: %v)", r.traceOf, answer, r.log, hides)
		}
	}
	req.Ignored = ignored
	if s, err := r.look(req); err == nil && s.IsWhole && s.IsSettledBefore(began) {
		if t, names := s.Trace(); t != nil && t.IsSettledBefore(began) {
			r.names, r.trace, r.traceOf = names, t.Key(head), answer
			if now, err := walk.Again(req, names); err != nil || now.Key(head) != r.trace {
				r.t.Fatalf("nothing has changed since the walk, and the trace is another one: %v after %q", err, r.log)
			}
		}
		r.ignored = ignored
		r.known[s.Key(head)] = answer
		r.unknown += len(s.Unknown)
	}
}
