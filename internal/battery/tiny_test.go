//go:build linux

package battery

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// tinySize is the size of a file system on which everything fits, with little room left.
const tinySize = 3 << 20

// mountTiny mounts a file system of three megabytes for as long as the test
// runs, or reports that it cannot.
func mountTiny(t *testing.T, kind string) (dir string, ok bool) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "mount")
	if kind == "tmpfs" {
		return dir, mountSmall(t, dir, "size="+itoa(tinySize))
	}
	mustDo(t, os.Mkdir(dir, 0o755))
	if os.Geteuid() != 0 {
		t.Logf("battery: skipped: a full disk needs root")
		return dir, false
	}
	image := filepath.Join(t.TempDir(), "disk")
	mustDo(t, os.WriteFile(image, nil, 0o600))
	mustDo(t, os.Truncate(image, tinySize))
	for _, args := range [][]string{{"mkfs." + kind, "-q", "-N", "700", "-m", "0", image}, {"mount", "-o", "loop", image, dir}} {
		if out, err := exec.CommandContext(bounded(t), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Logf("battery: skipped: %v: %v: %s", args, err, out)
			return dir, false
		}
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir, true
}

// TestTinyDisk runs every operation on a file system of three megabytes that is full except
// for some bytes: with few of them nothing works, with more the operation gets further. It
// succeeds or says why not, and when there is room again nothing is in the way of the next
// command.
func TestTinyDisk(t *testing.T) {
	kinds := []string{"tmpfs"}
	if isLong() {
		kinds = append(kinds, "ext4")
	}
	for _, kind := range kinds {
		for _, sc := range scenarios() {
			t.Run(kind+" "+sc.name, func(t *testing.T) {
				dir, ok := mountTiny(t, kind)
				if !ok {
					t.SkipNow()
				}
				s := newStage(t, sc, dir)
				c := newCrashes()
				for free := int64(0); free <= 512<<10; free += int64(size(24, 4)) << 10 {
					s.use(t)
					ballast := filepath.Join(dir, "ballast")
					leave(t, ballast, free)
					r := s.p.croft(s.args...)
					mustDo(t, os.Remove(ballast))
					where := itoa(int(free)) + " bytes free"
					outcome, code := s.judge(t, r, where)
					s.converge(t, outcome, r, where)
					c.add(outcome, code, 1)
					if t.Failed() || outcome == succeeded && free > 0 {
						break
					}
				}
				report(t, "crash: "+sc.name+" on 3 MB "+kind, "%s", c.told())
			})
		}
	}
}
