//go:build linux

package battery

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/croft-sh/croft/internal/buildtest"
)

// fault is what fails while croft runs: one of git's system calls, or one of Croft's
// points.
type fault struct {
	name  string
	kills bool   // a process dies; otherwise a call fails
	git   string // WRITEPOINTS_HOW of testdata/writepoints.c
	croft string // the verb of CROFT_FAILPOINT
	calls bool   // croft dies at a system call of its own: testdata/killat.c
}

// faults are all kinds of faults.
func faults() []fault {
	return []fault{
		{name: "git killed", git: "git", kills: true},
		{name: "git and croft killed", git: "croft", kills: true},
		{name: "ENOSPC in git", git: "nospace"},
		{name: "ENOSPC in git from there on", git: "full"},
		{name: "EIO in git", git: "io"},
		{name: "croft killed", croft: "kill", kills: true},
		{name: "croft killed at a system call", calls: true, kills: true},
		{name: "croft killed around a transaction", croft: "kill-commits", kills: true},
		{name: "ENOSPC in croft", croft: "nospace"},
		{name: "EIO in croft", croft: "io"},
	}
}

// counting is the environment in which the points of a fault are counted.
func (f fault) counting(log string) []string {
	switch {
	case f.git != "":
		return preload(log, "", 0)
	case f.calls:
		return killAt(log, 0)
	case strings.HasSuffix(f.croft, "-commits"):
		return []string{"CROFT_FAILPOINT=log-commits=" + log}
	default:
		return []string{"CROFT_FAILPOINT=log=" + log}
	}
}

// at is the environment in which the fault happens at a point.
func (f fault) at(log string, n int) []string {
	switch {
	case f.git != "":
		return preload(log, f.git, n)
	case f.calls:
		return killAt(log, n)
	}
	return []string{fmt.Sprintf("CROFT_FAILPOINT=%s=#%d", f.croft, n)}
}

// killAt runs croft under a tracer that follows its system calls.
func killAt(log string, n int) []string {
	return []string{"KILLAT_PROGRAM=" + filepath.Join(built, "croft"), "KILLAT_LOG=" + log, fmt.Sprintf("KILLAT_AT=%d", n)}
}

// preload loads the library into git. Croft passes the user's environment on to git, except
// for git's own variables; Croft itself is a static binary, into which nothing can be
// loaded.
func preload(log, how string, n int) []string {
	return []string{
		"LD_PRELOAD=" + filepath.Join(built, "writepoints.so"), "WRITEPOINTS_COUNT=" + log + ".count", "WRITEPOINTS_LOG=" + log,
		"WRITEPOINTS_HOW=" + how, fmt.Sprintf("WRITEPOINTS_AT=%d", n),
	}
}

// tools compiles the battery's programs, once.
var tools = sync.OnceValue(func() error {
	source, err := filepath.Abs(filepath.Join("testdata", "writepoints.c"))
	if err != nil {
		return err
	}
	follower := filepath.Join(built, "killat", "croft")
	if err := os.MkdirAll(filepath.Dir(follower), 0o755); err != nil {
		return err
	}
	follow := exec.Command("cc", "-O2", "-Wall", "-Werror", "-o", follower, filepath.Join(filepath.Dir(source), "killat.c"))
	compile := exec.Command("cc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", filepath.Join(built, "writepoints.so"), source, "-ldl")
	for _, cmd := range []*exec.Cmd{follow, compile} {
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w: %s", cmd.Args, err, out)
		}
	}
	_, err = buildtest.Croft(filepath.Join(built, "failpoints"), buildtest.Options{Tags: "failpoints"})
	return err
})

// suffer runs croft with a fault, and returns the point that was hit, or "" if there were
// fewer points.
func (p *project) suffer(f fault, n int, args []string) (result, string) {
	p.t.Helper()
	log := filepath.Join(p.t.TempDir(), "points")
	mustDo(p.t, os.WriteFile(log+".count", make([]byte, 8), 0o644))
	env, bin := p.env, p.bin
	switch {
	case f.croft != "":
		p.bin = filepath.Join(built, "failpoints")
	case f.calls:
		p.bin = filepath.Join(built, "killat")
	}
	if n == 0 {
		p.env = append(slices.Clip(env), f.counting(log)...)
	} else {
		p.env = append(slices.Clip(env), f.at(log, n)...)
	}
	r := p.croft(args...)
	p.env, p.bin = env, bin
	b, err := os.ReadFile(log)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		p.t.Fatal(err)
	}
	points := strings.Split(strings.TrimSpace(string(b)), "\n")
	switch {
	case n == 0 && f.git != "":
		c, err := os.ReadFile(log + ".count")
		mustDo(p.t, err)
		return r, itoa(int(binary.NativeEndian.Uint64(c)))
	case n == 0 && len(b) == 0:
		return r, "0"
	case n == 0:
		return r, itoa(len(points))
	case f.croft != "":
		return r, fmt.Sprintf("point %d of croft's", n)
	}
	for _, line := range points {
		if number, rest, _ := strings.Cut(line, " "); number == itoa(n) {
			_, rest, _ = strings.Cut(rest, " ")
			return r, strings.ReplaceAll(rest, p.top, "")
		}
	}
	return r, ""
}

// pointsOf counts the points of a fault in a run without one.
func (p *project) pointsOf(t *testing.T, f fault, args []string) int {
	t.Helper()
	r, count := p.suffer(f, 0, args)
	if r.code != 0 {
		t.Fatalf("croft %v: %v", args, r)
	}
	n := 0
	if _, err := fmt.Sscan(count, &n); err != nil {
		t.Fatal(err)
	}
	return n
}
