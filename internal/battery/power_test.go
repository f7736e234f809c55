//go:build linux

package battery

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/croft-sh/croft"
)

// disk is a file system in a file, which can lose its power: everything that was not synced
// is lost then.
type disk struct {
	t            *testing.T
	image, mount string
}

// newDisk makes a file system of a kind, or reports that it cannot.
func newDisk(t *testing.T, kind string) *disk {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Logf("battery: skipped: a power loss needs root")
		return nil
	}
	d := &disk{t, filepath.Join(t.TempDir(), "disk"), filepath.Join(t.TempDir(), "mount")}
	mustDo(t, os.Mkdir(d.mount, 0o755))
	f, err := os.Create(d.image)
	mustDo(t, err)
	mustDo(t, f.Truncate(512<<20))
	mustDo(t, f.Close())
	if out, err := exec.CommandContext(bounded(t), "mkfs."+kind, "-q", d.image).CombinedOutput(); err != nil {
		t.Logf("battery: skipped: mkfs.%s: %v: %s", kind, err, out)
		return nil
	}
	d.on()
	t.Cleanup(func() { _ = unix.Unmount(d.mount, unix.MNT_DETACH) })
	return d
}

func (d *disk) on() {
	d.t.Helper()
	if out, err := exec.CommandContext(bounded(d.t), "mount", "-o", "loop", d.image, d.mount).CombinedOutput(); err != nil {
		d.t.Fatalf("mount: %v: %s", err, out)
	}
}

// cut stops the file system without writing what is in memory, and mounts it again.
func (d *disk) cut() {
	d.t.Helper()
	const shutdown, withoutLog = 0x8004587d, 2 // _IOR('X', 125, uint32), FSOP_GOING_FLAGS_NOLOGFLUSH
	f, err := os.Open(d.mount)
	mustDo(d.t, err)
	err = unix.IoctlSetPointerInt(int(f.Fd()), shutdown, withoutLog)
	_ = f.Close()
	mustDo(d.t, err)
	mustDo(d.t, unix.Unmount(d.mount, 0))
	d.on()
}

// TestPowerLoss cuts the power right after an answer: everything that was answered is there
// afterwards, and the repository is whole. The contents of files in a checkout are not part
// of an answer: git can write them again.
func TestPowerLoss(t *testing.T) {
	rounds := size(2, 50)
	for _, kind := range []string{"ext4", "xfs"} {
		t.Run(kind, func(t *testing.T) {
			d := newDisk(t, kind)
			if d == nil {
				return
			}
			cuts := 0
			for i := range rounds {
				cuts += cutAfterEach(t, d, "p"+itoa(i))
			}
			report(t, "power loss on "+kind, "%d cuts right after an answer: nothing answered was lost, every repository whole", cuts)
		})
	}
}

// cutAfterEach takes one project through its life, with a cut after each act.
func cutAfterEach(t *testing.T, d *disk, name string) int {
	t.Helper()
	top := filepath.Join(d.mount, name)
	mustDo(t, os.Mkdir(top, 0o755))
	p := newProjectIn(t, top)
	p.env = append(p.env, "CROFT_LIMITS_MIN_FREE_BYTES=0", "CROFT_LIMITS_MIN_FREE_INODES=0")
	p.plant()
	p.git(p.dir, "branch", "trunk")
	unix.Sync() // the user's earlier files are not tested

	tree := filepath.Join(p.workspaces(), "a")
	acts := []struct {
		name  string
		do    []string
		there func() string // a complaint, or nothing
	}{
		{"new", []string{"new", "a", "b"}, func() string { return wantStates(p, "a b") }},
		{"merge", []string{"merge", "--keep", "--into", "trunk", "b"}, func() string { return wantMerged(p, 1, "merged") }},
		{"revert", []string{"revert", "b"}, func() string { return wantMerged(p, 2, "reverted") }},
		{"snapshot", []string{"snapshot", "a"}, func() string {
			if n := len(lines(p.git(p.dir, "for-each-ref", "refs/croft/snapshot"))); n != 1 {
				return "the snapshot is gone"
			}
			return wantStates(p, "a b")
		}},
		{"remove", []string{"remove", "--force", "a"}, func() string { return wantStates(p, "b") }},
		{"restore", []string{"restore", "a"}, func() string {
			if _, err := os.Stat(filepath.Join(tree, ".git")); err != nil {
				return "the directory is gone"
			}
			return wantStates(p, "a b")
		}},
		{"undo", []string{"undo", "--force"}, func() string { return wantStates(p, "b") }},
	}
	for _, act := range acts {
		if act.name == "merge" {
			mustDo(t, os.WriteFile(filepath.Join(p.workspaces(), "b", "work.txt"), []byte("work\n"), 0o644))
		}
		p.mustCroft(act.do...)
		d.cut()
		if complaint := act.there(); complaint != "" {
			t.Fatalf("after a power cut right after %s: %s", act.name, complaint)
		}
		p.git(p.dir, "fsck", "--no-dangling")
	}
	return len(acts)
}

// wantStates complains unless exactly these workspaces are live, registered and on a branch
// that names a commit.
func wantStates(p *project, names string) string {
	a := p.mustCroft("list")
	var got []string
	for _, w := range a.Workspaces {
		if w.State != "ready" {
			return w.Name + " is " + string(w.State)
		}
		p.git(w.Path, "rev-parse", "--verify", "HEAD^{commit}")
		p.git(w.Path, "ls-files", "--stage")
		got = append(got, w.Name)
	}
	if joined := strings.Join(got, " "); joined != names {
		return "the workspaces are " + joined + ", want " + names
	}
	return ""
}

// wantMerged complains unless the branch trunk has that many commits of Croft's on top, and
// the queue has the outcome of the work, once.
func wantMerged(p *project, commits int, status string) string {
	if got := p.git(p.dir, "rev-list", "--count", "--first-parent", "main..trunk"); got != itoa(commits) {
		return "trunk has " + got + " commits"
	}
	n := 0
	for _, m := range p.mustCroft("queue", "--all").Merges {
		if m.Kind == croft.KindMerge && string(m.Status) == status {
			n++
		}
	}
	if n != 1 {
		return itoa(n) + " merges are " + status
	}
	return wantStates(p, "a b")
}
