package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestBegan: the start of this process is before now, and does not change.
func TestBegan(t *testing.T) {
	first, now := Began(), time.Now()
	time.Sleep(50 * time.Millisecond)
	if again := Began(); first.After(now) || now.Sub(first) > 10*time.Minute || again.Sub(first).Abs() > 30*time.Millisecond {
		t.Errorf("%v, then %v; it was %v", first, again, now)
	}
}

func TestLifeOf(t *testing.T) {
	self := Self()
	if self.Host == "" || self.Boot == "" || self.Space == "" || self.Start == "" || self.PID != os.Getpid() {
		t.Fatalf("Self is not complete: %+v", self)
	}
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	zombie := exec.Command("sh", "-c", "read x")
	in, err := zombie.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := zombie.Start(); err != nil {
		t.Fatal(err)
	}
	running := Here()
	running.PID, running.Start = zombie.Process.Pid, startOf(zombie.Process.Pid)
	if got := LifeOf(running); got != Alive {
		t.Errorf("a child: %s", got)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "a zombie", func() bool { return startOf(running.PID) == "ended" })
	defer func() { _ = zombie.Wait() }()

	for _, tt := range []struct {
		name   string
		change func(*Identity)
		want   Life
	}{
		{"self", func(*Identity) {}, Alive},
		{"self, start not known", func(id *Identity) { id.Start = "" }, Alive},
		{"ended", func(id *Identity) { id.PID, id.Start = ended.Process.Pid, "1" }, Dead},
		{"ended, start not known", func(id *Identity) { id.PID, id.Start = ended.Process.Pid, "" }, Dead},
		{"number used again", func(id *Identity) { id.Start = "1" }, Dead},
		{"zombie", func(id *Identity) { *id = running }, Dead},
		{"zombie, start not known", func(id *Identity) { *id = running; id.Start = "" }, Dead},
		{"another host", func(id *Identity) { id.Host = "elsewhere" }, Unknown},
		{"another host, ended", func(id *Identity) { id.Host, id.PID = "elsewhere", ended.Process.Pid }, Unknown},
		{"another boot", func(id *Identity) { id.Boot = "before" }, Dead},
		{"boot not known", func(id *Identity) { id.Boot = "" }, Alive},
		{"another namespace", func(id *Identity) { id.Space = "pid:[1]" }, Unknown},
		{"another namespace, before the boot", func(id *Identity) { id.Space, id.Boot = "pid:[1]", "before" }, Dead},
		{"no number", func(id *Identity) { id.PID = 0 }, Unknown},
		{"a group's number", func(id *Identity) { id.PID = -1 }, Unknown},
		{"somebody else's", func(id *Identity) { id.PID, id.Start = 1, startOf(1) }, Alive},
	} {
		id := self
		tt.change(&id)
		if got := LifeOf(id); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestStartOfAnOddName(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	odd := filepath.Join(t.TempDir(), "a) Z 1 (b")
	b, err := os.ReadFile(sh)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(odd, b, 0o755); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(odd, "-c", "read x")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	start := startOf(c.Process.Pid)
	if strings.Trim(start, "0123456789") != "" || start == "" {
		t.Errorf("the start of %s is %q", odd, start)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
}

func TestOccupants(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	for _, name := range []string{"a/deep", "ab"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "a"), link); err != nil {
		t.Fatal(err)
	}
	live := func(where string) int {
		t.Helper()
		c := exec.Command("sh", "-c", "read x")
		c.Dir = filepath.Join(dir, where)
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = in.Close()
			_ = c.Wait()
		})
		return c.Process.Pid
	}
	top, deep, neighbour := live("a"), live("a/deep"), live("ab")
	for _, path := range []string{filepath.Join(dir, "a"), link, filepath.Join(dir, "a") + "/"} {
		found, ok := Occupants(path)
		var pids []int
		for _, o := range found {
			pids = append(pids, o.PID)
		}
		if !ok || !slices.Contains(pids, top) || !slices.Contains(pids, deep) || slices.Contains(pids, neighbour) || len(pids) != 2 {
			t.Errorf("%s: %v, %v, want %d and %d", path, pids, ok, top, deep)
		}
	}
	if pids, ok := Occupants(filepath.Join(dir, "none")); len(pids) > 0 || !ok {
		t.Errorf("a directory that is not there: %v, %v", pids, ok)
	}
	// A path that cannot be examined does not count as unoccupied.
	file := filepath.Join(dir, "file")
	if err := os.Symlink(file, file); err != nil {
		t.Fatal(err)
	}
	if pids, ok := Occupants(file); ok {
		t.Errorf("a path that cannot be followed: %v, and it is said to be certain", pids)
	}
}
