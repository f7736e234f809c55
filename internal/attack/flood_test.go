//go:build unix

package attack

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// survive runs commands whose work an attacker made large. Each must answer, or refuse with
// a code, within a bounded time and a bounded amount of memory.
func (h *host) survive(limit time.Duration, commands ...string) {
	h.t.Helper()
	h.bound = 2*limit + patience
	for _, command := range commands {
		r := h.croft(strings.Fields(command)...)
		h.t.Logf("croft %s: exit %d, %v, %d MB", command, r.code, r.took.Round(time.Millisecond), r.memory>>20)
		if r.took > limit {
			h.t.Errorf("croft %s took %v, the limit is %v", command, r.took.Round(time.Millisecond), limit)
		}
		if r.code != 0 && !answered(r) {
			h.t.Errorf("croft %s refused without a code: %v", command, r)
		}
		h.mustBeSmall(command, r)
	}
}

// TestManyRefs: [C] makes 200,000 packed refs in the common directory, in the
// other modes [W] in its own git directory. Every command must answer within
// 10 seconds.
func TestManyRefs(t *testing.T) {
	inModes(t, everyMode, func(t *testing.T, h *host) {
		a := h.agent("a1")
		add(t, filepath.Join(a.dir, "f1.txt"), "change\n")
		head := a.git("rev-parse", "HEAD")
		a.git("pack-refs", "--all")
		old := read(t, filepath.Join(a.gitDir(), "packed-refs"))
		f, err := os.Create(filepath.Join(a.gitDir(), "packed-refs"))
		must(t, err)
		w := bufio.NewWriter(f)
		fmt.Fprint(w, "# pack-refs with: peeled fully-peeled sorted \n")
		var kept []string
		for line := range strings.SplitSeq(old, "\n") {
			if line != "" && line[0] != '#' && line[0] != '^' {
				kept = append(kept, line)
			}
		}
		for i := range size(200_000, 1_000_000) {
			fmt.Fprintf(w, "%s refs/croft/archive/z%07d/head\n", head, i)
		}
		for _, line := range kept {
			fmt.Fprintln(w, line)
		}
		must(t, w.Flush())
		must(t, f.Close())
		commands := []string{
			"list", "show a1", "diff a1", "conflicts", "snapshot a1", "review a1", "finish a1", "merge --keep a1", "doctor", "gc",
			"remove --force a1", "restore a1", "clean --yes",
		}
		h.survive(10*time.Second, commands...)
	})
}

// explosions are what an agent [W] leaves so that reading its work costs as much as
// possible.
var explosions = map[string]func(t *testing.T, a *agent){
	"many lines": func(t *testing.T, a *agent) {
		a.flood("lines.txt", size(1_000_000, 10_000_000), func(i int) string { return fmt.Sprintf("line %d\n", i%1000) })
	},
	"many lines, all changed": func(t *testing.T, a *agent) {
		a.flood("lines.txt", size(100_000, 1_000_000), func(i int) string { return fmt.Sprintf("line %d\n", i%7) })
		a.commit("lines")
		a.flood("lines.txt", size(100_000, 1_000_000), func(i int) string { return fmt.Sprintf("line %d\n", (i*i)%11) })
	},
	"many files": func(t *testing.T, a *agent) {
		for i := range size(3_000, 100_000) {
			dir := filepath.Join(a.dir, "many", itoa(i/1000))
			if i%1000 == 0 {
				must(t, os.MkdirAll(dir, 0o755))
			}
			must(t, os.WriteFile(filepath.Join(dir, itoa(i)), []byte(itoa(i)), 0o644))
		}
	},
	"a sparse file": func(t *testing.T, a *agent) {
		f, err := os.Create(filepath.Join(a.dir, "sparse.bin"))
		must(t, err)
		must(t, f.Truncate(int64(size(256<<20, 1<<30))))
		must(t, f.Close())
	},
	"one long line": func(t *testing.T, a *agent) {
		a.flood("line.txt", size(20<<10, 200<<10), func(int) string { return strings.Repeat("x", 1<<10) })
	},
	"renames": func(t *testing.T, a *agent) { // each of many files is compared with each
		for i := range size(300, 3000) {
			a.write(fmt.Sprintf("old/%d.txt", i), strings.Repeat(fmt.Sprintf("%d\n", i), 200))
		}
		a.commit("old")
		a.git("rm", "-r", "--quiet", "old")
		for i := range size(300, 3000) {
			a.write(fmt.Sprintf("new/%d.txt", i), strings.Repeat(fmt.Sprintf("%d\n", i), 200)+"changed\n")
		}
	},
}

// flood writes a file of many parts without holding it in memory.
func (a *agent) flood(name string, parts int, part func(i int) string) {
	a.h.t.Helper()
	f, err := os.Create(filepath.Join(a.dir, name))
	must(a.h.t, err)
	w := bufio.NewWriter(f)
	for i := range parts {
		_, _ = w.WriteString(part(i))
	}
	must(a.h.t, w.Flush())
	must(a.h.t, f.Close())
}

// TestExplosion: reading, keeping and merging work that an agent made as large as it could
// takes bounded time and memory. Large uncommitted files are left out of diffs and merges,
// so the agent commits them.
func TestExplosion(t *testing.T) {
	for name, explode := range explosions {
		t.Run(name, func(t *testing.T) {
			modes, before, after := gitModes, []string{
				"list", "diff a1", "conflicts", "snapshot a1", "review --json a1",
			}, []string{
				"list", "diff a1", "diff a1 --stat", "diff --json a1", "conflicts", "snapshot a1", "review --json a1", "review a1",
				"merge --keep a1", "remove --force a1",
			}
			if size(0, 1) == 0 {
				modes, before, after = gitModes[:1], []string{"diff a1"}, []string{"list", "diff a1", "conflicts", "review --json a1", "merge --keep a1"}
			}
			inModes(t, modes, func(t *testing.T, h *host) {
				a := h.agent("a1")
				other := h.agent("b1")
				add(t, filepath.Join(other.dir, "f1.txt"), "other\n")
				explode(t, a)
				limit := time.Duration(size(60, 1200)) * time.Second
				h.survive(limit, before...)
				a.commit("all of it")
				h.survive(limit, after...)
				if size(0, 1) == 0 && h.git(h.dir, "log", "--format=%h", "--no-merges", "main..croft/a1") != "" {
					t.Error("it was not merged")
				}
			})
		})
	}
}
