package refs

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/proc"
)

// TestRefsThroughLinks: an agent in a worktree puts links to the user's files where git
// would write. Nothing is written there.
func TestRefsThroughLinks(t *testing.T) {
	const odd = "refs/heads/a;touch${IFS}PWNED"
	link := func(to, name string) error {
		return errors.Join(os.RemoveAll(name), os.MkdirAll(filepath.Dir(name), 0o755), os.Symlink(to, name))
	}
	for name, c := range map[string]struct {
		plant   func(common, home string) error
		isMoved bool // the call succeeds nevertheless
	}{
		"a log": {func(common, home string) error {
			return link(filepath.Join(home, "file"), filepath.Join(common, "logs", odd))
		}, true},
		"a log that is not there yet": {func(common, home string) error {
			return link(filepath.Join(home, "new"), filepath.Join(common, "logs", odd))
		}, true},
		"another branch's log": {func(common, home string) error {
			return link("../refs/heads/main", filepath.Join(common, "logs", odd))
		}, true},
		"a directory of logs": {func(common, home string) error {
			return link(filepath.Join(home, "dir"), filepath.Join(common, "logs", "refs", "heads"))
		}, true},
		"all logs": {func(common, home string) error {
			return link(filepath.Join(home, "dir"), filepath.Join(common, "logs"))
		}, true},
		"HEAD's log": {func(common, home string) error {
			return link(filepath.Join(home, "file"), filepath.Join(common, "logs", "HEAD"))
		}, true},
		"a log with a second name": {func(common, home string) error {
			log := filepath.Join(common, "logs", odd)
			return errors.Join(os.RemoveAll(log), os.Link(filepath.Join(home, "file"), log))
		}, true},
		"a pipe as a log": {func(common, home string) error {
			log := filepath.Join(common, "logs", odd)
			return errors.Join(os.RemoveAll(log), mkfifo(log, 0o644))
		}, true},
		"a directory of refs": {func(common, home string) error {
			return link(filepath.Join(home, "dir"), filepath.Join(common, "refs", "croft"))
		}, false},
		"a directory of refs, within": {func(common, home string) error {
			return link("../worktrees", filepath.Join(common, "refs", "croft"))
		}, false},
		"a ref": {func(common, home string) error {
			return link(filepath.Join(home, "file"), filepath.Join(common, odd))
		}, false},
		"a pipe as a ref": {func(common, home string) error {
			ref := filepath.Join(common, odd)
			return errors.Join(os.Remove(ref), mkfifo(ref, 0o644))
		}, false},
		"the lock of a ref": {func(common, home string) error {
			return link(filepath.Join(home, "new"), filepath.Join(common, odd+".lock"))
		}, false},
		"packed-refs": {func(common, home string) error {
			return link(filepath.Join(home, "file"), filepath.Join(common, "packed-refs"))
		}, false},
		"packed-refs that is not there yet": {func(common, home string) error {
			return link(filepath.Join(home, "new"), filepath.Join(common, "packed-refs"))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" {
				t.Skip("pipes and links are made otherwise there")
			}
			t.Parallel()
			r := gittest.New(t)
			one := r.Git("rev-parse", "HEAD")
			two := r.Git("commit-tree", "-m", "two", "HEAD^{tree}")
			r.Git("update-ref", "--create-reflog", odd, one)
			r.Git("symbolic-ref", "HEAD", odd)
			r.Git("update-ref", "refs/heads/goes", one)
			home := filepath.Join(filepath.Dir(r.Dir), "outside")
			// It has the form of packed-refs, so that a careless program would rewrite it.
			gittest.WriteFile(t, filepath.Join(home, "file"), one+" refs/heads/goes\n")
			gittest.WriteFile(t, filepath.Join(home, "dir", "x"), "")
			if err := c.plant(filepath.Join(r.Dir, ".git"), home); err != nil {
				t.Fatal(err)
			}
			before := treeOf(t, home)
			mainLog := filepath.Join(r.Dir, ".git", "logs", "refs", "heads", "main")
			mainWas, _ := os.ReadFile(mainLog)
			repo := open(t, r)
			repo.writer.wait = 50 * time.Millisecond
			err := repo.UpdateRefs(t.Context(),
				Update{odd, two, one}, Update{"refs/croft/ws/x", two, ""}, Update{"refs/heads/goes", "", one})
			if (err == nil) != c.isMoved {
				t.Errorf("moved: %v", err)
			}
			if c.isMoved && len(repo.Unlogged()) == 0 {
				t.Error("nobody is told that there is no log")
			}
			if diff := cmp.Diff(before, treeOf(t, home)); diff != "" {
				t.Errorf("written outside of the repository (-before +after):\n%s", diff)
			}
			if now, _ := os.ReadFile(mainLog); string(now) != string(mainWas) {
				t.Errorf("another log was written: %s", now)
			}
			for _, lock := range []string{"packed-refs.lock", "packed-refs.new", "HEAD.lock", "refs/heads/goes.lock", "worktrees/ws"} {
				if exists(filepath.Join(r.Dir, ".git", lock)) {
					t.Errorf("%s is left", lock)
				}
			}
			if err := repo.Close(); err != nil || leases(t, repo) > 1 { // of the lock that is a link and has no owner
				t.Errorf("closing: %v, %d marks", err, leases(t, repo))
			}
		})
	}
}

// TestTidyRefsThroughLinks: packing refs does not write packed-refs through a link either.
func TestTidyRefsThroughLinks(t *testing.T) {
	r := gittest.New(t)
	head := r.Git("rev-parse", "HEAD")
	repo := open(t, r)
	manyLooseRefs(t, repo, head, manyRefs+1)
	target := filepath.Join(r.Home, "zshenv")
	if err := os.Symlink(target, filepath.Join(repo.CommonDir, "packed-refs")); err != nil {
		t.Fatal(err)
	}
	err := repo.PackRefs(t.Context(), "refs/croft/")
	if _, ok := errors.AsType[*fsx.LinkError](err); !ok || exists(target) {
		t.Errorf("%v; written: %v", err, exists(target))
	}
	if exists(filepath.Join(repo.CommonDir, "packed-refs.lock")) {
		t.Error("the lock is left")
	}
}

// manyLooseRefs makes loose refs, as fast as possible.
func manyLooseRefs(t *testing.T, repo *Repository, oid string, n int) {
	t.Helper()
	for i := range n {
		gittest.WriteFile(t, filepath.Join(repo.CommonDir, fmt.Sprintf("refs/croft/ws/%04d/x", i)), oid+"\n")
	}
}

func TestTidyRefsBesideGit(t *testing.T) {
	r := gittest.New(t)
	head := r.Git("rev-parse", "HEAD")
	r.Git("tag", "-a", "-m", "x", "v1")
	r.Git("pack-refs", "--all")
	r.Git("tag", "-a", "-m", "y", "v2")
	repo := open(t, r)
	tag := r.Git("rev-parse", "v2")
	manyLooseRefs(t, repo, head, manyRefs+1)
	in := func(name string) string { return filepath.Join(repo.CommonDir, name) }
	gittest.WriteFile(t, in("refs/croft/tag"), tag+"\n")
	gittest.WriteFile(t, in("refs/croft/locked/x"), head+"\n")
	gittest.WriteFile(t, in("refs/croft/locked/x.lock"), "")
	gittest.WriteFile(t, in("refs/croft/symbolic"), "ref: refs/heads/main\n")
	before := r.Git("for-each-ref")
	if err := repo.PackRefs(t.Context(), "refs/croft/"); err != nil {
		t.Fatal(err)
	}
	if after := r.Git("for-each-ref"); after != before {
		t.Errorf("(-before +after):\n%s", cmp.Diff(before, after))
	}
	if got, want := r.Git("show-ref", "-d", "refs/croft/tag"), tag+" refs/croft/tag\n"+head+" refs/croft/tag^{}"; got != want {
		t.Errorf("the tag is packed as %q, want %q", got, want)
	}
	for name, isThere := range map[string]bool{
		"refs/croft/tag": false, "refs/croft/ws": false, "refs/croft/locked/x": true, "refs/croft/locked/x.lock": true,
		"refs/croft/symbolic": true, "refs/tags/v2": true, "packed-refs.lock": false, "packed-refs.new": false,
	} {
		if exists(in(name)) != isThere {
			t.Errorf("%s is there: %v", name, !isThere)
		}
	}
	if err := os.Remove(in("refs/croft/locked/x.lock")); err != nil {
		t.Fatal(err)
	}
	was := r.Git("rev-parse", "--verify", "refs/croft/locked/x")
	r.Git("pack-refs", "--all") // git reads and writes the same file
	if err := repo.UpdateRefs(t.Context(), Update{"refs/croft/locked/x", "", was}, Update{"refs/tags/v2", "", tag}); err != nil {
		t.Fatal(err)
	}
	want := slices.DeleteFunc(strings.Split(before, "\n"), func(line string) bool {
		return strings.HasSuffix(line, "refs/croft/locked/x") || strings.HasSuffix(line, "refs/tags/v2")
	})
	if diff := cmp.Diff(want, strings.Split(r.Git("for-each-ref"), "\n")); diff != "" {
		t.Errorf("after deleting (-want +got):\n%s", diff)
	}
	if b, err := os.ReadFile(in("packed-refs")); err != nil || !strings.HasPrefix(string(b), packedHeader) {
		t.Errorf("packed-refs begins with %.60q, %v", b, err)
	}
}

// TestPruneKeepsChangedAndLockedRefs: pruning keeps the file of a ref that got another
// value after it was packed, and that of a ref which another process has locked.
func TestPruneKeepsChangedAndLockedRefs(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	one, two := r.Git("rev-parse", "HEAD"), r.Git("commit-tree", "-m", "two", "HEAD^{tree}")
	for _, ref := range []string{"refs/croft/same", "refs/croft/moved", "refs/croft/held"} {
		r.Git("update-ref", ref, one)
	}
	r.Git("update-ref", "refs/croft/moved", two)
	gittest.WriteFile(t, filepath.Join(repo.CommonDir, "refs/croft/held.lock"), "")
	tx := &refTx{w: &repo.writer, files: fsx.OpenTree(repo.CommonDir)}
	for ref, stays := range map[string]bool{"refs/croft/same": false, "refs/croft/moved": true, "refs/croft/held": true} {
		if err := tx.pruneLoose(ref, one); err != nil || exists(filepath.Join(repo.CommonDir, ref)) != stays {
			t.Errorf("%s is there: %v, %v", ref, !stays, err)
		}
	}
}

// TestReflogsEqualGits: Croft writes the reflogs that git would have written.
func TestReflogsEqualGits(t *testing.T) {
	for _, setting := range []string{"", "true", "false", "always"} {
		t.Run("logAllRefUpdates="+setting, func(t *testing.T) {
			logs := map[string]map[string]string{}
			for _, way := range []string{"git", "croft"} {
				r := gittest.New(t)
				one := r.Git("rev-parse", "HEAD")
				r.Git("update-ref", "--create-reflog", "refs/croft/logged", one)
				two := r.Git("commit-tree", "-m", "two", "HEAD^{tree}")
				r.Git("config", "--global", "user.name", "Ada") // as in the environment of the test
				r.Git("config", "--global", "user.email", "ada@example.com")
				if setting != "" {
					r.Git("config", "core.logAllRefUpdates", setting)
				}
				repo := open(t, r)
				move := func(updates ...Update) error { return repo.UpdateRefs(t.Context(), updates...) }
				if way == "git" {
					move = func(updates ...Update) error { return repo.UpdateByGit(t.Context(), nil, updates) }
				}
				for _, updates := range [][]Update{
					{{"refs/heads/main", two, one}, {"refs/heads/a/b", one, ""}, {"refs/croft/x", one, ""}, {"refs/remotes/o/x", one, ""}},
					{{"refs/croft/logged", two, one}, {"refs/heads/a/b", "", one}, {"refs/tags/x", one, ""}},
					{{"refs/heads/a", two, ""}, {"refs/heads/main", two, two}},
				} {
					if err := move(updates...); err != nil {
						t.Fatal(err)
					}
				}
				logs[way] = map[string]string{}
				for path, text := range treeOf(t, filepath.Join(repo.CommonDir, "logs")) {
					name, _ := filepath.Rel(repo.CommonDir, path)
					logs[way][name] = text
				}
			}
			if diff := cmp.Diff(hideTimes(logs["git"]), hideTimes(logs["croft"])); diff != "" {
				t.Errorf("(-git +croft):\n%s", diff)
			}
		})
	}
}

// hideTimes removes the times from reflogs.
func hideTimes(logs map[string]string) map[string]string {
	for name, text := range logs {
		var lines []string
		for line := range strings.Lines(text) {
			who, rest, _ := strings.Cut(line, "> ")
			_, rest, _ = strings.Cut(rest, " ")
			lines = append(lines, who+"> TIME "+rest)
		}
		if lines != nil && strings.Contains(text, ">") {
			logs[name] = strings.Join(lines, "")
		}
	}
	return logs
}

// TestSymbolicRefIsNotMoved: neither a symbolic ref nor its target is moved.
func TestSymbolicRefIsNotMoved(t *testing.T) {
	r := gittest.New(t)
	one := r.Git("rev-parse", "HEAD")
	r.Git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
	two := r.Git("commit-tree", "-m", "two", "HEAD^{tree}")
	repo := open(t, r)
	for _, u := range []Update{{"refs/heads/alias", two, one}, {"refs/heads/alias", "", one}} {
		if err := repo.UpdateRefs(t.Context(), u); err == nil {
			t.Errorf("%v: moved", u)
		}
	}
	if got := r.Git("symbolic-ref", "refs/heads/alias") + r.Git("rev-parse", "main"); got != "refs/heads/main"+one {
		t.Errorf("now it is %s", got)
	}
}

// TestRefsThatCannotBe: a ref is not made where another one is in the way, even if that is
// packed and has no file, and not in the place of a file that cannot be read. git could not
// delete or read one of the two afterwards.
func TestRefsThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		plant  func(r *gittest.Repo, common, oid string) error
		update Update
	}{
		"below a packed one": {func(r *gittest.Repo, _, oid string) error {
			r.Git("update-ref", "refs/heads/a", oid)
			r.Git("pack-refs", "--all")
			return nil
		}, Update{Ref: "refs/heads/a/b"}},
		"above a packed one": {func(r *gittest.Repo, _, oid string) error {
			r.Git("update-ref", "refs/heads/a/b", oid)
			r.Git("pack-refs", "--all")
			return nil
		}, Update{Ref: "refs/heads/a"}},
		"in the place of noise": {func(_ *gittest.Repo, common, _ string) error {
			return os.WriteFile(filepath.Join(common, "refs", "heads", "a"), []byte("noise\n"), 0o644)
		}, Update{Ref: "refs/heads/a", Old: "noise"}},
		"in the place of an empty file": {func(_ *gittest.Repo, common, _ string) error {
			return os.WriteFile(filepath.Join(common, "refs", "heads", "a"), nil, 0o644)
		}, Update{Ref: "refs/heads/a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			repo := open(t, r)
			oid := r.Git("rev-parse", "HEAD")
			if err := c.plant(r, repo.CommonDir, oid); err != nil {
				t.Fatal(err)
			}
			before := treeOf(t, filepath.Join(repo.CommonDir, "refs"))
			c.update.New = oid
			if err := repo.UpdateRefs(t.Context(), c.update); err == nil {
				t.Error("it was made")
			}
			if diff := cmp.Diff(before, treeOf(t, filepath.Join(repo.CommonDir, "refs"))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRefNames: exactly the names that git accepts for refs are accepted.
func TestRefNames(t *testing.T) {
	r := gittest.New(t)
	for _, name := range []string{
		"refs/heads/x", "refs/x", "refs/heads/ä/ö", "refs/heads/a@b", "refs/heads/@", "refs/heads/-x", "refs/heads/a.b", "refs/heads/$(x)",
		"refs/", "refs", "refs//x", "refs/x/", "refs/.x", "refs/x/.y", "refs/x.lock", "refs/x.lock/y", "refs/x.", "refs/a..b", "refs/a@{b",
		"refs/a b", "refs/a\x7f", "refs/a\x01", "refs/a~", "refs/a^", "refs/a:", "refs/a?", "refs/a*", "refs/a[", `refs/a\`, "refs/../x", "refs/a./b",
	} {
		_, err := r.TryGit(r.Dir, "check-ref-format", name)
		if gitdir.IsRefName(name) != (err == nil) {
			t.Errorf("%q: %v, and git says %v", name, gitdir.IsRefName(name), err)
		}
	}
}

// TestRefsBesideGit moves refs while the user's git packs refs, and makes and deletes
// branches: no move is lost, and no change of the user's is.
func TestRefsBesideGit(t *testing.T) {
	const moves = 60
	r := gittest.New(t)
	oids := []string{r.Git("rev-parse", "HEAD")}
	for i := range moves {
		oids = append(oids, r.Git("commit-tree", "-m", fmt.Sprint(i), "-p", oids[i], "HEAD^{tree}"))
	}
	repos := []*Repository{open(t, r), open(t, r)}
	done := make(chan struct{})
	var users, ours sync.WaitGroup
	users.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				// git complains about refs whose locks are taken, and leaves their files.
				_, _ = r.TryGit(r.Dir, "pack-refs", "--all", "--prune")
			}
		}
	})
	made := 0
	users.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			if _, err := r.TryGit(r.Dir, "-c", "core.filesRefLockTimeout=10000", "branch", fmt.Sprintf("user/%d", i), oids[0]); err != nil {
				t.Errorf("the user's branch: %v", err)
			}
			made++
		}
	})
	for n, repo := range repos {
		ours.Go(func() {
			for i := range moves {
				updates := []Update{{Ref: fmt.Sprintf("refs/heads/line%d", n), New: oids[i+1], Old: oids[i]}, {Ref: fmt.Sprintf("refs/croft/%d/%d", n, i), New: oids[i]}}
				if i == 0 {
					updates[0].Old = ""
				} else {
					updates = append(updates, Update{Ref: fmt.Sprintf("refs/croft/%d/%d", n, i-1), Old: oids[i-1]})
				}
				if err := repo.UpdateRefs(t.Context(), updates...); err != nil {
					t.Errorf("%d of %d: %v", i, n, err)
					return
				}
			}
		})
	}
	ours.Wait()
	close(done)
	users.Wait()
	refs := RefsOf(t, repos[0], "refs/")
	want := map[string]string{"refs/heads/main": oids[0]}
	for n := range repos {
		want[fmt.Sprintf("refs/heads/line%d", n)] = oids[moves]
		want[fmt.Sprintf("refs/croft/%d/%d", n, moves-1)] = oids[moves-1]
	}
	for i := range made {
		want[fmt.Sprintf("refs/heads/user/%d", i)] = oids[0]
	}
	if diff := cmp.Diff(want, refs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if out := r.Git("fsck", "--strict"); strings.Contains(out, "error") {
		t.Error(out)
	}
}

// TestRefIsPackedMeanwhile: the user's git packs a ref and deletes its file, while a move
// of that ref waits for the lock of another one.
func TestRefIsPackedMeanwhile(t *testing.T) {
	r := gittest.New(t)
	one := r.Git("rev-parse", "HEAD")
	two := r.Git("commit-tree", "-m", "two", "HEAD^{tree}")
	r.Git("update-ref", "refs/heads/a", one)
	r.Git("update-ref", "refs/heads/b", one)
	repo := open(t, r)
	lock := filepath.Join(repo.CommonDir, "refs", "heads", "a.lock")
	gittest.WriteFile(t, lock, "")
	moved := make(chan error)
	go func() {
		moved <- repo.UpdateRefs(t.Context(), Update{"refs/heads/a", two, one}, Update{"refs/heads/b", two, one})
	}()
	select {
	case err := <-moved:
		t.Fatalf("it did not wait for the lock: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	_, _ = r.TryGit(r.Dir, "-c", "core.filesRefLockTimeout=0", "pack-refs", "--all", "--prune") // a is locked
	if exists(filepath.Join(repo.CommonDir, "refs", "heads", "b")) {
		t.Fatal("b was not packed")
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	if err := <-moved; err != nil {
		t.Fatal(err)
	}
	if got := r.Git("rev-parse", "a", "b"); got != two+"\n"+two {
		t.Errorf("a and b are %s", got)
	}
}

// TestRefWriterKilled kills a process that moves, deletes and packs refs, at any moment:
// every ref is whole, and the next sweep deletes its locks.
func TestRefWriterKilled(t *testing.T) {
	if dir := os.Getenv("CROFT_TEST_MOVE_REFS"); dir != "" {
		moveForEver(t, dir)
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("other processes cannot be seen on this platform")
	}
	r := gittest.New(t)
	one := r.Git("rev-parse", "HEAD")
	two := r.Git("commit-tree", "-m", "two", "HEAD^{tree}")
	repo := open(t, r)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	manyLooseRefs(t, repo, one, manyRefs+10)
	begun := time.Now()
	if err := repo.PackRefs(t.Context(), "refs/croft/"); err != nil {
		t.Fatal(err)
	}
	packing := time.Since(begun)
	left := 0
	for range 25 {
		// All refs are to be packed again, and exist nowhere else.
		manyLooseRefs(t, repo, one, manyRefs+10)
		if err := os.Remove(filepath.Join(repo.CommonDir, "packed-refs")); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		p, err := proc.Start(t.Context(), proc.Command{
			Path: self, Args: []string{"-test.run=^TestRefWriterKilled$"}, Dir: r.Dir,
			Env: append(slices.Clone(r.Env), "CROFT_TEST_MOVE_REFS="+r.Dir, "CROFT_TEST_CONFIG="+repo.Git.Options.ConfigDir, "TMPDIR="+os.TempDir()),
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Stdout.Read(make([]byte, 1)); err != nil { // it has begun
			t.Fatal(err, p.Wait())
		}
		time.Sleep(rand.N(2 * packing)) // at a random moment
		p.Kill()
		_ = p.Wait()
		left += len(repo.LeftLocks())
		sweep(t, repo)
		for name, oid := range RefsOf(t, repo, "refs/") {
			if oid != one && oid != two {
				t.Fatalf("%s is %s", name, oid)
			}
		}
		locks := 0
		for path := range treeOf(t, filepath.Join(repo.CommonDir, "refs")) {
			if strings.HasSuffix(path, ".lock") {
				locks++
			}
		}
		if locks > 0 || exists(filepath.Join(repo.CommonDir, "packed-refs.lock")) || exists(filepath.Join(repo.CommonDir, "HEAD.lock")) {
			t.Fatalf("%d locks are left", locks)
		}
		if refs := RefsOf(t, repo, "refs/croft/ws/"); len(refs) != manyRefs+10 {
			t.Fatalf("%d refs of %d are there", len(refs), manyRefs+10)
		}
	}
	t.Logf("%d locks were left and swept", left)
	if out := r.Git("fsck", "--strict"); strings.Contains(out, "error") {
		t.Error(out)
	}
}

// TestRefWriterDies: a process dies while it holds every lock that an update takes: those
// of refs that are moved, made and deleted, of HEAD and of packed-refs. The next sweep
// deletes all of them, and no ref has moved.
func TestRefWriterDies(t *testing.T) {
	updates := func(one, two string) []Update {
		return []Update{{"refs/heads/main", two, one}, {"refs/croft/new/x", two, ""}, {"refs/croft/goes", "", one}}
	}
	if dir := os.Getenv("CROFT_TEST_DIE"); dir != "" {
		repo, err := openWith(gitcmd.New(gitcmd.Options{ConfigDir: os.Getenv("CROFT_TEST_CONFIG"), Environ: os.Environ()}), dir)
		if err != nil {
			t.Fatal(err)
		}
		one, two, _ := strings.Cut(os.Getenv("CROFT_TEST_OIDS"), " ")
		err = repo.UpdateRefsAfter(t.Context(), func() error { os.Exit(7); return nil }, updates(one, two)...)
		t.Fatal("it lives", err)
	}
	if runtime.GOOS != "linux" {
		t.Skip("other processes cannot be seen on this platform")
	}
	r := gittest.New(t)
	one, two := r.Git("rev-parse", "HEAD"), r.Git("commit-tree", "-m", "two", "HEAD^{tree}")
	r.Git("update-ref", "refs/croft/goes", one)
	r.Git("pack-refs", "--all")
	repo := open(t, r)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := proc.Start(t.Context(), proc.Command{
		Path: self, Args: []string{"-test.run=^TestRefWriterDies$"}, Dir: r.Dir, Env: append(slices.Clone(r.Env),
			"CROFT_TEST_DIE="+r.Dir, "CROFT_TEST_OIDS="+one+" "+two, "CROFT_TEST_CONFIG="+repo.Git.Options.ConfigDir, "TMPDIR="+os.TempDir()),
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = p.Wait()
	locks := []string{"refs/heads/main.lock", "refs/croft/new/x.lock", "refs/croft/goes.lock", "HEAD.lock", "packed-refs.lock", "packed-refs.new"}
	for _, lock := range locks {
		if !exists(filepath.Join(repo.CommonDir, lock)) {
			t.Errorf("%s was not taken", lock)
		}
	}
	sweep(t, repo)
	for _, lock := range locks {
		if exists(filepath.Join(repo.CommonDir, lock)) {
			t.Errorf("%s is left", lock)
		}
	}
	if err := repo.UpdateRefs(t.Context(), updates(one, two)...); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// moveForEver is the process that is killed.
func moveForEver(t *testing.T, dir string) {
	repo, err := openWith(gitcmd.New(gitcmd.Options{ConfigDir: os.Getenv("CROFT_TEST_CONFIG"), Environ: os.Environ()}), dir)
	if err != nil {
		t.Fatal(err)
	}
	one, err := repo.ResolveCommit(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	c, err := repo.ReadCommit(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	two, err := repo.WriteCommit(object.Commit{Tree: c.Tree, Signature: c.Signature, Message: "two"})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("begun")
	for i := 0; ; i++ {
		ref := fmt.Sprintf("refs/croft/ws/%04d/x", i%manyRefs)
		was, err := repo.ReadRef(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		now := one
		if was == one {
			now = two
		}
		extra := Update{Ref: "refs/heads/extra", New: one}
		if there, err := repo.ReadRef(t.Context(), extra.Ref); err == nil {
			extra.New, extra.Old = "", there
		}
		if err := repo.UpdateRefs(t.Context(), Update{ref, now, was}, extra); err != nil {
			t.Fatal(err)
		}
		if err := repo.PackRefs(t.Context(), "refs/croft/"); err != nil {
			t.Fatal(err)
		}
	}
}

func BenchmarkMoveRefs(b *testing.B) {
	for _, way := range []string{"git", "croft"} {
		b.Run(way, func(b *testing.B) {
			r := gittest.New(b)
			oids := []string{r.Git("rev-parse", "HEAD"), r.Git("commit-tree", "-m", "two", "HEAD^{tree}")}
			repo, err := openWith(gitcmd.New(options(r)), r.Dir)
			if err != nil {
				b.Fatal(err)
			}
			defer repo.Close()
			move := func(u ...Update) error { return repo.UpdateRefs(b.Context(), u...) }
			if way == "git" {
				move = func(u ...Update) error { return repo.UpdateByGit(b.Context(), nil, u) }
			}
			if err := move(Update{Ref: "refs/croft/x/y", New: oids[0]}); err != nil {
				b.Fatal(err)
			}
			for i := 0; b.Loop(); i++ {
				if err := move(Update{"refs/croft/x/y", oids[(i+1)%2], oids[i%2]}, Update{"refs/heads/main", oids[(i+1)%2], oids[i%2]}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
