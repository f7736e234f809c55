//go:build unix

package battery

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// forecast is what croft conflicts prints with --json.
type forecast struct {
	croft.Forecast
	took time.Duration
}

// TestRadar forecasts the collisions of many agents, whose work collides in every way that
// git knows, and compares the forecast with a merge of every pair by plain git. Its cost is
// compared with a bare git merge-tree that gets exactly the pairs that Croft merges.
func TestRadar(t *testing.T) {
	c := gittest.Corpus{Files: size(400, 10000), Agents: size(20, 100), Heat: size(60, 10), Seed: 4}
	p := corpusProject(t, c)
	for i := range c.Agents {
		p.mustCroft("new", agentName(i), "--branch", c.Branch(i))
	}
	all := c.Agents * (c.Agents + 1) / 2 // with the target
	before := p.objectFiles()
	first := p.conflicts()
	if e := first.Effort; e.Pairs != all || e.Pruned+e.Merged != all || len(first.Order) != c.Agents || len(first.Skipped) != 0 {
		t.Fatalf("%+v, %d in order, skipped %v", e, len(first.Order), first.Skipped)
	}
	p.wantTruth(first, c.Agents)
	p.compareRadar(first)

	// Uncommitted work counts, and only its pairs are compared again.
	const changed = 3
	for i := range changed {
		p.litter(agentName(i * c.Agents / changed))
	}
	fresh := all - (c.Agents-changed)*(c.Agents-changed+1)/2
	second := p.conflicts()
	if e := second.Effort; e.Remembered != all-fresh || e.Pruned+e.Merged != fresh {
		t.Errorf("after %d of %d changed: %+v, want %d pairs compared", changed, c.Agents, e, fresh)
	}
	p.litter(agentName(1))
	third := p.conflicts()
	if e := third.Effort; e.Remembered != all-c.Agents || e.Pruned+e.Merged != c.Agents {
		t.Errorf("after one changed: %+v, want %d pairs compared", e, c.Agents)
	}
	left := p.objectFiles() - before
	if left != 0 {
		t.Errorf("%d objects were left", left)
	}
	p.wantTruth(third, c.Agents)
	report(t, "radar", "%d agents, %d files, %d pairs: %d left out, %d merged, %d collide, as merging every pair says; "+
		"reading the workspaces %s; after %d changed %d pairs compared in %s, after one %d in %s; %d objects left",
		c.Agents, c.Files, all, first.Effort.Pruned, first.Effort.Merged, len(first.Pairs), ms(time.Duration(first.Effort.Reading)),
		changed, fresh, ms(time.Duration(second.Effort.Comparing)), c.Agents, ms(time.Duration(third.Effort.Comparing)), left)
}

func agentName(i int) string { return fmt.Sprintf("w%03d", i) }

// corpusProject makes a project of a corpus, with main checked out.
func corpusProject(t *testing.T, c gittest.Corpus) *project {
	t.Helper()
	p := newProject(t)
	p.git(p.work(), "init", "--quiet", "--initial-branch=main", p.dir)
	var in bytes.Buffer
	if _, err := c.WriteTo(&in); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(bounded(t), "git", "-c", "fastimport.unpackLimit=0", "fast-import", "--quiet", "--force")
	cmd.Dir, cmd.Env, cmd.Stdin = p.dir, p.environ(), &in
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git fast-import: %v\n%s", err, out)
	}
	p.git(p.dir, "reset", "--quiet", "--hard", "main")
	return p
}

func (p *project) conflicts() forecast {
	p.t.Helper()
	r := p.croft("conflicts")
	var f forecast
	if err := json.Unmarshal([]byte(r.stdout), &f); r.code != 0 || r.err != nil || err != nil {
		p.t.Fatalf("croft conflicts: %v: %v", err, r)
	}
	f.took = r.took
	return f
}

// forget makes the next forecast compare everything.
func (p *project) forget() {
	p.t.Helper()
	if err := os.RemoveAll(filepath.Join(p.state(), "forecasts")); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) objectFiles() int {
	p.t.Helper()
	n := 0
	err := filepath.WalkDir(filepath.Join(p.dir, ".git", "objects"), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

// litter leaves uncommitted work in a workspace: a new file, which other workspaces may
// have too, and a change of a tracked one.
func (p *project) litter(name string) {
	p.t.Helper()
	dir := filepath.Join(p.workspaces(), name)
	gittest.WriteFile(p.t, filepath.Join(dir, "litter", "new.txt"), "of "+name+"\n")
	tracked, _, _ := strings.Cut(p.git(dir, "ls-files", "-z", "--", "*.txt"), "\x00")
	text, err := os.ReadFile(filepath.Join(dir, tracked))
	if err != nil {
		p.t.Fatal(err)
	}
	gittest.WriteFile(p.t, filepath.Join(dir, tracked), "changed by "+name+"\n"+string(text))
}

// scratch is an environment in which git writes objects elsewhere.
func (p *project) scratch() []string {
	p.t.Helper()
	dir, err := os.MkdirTemp(shm(), "croft-battery-")
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return []string{"GIT_OBJECT_DIRECTORY=" + dir, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + filepath.Join(p.dir, ".git", "objects")}
}

// shm is a directory in memory, or "" if there is none.
func shm() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return ""
}

// gitIn runs plain git with more variables, and returns its output and status.
func (p *project) gitIn(dir string, env []string, stdin string, args ...string) (string, int) {
	p.t.Helper()
	cmd := exec.CommandContext(bounded(p.t), "git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, append(p.environ(), env...), strings.NewReader(stdin)
	out, err := cmd.Output()
	if cmd.ProcessState == nil {
		p.t.Errorf("git %v: %v", args, err)
		return "", -1
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// wantTruth compares a forecast with plain git's result for every pair, each merged by a
// process of its own. A pair that only repeats the conflict of one side with main is not
// forecast.
func (p *project) wantTruth(f forecast, agents int) {
	p.t.Helper()
	env := p.scratch()
	names, commits := make([]string, agents), make([]string, agents)
	for i := range agents {
		names[i] = agentName(i)
		commits[i] = p.stateOf(filepath.Join(p.workspaces(), names[i]), env)
	}
	names, commits = append(names, "main"), append(commits, p.git(p.dir, "rev-parse", "main"))
	said := map[string]croft.Collision{}
	for _, c := range f.Pairs {
		said[c.A+" "+c.B] = c
	}
	pairs := pairsOf(len(names))
	found := make([]merged, len(pairs))
	var wg sync.WaitGroup
	workers := runtime.NumCPU()
	for k := range workers {
		wg.Go(func() {
			for n := k; n < len(pairs); n += workers {
				found[n] = p.mergedBy(env, commits[pairs[n][0]], commits[pairs[n][1]])
			}
		})
	}
	wg.Wait()
	collide, main := 0, len(names)-1
	withMain, own := map[int][]string{}, map[int][]string{}
	for n, pair := range pairs {
		if pair[1] == main && found[n].status == 1 {
			withMain[pair[0]] = found[n].paths
		}
	}
	for i := range agents {
		base, _ := p.gitIn(p.dir, env, "", "merge-base", "main", commits[i])
		out, _ := p.gitIn(p.dir, env, "", "diff", "--name-only", "--no-renames", "-z", strings.TrimSpace(base), commits[i])
		own[i] = strings.Split(strings.Trim(out, "\x00"), "\x00")
	}
	for n, pair := range pairs {
		m := found[n]
		if m.status == 1 && pair[1] != main && isMains(m.paths, pair, withMain, own) {
			m = merged{} // the conflict of one side with main, which is forecast for itself
		}
		if m.status != 0 {
			collide++
		}
		p.judge(names[pair[0]]+" "+names[pair[1]], said, m)
	}
	if len(said) != collide || collide == 0 {
		p.t.Errorf("%d collisions are forecast, there are %d", len(said), collide)
	}
}

// merged is the result of plain git for one pair.
type merged struct {
	status int
	paths  []string // in conflict
}

// mergedBy merges two commits by plain git.
func (p *project) mergedBy(env []string, a, b string) merged {
	// -z, so that paths are not quoted; the tree comes first.
	out, status := p.gitIn(p.dir, env, "", "merge-tree", "--write-tree", "--no-messages", "--name-only", "-z", a, b)
	m := merged{status: status}
	if status == 1 {
		for _, path := range strings.Split(strings.Trim(out, "\x00"), "\x00")[1:] {
			// git names a file that makes room for a directory after its commit.
			path, _, _ = strings.Cut(path, "~"+a)
			path, _, _ = strings.Cut(path, "~"+b)
			m.paths = append(m.paths, path)
		}
	}
	return m
}

// isMains reports whether each path of a pair is in conflict between one side and main, while
// the other side did nothing there.
func isMains(paths []string, pair [2]int, withMain, own map[int][]string) bool {
	isOf := func(side, other int, path string) bool {
		return slices.Contains(withMain[side], path) && !slices.ContainsFunc(own[other], func(p string) bool {
			return p == path || strings.HasPrefix(p, path+"/") || strings.HasPrefix(path, p+"/")
		})
	}
	for _, path := range paths {
		if !isOf(pair[0], pair[1], path) && !isOf(pair[1], pair[0], path) {
			return false
		}
	}
	return true
}

// judge compares the forecast of one pair with the result of a merge.
func (p *project) judge(pair string, said map[string]croft.Collision, m merged) {
	c, collides := said[pair]
	if collides != (m.status != 0) || m.status > 1 != (c.Reason == croft.Unmergeable) && m.status != 0 {
		p.t.Errorf("%s: forecast %+v, git ended with %d", pair, c, m.status)
		return
	}
	for _, path := range m.paths {
		if !slices.Contains(c.Paths, path) {
			p.t.Errorf("%s: %q is in conflict, forecast were %q", pair, path, c.Paths)
		}
	}
}

// pairsOf lists the pairs of n things.
func pairsOf(n int) [][2]int {
	var list [][2]int
	for i := range n {
		for j := i + 1; j < n; j++ {
			list = append(list, [2]int{i, j})
		}
	}
	return list
}

// stateOf commits everything in a workspace by plain git, elsewhere.
func (p *project) stateOf(dir string, env []string) string {
	p.t.Helper()
	index := filepath.Join(p.t.TempDir(), "index")
	env = append(slices.Clone(env), "GIT_INDEX_FILE="+index)
	must := func(args ...string) string {
		out, status := p.gitIn(dir, env, "", args...)
		if status != 0 {
			p.t.Fatalf("git %v in %s: status %d", args, dir, status)
		}
		return strings.TrimSpace(out)
	}
	must("read-tree", "HEAD")
	must("add", "--all")
	if tree := must("write-tree"); tree != must("rev-parse", "HEAD^{tree}") {
		return must("commit-tree", "-m", "state", "-p", "HEAD", tree)
	}
	return must("rev-parse", "HEAD")
}

// compareRadar compares the cost of a forecast with a bare git that merges the same pairs
// into a directory in memory.
func (p *project) compareRadar(want forecast) {
	t := p.t
	t.Helper()
	asked := p.askedPairs()
	if len(asked) != want.Effort.Merged {
		t.Fatalf("git was asked for %d pairs, the forecast says %d", len(asked), want.Effort.Merged)
	}
	asked = p.withoutCrashes(asked)
	env := p.scratch()
	var got sides
	var all []time.Duration
	// git merges a few pairs of small trees in almost no time, so that the fixed cost of a
	// forecast weighs more; the short form only notices large increases.
	bound := 3.0
	if !isLong() {
		bound = 8
	}
	for round := 1; ; round++ {
		for range size(5, 7) {
			p.forget()
			f := p.conflicts()
			if diff := cmp.Diff(want.Pairs, f.Pairs); diff != "" {
				t.Fatalf("another forecast differs:\n%s", diff)
			}
			got.croft, all = append(got.croft, time.Duration(f.Effort.Comparing)), append(all, f.took)
			start := time.Now()
			if _, status := p.gitIn(p.dir, env, strings.Join(asked, "\n")+"\n", "merge-tree", "--stdin"); status != 0 {
				t.Fatalf("git merge-tree --stdin: status %d", status)
			}
			got.git = append(got.git, time.Since(start))
		}
		ratio := float64(median(got.croft)) / float64(median(got.git))
		report(t, "radar cost", "%d pairs of %d merged, medians of %d: comparing %s, bare git merge-tree --stdin over them %s, ratio %.2f; "+
			"the whole command with reading the workspaces %s",
			want.Effort.Merged, want.Effort.Pairs, len(got.croft), ms(median(got.croft)), ms(median(got.git)), ratio, ms(median(all)))
		if ratio <= bound {
			return
		}
		if round == rounds {
			t.Errorf("comparing takes %.2f times as long as merging the pruned pairs, the bound is %.0f", ratio, bound)
			return
		}
	}
}

// askedPairs makes a forecast with a shim that records which pairs git is asked to merge.
func (p *project) askedPairs() []string {
	p.t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		p.t.Fatal(err)
	}
	dir := p.t.TempDir()
	script := `#!/bin/sh
case "$*" in
*merge-tree*)
	tee "` + dir + `/asked.$$" | "` + real + `" "$@"
	status=$?
	[ $status -le 128 ] || kill -KILL $$ # as git was
	exit $status ;;
*) exec "` + real + `" "$@" ;;
esac
`
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755); err != nil {
		p.t.Fatal(err)
	}
	was := p.path
	p.path = dir + ":" + p.path
	p.forget()
	p.conflicts()
	p.path = was
	files, err := filepath.Glob(filepath.Join(dir, "asked.*"))
	if err != nil {
		p.t.Fatal(err)
	}
	asked := map[string]bool{} // once each, although some are asked again after a crash
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			p.t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			asked[strings.TrimSpace(line)] = true
		}
	}
	return slices.Sorted(maps.Keys(asked))
}

// withoutCrashes leaves out the pairs on which git itself fails: a bare git would stop at
// them.
func (p *project) withoutCrashes(pairs []string) []string {
	p.t.Helper()
	env := p.scratch()
	return slices.DeleteFunc(slices.Clone(pairs), func(pair string) bool {
		_, status := p.gitIn(p.dir, env, "", append([]string{"merge-tree", "--write-tree"}, strings.Fields(pair)...)...)
		return status != 0 && status != 1
	})
}
