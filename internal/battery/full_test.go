//go:build unix

package battery

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// mountSmall mounts a small file system in memory at a directory, for as long as the test
// runs. It reports whether that was possible. If not, it prints a line that CI looks for,
// and CI fails then if it runs as root.
func mountSmall(t *testing.T, dir, options string) bool {
	t.Helper()
	mustDo(t, os.MkdirAll(dir, 0o755))
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Logf("battery: skipped: a full disk needs Linux and root")
		return false
	}
	out, err := exec.CommandContext(bounded(t), "mount", "-t", "tmpfs", "-o", options, "croft-battery", dir).CombinedOutput()
	if err != nil {
		t.Logf("battery: skipped: mount: %v: %s", err, out)
		return false
	}
	t.Cleanup(func() {
		// Not bounded by the test's context, which has ended by now.
		cmd := exec.Command("umount", "--lazy", dir)
		timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return true
}

// fullSize is the size of the files of one checkout.
const fullSize = 200_000

// fill gives a project files of some size, and removes the limits that would keep Croft
// from starting.
func (p *project) fill() {
	p.t.Helper()
	p.env = append(p.env, "CROFT_LIMITS_MIN_FREE_BYTES=0", "CROFT_LIMITS_MIN_FREE_INODES=0")
	for i := range 20 {
		p.write("data/f"+itoa(i), strings.Repeat(itoa(i), fullSize/20)[:fullSize/20])
	}
	p.git(p.dir, "add", "--all")
	p.git(p.dir, "commit", "--quiet", "--message", "data")
}

// requireFull has croft new fail because the disk is full; after makeRoom it
// must succeed.
func requireFull(t *testing.T, p *project, makeRoom func()) {
	t.Helper()
	before := p.foreign()
	r := p.croft(append([]string{"new"}, trio()...)...)
	if a := p.answer(r); r.code == 0 || a.code() != "NO_SPACE" {
		t.Fatalf("want NO_SPACE: %v", r)
	}
	requireSame(t, "after the failure", before, p.foreign())
	makeRoom()
	requireTrio(t, p)
}

// TestDiskFull: the disk becomes full while the last of three workspaces is written: first
// the one that has the workspaces, by bytes and by inodes, and then one that has
// everything, including Croft's own records.
func TestDiskFull(t *testing.T) {
	done := 0
	for name, options := range map[string]string{
		"no bytes for the third": "size=700k", "no inodes for the third": "size=10m,nr_inodes=75",
	} {
		t.Run(name, func(t *testing.T) {
			p := smallProject(t)
			p.fill()
			if !mountSmall(t, p.workspaces(), options) {
				t.SkipNow()
			}
			requireFull(t, p, func() {
				out, err := exec.CommandContext(bounded(t), "mount", "-o", "remount,size=20m,nr_inodes=10k", p.workspaces()).CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			})
			done++
		})
	}
	t.Run("no bytes for anything", func(t *testing.T) {
		top := t.TempDir()
		if !mountSmall(t, top, "size=8m") {
			t.SkipNow()
		}
		p := newProjectIn(t, top)
		p.plant()
		p.fill()
		p.mustCroft("new", "first") // so that the database exists
		p.mustCroft("remove", "first")
		ballast := filepath.Join(p.home(), "ballast")
		leave(t, ballast, 5*fullSize/2)
		requireFull(t, p, func() { mustDo(t, os.Remove(ballast)) })
		done++
	})
	report(t, "all-or-none", "disk full in %d ways: NO_SPACE, nothing of the others remained, the same names worked afterwards", done)
}

// leave fills a file system with one file until only some bytes are free.
func leave(t *testing.T, path string, free int64) {
	t.Helper()
	f, err := os.Create(path)
	mustDo(t, err)
	defer f.Close()
	var n int64
	for block := make([]byte, 4096); ; n += int64(len(block)) {
		if _, err := f.Write(block); errors.Is(err, syscall.ENOSPC) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	mustDo(t, f.Truncate(n-free))
}
