//go:build unix

package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/check"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/writers"
	"github.com/croft-sh/croft/internal/merge"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/rules"
)

// gate is a repository whose checks are approved.
type gate struct {
	*gittest.Repo
	e     *Engine
	r     *project.Project
	rules config.Merge
	at    *mergetree.Session
	out   string // a directory that checks write their output to
}

func newGate(t *testing.T, checks ...string) *gate {
	t.Helper()
	g := &gate{Repo: gittest.New(t), out: t.TempDir()}
	g.Env = append(g.Env, "OUT="+g.out)
	g.Write(".gitignore", "*.cache\n")
	g.Commit("ignore")
	g.rules = config.Merge{Checks: checks, CheckTimeout: config.Duration(time.Minute), CheckEnv: []string{"OUT"}}
	g.open(t, rules.TrustVariable+"="+rules.ChecksHash(checks))
	return g
}

func (g *gate) open(t *testing.T, env ...string) {
	t.Helper()
	var err error
	if g.e, err = Open(t.Context(), g.Dir, &Options{Environ: append(slices.Clone(g.Env), env...)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.e.Close() })
	s, err := g.e.projects.LocateGit(t.Context(), g.Dir)
	if err != nil {
		t.Fatal(err)
	}
	g.r = s.Project
	if g.at, err = g.r.Git.OpenMergeTree(writers.OnDisk); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.at.Close)
}

// attempt makes a commit in the store of merge attempts, which the repository does not
// have.
func (g *gate) attempt(t *testing.T, files map[string]string) (commit, tree string) {
	t.Helper()
	var entries []object.TreeEntry
	for name, text := range files {
		oid, err := g.at.WriteBlob([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, object.TreeEntry{Mode: "100644", Name: name, OID: oid})
	}
	slices.SortFunc(entries, func(a, b object.TreeEntry) int { return strings.Compare(a.Name, b.Name) })
	tree, err := g.at.WriteTree(entries)
	if err != nil {
		t.Fatal(err)
	}
	commit, err = g.at.Commit(t.Context(), object.Commit{
		Tree: tree, Parents: []string{g.Git("rev-parse", "HEAD")}, Signature: "A <a@b> 0 +0000", Message: "m",
	}, gitcmd.Identity{})
	if err != nil {
		t.Fatal(err)
	}
	return commit, tree
}

func (g *gate) check(t *testing.T, commit, tree string) merge.Verdict {
	t.Helper()
	v, err := g.e.lanes.NewChecker(g.r, g.rules, "m1", g.at).Check(t.Context(), commit, tree)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// said returns what checks wrote to a file.
func (g *gate) said(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(g.out, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(b), "\n")
}

// A check sees the tree that will be published and nothing else, although the
// repository does not have it, and git works in there without reaching the
// repository.
func TestCheckSeesExactlyTheTree(t *testing.T) {
	t.Parallel()
	g := newGate(t,
		`find . -path ./.git -prune -o -type f -print | sort | tr '\n' ' ' > $OUT/files; cat a > $OUT/a`,
		`git rev-parse HEAD HEAD^{tree} > $OUT/head; git status --porcelain > $OUT/status; git show --stat HEAD > /dev/null && git branch -a > $OUT/branches
		 git update-ref refs/heads/planted HEAD; git tag planted; pwd -P > $OUT/pwd; cat > $OUT/stdin
		 echo "$CROFT_REPO $CROFT_CHECK $CROFT_COMMIT $CROFT_TREE" > $OUT/env; env | grep -c ^GIT_ > $OUT/git; true`)
	before := g.Git("for-each-ref")
	commit, tree := g.attempt(t, map[string]string{"a": "one\n", "b": "two\n"})
	v := g.check(t, commit, tree)
	if !v.Passed || len(v.Checks) != 2 || v.Checks[0].Tree != tree || v.Checks[1].Command != g.rules.Checks[1] {
		t.Fatalf("%+v", v)
	}
	for name, want := range map[string]string{
		"files": "./a ./b ", "a": "one", "head": commit + "\n" + tree, "status": "", "stdin": "", "git": "0",
		"branches": "* (no branch)", "env": g.Dir + " 1 " + commit + " " + tree,
	} {
		if got := g.said(t, name); got != want && name != "branches" || name == "branches" && strings.Contains(got, "main") {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if dir := g.said(t, "pwd"); strings.HasPrefix(dir, g.Dir) || filepath.Base(dir) != "app" {
		t.Errorf("it ran in %s", dir)
	}
	if got := g.Git("for-each-ref"); got != before {
		t.Errorf("refs %q", got)
	}
	if got := g.Git("worktree", "list"); strings.Count(got, "\n") > 0 {
		t.Errorf("worktrees %q", got)
	}
	if _, err := g.TryGit(g.Dir, "cat-file", "-e", commit); err == nil {
		t.Error("the repository has the commit")
	}
}

// Every check has a fresh checkout that holds exactly the tree: no file of an earlier check
// is left, whether it was tracked, ignored or untracked.
func TestCheckoutIsFresh(t *testing.T) {
	t.Parallel()
	g := newGate(t, `find . -path ./.git -prune -o -type f -print | sort | tr '\n' ' ' >> $OUT/files; echo >> $OUT/files
		cat a >> $OUT/a; git status --porcelain >> $OUT/status; test ! -e .git/planted && touch .git/planted && test "$(git config planted.key)" = ""`+
		` && git config planted.key x && git config core.excludesFile $PWD/all && echo '*' > .git/info/exclude && echo x > all &&
		git update-index --assume-unchanged a && git update-index --skip-worktree keep && echo changed > a && rm keep.not; rm -f b
		mkdir -p new/deep nested && echo x > new/deep/file && git init -q nested && echo x > some.cache && mkdir locked && echo x > locked/x && chmod 500 locked
		mkdir -p sub && echo x > sub/file; cp -p keep kept.cache`)
	first, firstTree := g.attempt(t, map[string]string{".gitignore": "*.cache\n", "a": "one\n", "b": "1\n", "keep": "k\n", "keep.not": "k\n"})
	second, secondTree := g.attempt(t, map[string]string{".gitignore": "*.cache\n", "a": "two\n", "b": "1\n", "keep": "k\n", "keep.not": "k\n", "new": "a file\n"})
	for _, c := range [][2]string{{first, firstTree}, {second, secondTree}, {first, firstTree}, {first, firstTree}} {
		if v := g.check(t, c[0], c[1]); !v.Passed {
			t.Fatalf("%+v", v)
		}
	}
	if got := g.said(t, "a"); got != "one\ntwo\none\none" {
		t.Errorf("a was %q", got)
	}
	if got := g.said(t, "status"); got != "" {
		t.Errorf("git status said %q", got)
	}
	const one, two = "./.gitignore ./a ./b ./keep ./keep.not ", "./.gitignore ./a ./b ./keep ./keep.not ./new "
	if got, want := g.said(t, "files"), strings.Join([]string{one, two, one, one}, "\n"); got != want {
		t.Errorf("files\n%s\nwant\n%s", got, want)
	}
	if n := len(places(t, g)); n != 1 {
		t.Errorf("%d checkouts", n)
	}
}

// A check gets the environment variables that the rules name, and none of the others, which
// may hold secrets.
func TestCheckEnvironment(t *testing.T) {
	t.Parallel()
	g := newGate(t, `env | sed 's/=.*//' | sort > $OUT/names; echo "$CI $NAMED $AWS_REGION" > $OUT/values`)
	g.open(t, rules.TrustVariable+"="+rules.ChecksHash(g.rules.Checks), "SECRET_TOKEN=s", "NAMED=n", "AWS_REGION=r", "LC_TIME=C", "TZ=UTC", "CI=false",
		"GIT_DIR=/nowhere", "CROFT_STATE_DIR="+g.e.projects.Settings.Config().StateDir, "LD_PRELOAD=", "GOCACHE=/c")
	g.rules.CheckEnv = []string{"OUT", "NAMED", "AWS_*", "GIT_*"}
	commit, tree := g.attempt(t, map[string]string{"a": "one\n"})
	if v := g.check(t, commit, tree); !v.Passed {
		t.Fatalf("%+v", v)
	}
	names := strings.Fields(g.said(t, "names"))
	for _, want := range []string{"PATH", "HOME", "LC_TIME", "TZ", "GOCACHE", "NAMED", "AWS_REGION", "OUT", "CI", "CROFT_CHECK", "CROFT_REPO", "CROFT_COMMIT", "CROFT_TREE"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing in %v", want, names)
		}
	}
	for _, bad := range []string{"SECRET_TOKEN", rules.TrustVariable, "CROFT_STATE_DIR", "GIT_DIR", "LD_PRELOAD"} {
		if slices.Contains(names, bad) {
			t.Errorf("a check sees %s", bad)
		}
	}
	if got := g.said(t, "values"); got != "true n r" {
		t.Errorf("values %q", got)
	}
}

func places(t *testing.T, g *gate) []os.DirEntry {
	t.Helper()
	list, err := os.ReadDir(g.e.lanes.ChecksDir())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A checkout that an earlier check damaged is deleted and made anew. If it was replaced by
// a link to a directory of the user's, the link goes and the directory stays.
func TestSpoiltCheckoutIsMadeAnew(t *testing.T) {
	t.Parallel()
	g := newGate(t, `cat a >> $OUT/a; cd / && d=$(cat $OUT/where) && rm -rf "$d" && ln -s $OUT/precious "$d"`)
	commit, tree := g.attempt(t, map[string]string{"a": "one\n"})
	gittest.WriteFile(t, filepath.Join(g.out, "precious", "mine"), "mine\n")
	where := filepath.Join(g.e.lanes.ChecksDir(), "app-"+string(g.r.ID)+"-0")
	gittest.WriteFile(t, filepath.Join(g.out, "where"), filepath.Join(where, "app")+"\n")
	for range 2 {
		if v := g.check(t, commit, tree); !v.Passed {
			t.Fatalf("%+v", v)
		}
	}
	if got := g.said(t, "a"); got != "one\none" {
		t.Errorf("a was %q", got)
	}
	if got := g.said(t, "precious/mine"); got != "mine" {
		t.Errorf("somebody's file is %q", got)
	}
	// Damage the index.
	if err := os.WriteFile(filepath.Join(where, "index"), []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	if v := g.check(t, commit, tree); !v.Passed {
		t.Fatalf("%+v", v)
	}
}

// The first check that fails ends the run. Its whole output is kept in a file, and the end
// of it is in the result.
func TestFailedCheckIsKept(t *testing.T) {
	t.Parallel()
	g := newGate(t, "echo fine", "echo out; echo err >&2; exit 3", "touch $OUT/ran")
	commit, tree := g.attempt(t, map[string]string{"a": "one\n"})
	v := g.check(t, commit, tree)
	if v.Passed || len(v.Checks) != 2 || !v.Checks[0].Passed || v.Checks[1].Passed {
		t.Fatalf("%+v", v)
	}
	const text = "out\nerr\ncroft: exit status 3\n"
	if v.Checks[1].Tail != text || v.Checks[0].Tail != "" || v.Checks[1].Took <= 0 {
		t.Errorf("%+v", v.Checks)
	}
	for i, want := range []string{"$ echo fine\nfine\n", "$ " + g.rules.Checks[1] + "\n" + text} {
		if b, err := os.ReadFile(v.Checks[i].Log); err != nil || string(b) != want {
			t.Errorf("the log holds %q, %v, want %q", b, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(g.out, "ran")); err == nil {
		t.Error("the check after the failure ran")
	}
	g.check(t, commit, tree)
	logs, _ := os.ReadDir(filepath.Dir(v.Checks[0].Log))
	if len(logs) != 4 || logs[0].Name() != "m1-1.log" {
		t.Errorf("logs %v", logs)
	}
}

func TestLongOutputIsCut(t *testing.T) {
	const logHalf, logTail = 512 << 10, 4 << 10 // as internal/check keeps it
	t.Parallel()
	g := newGate(t, `i=0; while [ $i -lt 40000 ]; do echo "line $i of an output that is quite long indeed"; i=$((i+1)); done; exit 1`)
	commit, tree := g.attempt(t, map[string]string{"a": "one\n"})
	v := g.check(t, commit, tree)
	b, err := os.ReadFile(v.Checks[0].Log)
	text := string(b)
	if err != nil || len(text) > 2*logHalf+1000 || !strings.Contains(text, "line 0 of") || !strings.HasSuffix(text, "line 39999 of an output that is quite long indeed\ncroft: exit status 1\n") ||
		strings.Count(text, "bytes are left out here") != 1 {
		t.Errorf("%d bytes: %v", len(text), err)
	}
	tail := v.Checks[0].Tail
	if len(tail) > logTail || len(tail) < logTail/2 || !strings.HasPrefix(tail, "line ") || !strings.HasSuffix(text, tail) {
		t.Errorf("the tail: %q", tail)
	}
}

// stubborn is a check with a child that ignores SIGTERM and has a child of its own. It
// writes the process IDs of both to a file, and does not end.
const stubborn = `(trap '' TERM; sh -c 'trap "" TERM; echo $$ > $OUT/grandchild.new; mv $OUT/grandchild.new $OUT/grandchild; while :; do sleep 1; done' & echo begun; wait; while :; do sleep 1; done) & 
	echo $! > $OUT/child.new; mv $OUT/child.new $OUT/child; wait; while :; do sleep 1; done`

// pids waits until the check has written its process IDs.
func (g *gate) pids(t *testing.T) []int {
	t.Helper()
	var pids []int
	for _, name := range []string{"child", "grandchild"} {
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
			b, err := os.ReadFile(filepath.Join(g.out, name))
			if pid, perr := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && perr == nil {
				pids = append(pids, pid)
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("the check did not tell its %s", name)
			}
		}
	}
	return pids
}

func wantDead(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		id := proc.Here()
		id.PID = pid
		if proc.LifeOf(id) != proc.Dead {
			t.Errorf("process %d survived", pid)
		}
	}
}

func TestCheckTakesTooLong(t *testing.T) {
	t.Parallel()
	g := newGate(t, stubborn)
	commit, tree := g.attempt(t, map[string]string{"a": "one\n"})
	g.rules.CheckTimeout = config.Duration(time.Second)
	v := g.check(t, commit, tree)
	if v.Passed || v.Checks[0].Passed || v.Checks[0].Tail != "begun\ncroft: killed after 1s, which is merge.check_timeout\n" {
		t.Errorf("%+v", v)
	}
	wantDead(t, g.pids(t))
}

func TestCheckIsCanceled(t *testing.T) {
	t.Parallel()
	g := newGate(t, stubborn)
	commit, tree := g.attempt(t, map[string]string{"a": "one\n"})
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("nobody wants it any more")
	go func() {
		g.pids(t)
		cancel(why)
	}()
	if v, err := g.e.lanes.NewChecker(g.r, g.rules, "m1", g.at).Check(ctx, commit, tree); !errors.Is(err, why) || v.Passed {
		t.Errorf("%+v, %v", v, err)
	}
	wantDead(t, g.pids(t))
}

// A server that a check leaves running is killed before the next check starts.
func TestCheckLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	g := newGate(t, `sh -c 'echo $$ > $OUT/child.new; mv $OUT/child.new $OUT/child; cp $OUT/child $OUT/grandchild; exec sleep 1000' > /dev/null 2>&1 &
		while ! test -e $OUT/grandchild; do sleep 0.01; done`)
	commit, tree := g.attempt(t, map[string]string{"a": "one\n"})
	if v := g.check(t, commit, tree); !v.Passed {
		t.Errorf("%+v", v)
	}
	wantDead(t, g.pids(t))
}

// A process that left the check's process group keeps its checkout: the next check uses
// another one.
func TestRunawayKeepsItsCheckout(t *testing.T) {
	t.Parallel()
	if _, err := proc.LookPath("setsid"); err != nil {
		t.Skip("no setsid on this system")
	}
	g := newGate(t, `pwd >> $OUT/pwd; test -e $OUT/child || { setsid sh -c 'echo $$ > $OUT/child.new; mv $OUT/child.new $OUT/child; exec sleep 1000' > /dev/null 2>&1 &
		while ! test -e $OUT/child; do sleep 0.01; done; }`)
	commit, tree := g.attempt(t, map[string]string{"a": "one\n"})
	g.check(t, commit, tree)
	pid, err := strconv.Atoi(g.said(t, "child"))
	if err != nil {
		t.Fatal(err)
	}
	runaway, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = runaway.Kill() }()
	g.check(t, commit, tree)
	if dirs := strings.Fields(g.said(t, "pwd")); len(dirs) != 2 || dirs[0] == dirs[1] {
		t.Errorf("both ran in %v", dirs)
	}
}

// Checks that run at once, in this engine and in another one, have a checkout each.
func TestChecksAtOnce(t *testing.T) {
	t.Parallel()
	const n = 3
	g := newGate(t, `mkdir $OUT/$(basename $(dirname $PWD)) && touch $OUT/here-$CROFT_TREE; while [ $(ls $OUT | grep -c ^here-) -lt `+strconv.Itoa(n)+` ]; do sleep 0.01; done
		rmdir $OUT/$(basename $(dirname $PWD))`)
	other := *g
	other.open(t, rules.TrustVariable+"="+rules.ChecksHash(g.rules.Checks))
	var wg sync.WaitGroup
	for i := range n {
		from := g
		if i == 0 {
			from = &other
		}
		commit, tree := from.attempt(t, map[string]string{"a": strconv.Itoa(i)})
		wg.Go(func() {
			v, err := from.e.lanes.NewChecker(from.r, from.rules, "m"+strconv.Itoa(i), from.at).Check(t.Context(), commit, tree)
			if err != nil || !v.Passed {
				t.Errorf("%+v, %v", v, err)
			}
		})
	}
	wg.Wait()
	if got := len(places(t, g)); got != n {
		t.Errorf("%d checkouts, want %d", got, n)
	}
	g.e.projects.Clock = func() time.Time { return time.Now().Add(check.IdleTime + time.Hour) }
	// A process that another test is just starting may have inherited a lock.
	left := func() (left []string) {
		for _, p := range places(t, g) {
			inside, _ := os.ReadDir(filepath.Join(g.e.lanes.ChecksDir(), p.Name()))
			for _, f := range inside {
				left = append(left, f.Name())
			}
		}
		return left
	}
	for range 5 {
		if _, err := g.e.GC(t.Context(), croft.GCRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	if got := left(); !slices.Equal(got, []string{"lock", "lock", "lock"}) {
		t.Errorf("still there: %v", got)
	}
}

// The directories of submodules are empty, whatever an earlier check put there.
func TestSubmodulesAreEmpty(t *testing.T) {
	t.Parallel()
	g := newGate(t, `ls -A sub > $OUT/sub; touch sub/file`)
	tree, err := g.at.WriteTree([]object.TreeEntry{{Mode: "160000", Name: "sub", OID: g.Git("rev-parse", "HEAD")}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if v := g.check(t, g.Git("rev-parse", "HEAD"), tree); !v.Passed || g.said(t, "sub") != "" {
			t.Errorf("%+v: %q", v, g.said(t, "sub"))
		}
	}
}

// Only approved commands run. Other commands, the same commands in another order, and the
// same commands in another repository are not approved.
func TestUntrustedChecksDoNotRun(t *testing.T) {
	t.Parallel()
	g := newGate(t, "touch $OUT/ran")
	g.open(t)
	commit, tree := g.attempt(t, map[string]string{"a": "one\n"})
	refused := func(checks ...string) {
		t.Helper()
		own := g.rules
		own.Checks = checks
		_, err := g.e.lanes.NewChecker(g.r, own, "m1", g.at).Check(t.Context(), commit, tree)
		if e, ok := errors.AsType[*croft.Error](err); !ok || e.Code != croft.ChecksUntrusted || !strings.Contains(e.Details, rules.ChecksHash(checks)) {
			t.Errorf("%v: %v, want ChecksUntrusted", checks, err)
		}
		if _, err := os.Stat(filepath.Join(g.out, "ran")); err == nil {
			t.Errorf("%v ran", checks)
		}
	}
	refused("touch $OUT/ran")
	plan := &croft.CheckPlan{Hash: rules.ChecksHash([]string{"true", "touch $OUT/ran"}), Checks: []string{"true", "touch $OUT/ran"}}
	if err := g.e.rules.WriteApproval(t.Context(), g.r, plan); err != nil {
		t.Fatal(err)
	}
	refused("touch $OUT/ran")
	refused("touch $OUT/ran", "true")
	refused("true", "touch $OUT/ran", "")
	refused("true\ntouch $OUT/ran")
	elsewhere := *g.r
	elsewhere.ID = "another"
	if _, ok, err := g.e.rules.ChecksTrusted(t.Context(), &elsewhere, plan.Checks); ok || err != nil {
		t.Errorf("approved in another repository: %v, %v", ok, err)
	}
	g.rules.Checks = plan.Checks
	if v := g.check(t, commit, tree); !v.Passed {
		t.Errorf("approved: %+v", v)
	}
	if got := g.said(t, "ran"); got != "" {
		t.Error(got)
	}
}
