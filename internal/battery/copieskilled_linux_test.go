package battery

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// copiesKilled is a project with many ignored files, and a workspace that has copies of them.
type copiesKilled struct {
	*project
	at      string // the workspace
	files   []string
	version int
	edited  map[string]string // what the agent has written, by path
}

// TestCopiesKilled kills set-ups and refreshes of many files at random moments. After the next set-up every file of the workspace
// is the project's or the agent's own, the project's are as they were, and nothing temporary is left.
func TestCopiesKilled(t *testing.T) {
	most, begun := 200, time.Now()
	c := newCopiesKilled(t)
	rnd := rand.New(rand.NewPCG(16, 4))
	kills, rounds := 0, 0
	for ; rounds < most && (isLong() || time.Since(begun) < 20*time.Second); rounds++ {
		args := []string{"provision", "a"}
		if rounds%2 == 0 {
			mustDo(t, os.RemoveAll(filepath.Join(c.at, "deps")))
			clear(c.edited)
		} else {
			args = append(args, "--refresh")
			c.nextVersion()
		}
		if r := c.signalled(syscall.SIGKILL, 20*time.Millisecond+time.Duration(rnd.Int64N(int64(180*time.Millisecond))), args); r.code == -1 {
			kills++
		}
		c.requireWhole("after the kill")
		if r := c.croft("provision", "a", "--refresh"); r.code != 0 {
			t.Fatal(r)
		}
		c.requireWhole("after the next set-up")
		c.requireNothingLeft()
		if t.Failed() {
			t.Fatalf("round %d, %v", rounds, args)
		}
		edit := c.files[rnd.IntN(len(c.files))]
		c.edited[edit] = fmt.Sprintf("edit %d", rounds)
		mustDo(t, writeFile(filepath.Join(c.at, edit), c.edited[edit]))
	}
	report(t, "copies", "%d of %d set-ups and refreshes of %d files were killed: every file whole and the project's or the agent's own, nothing left", kills, rounds, len(c.files))
}

func newCopiesKilled(t *testing.T) *copiesKilled {
	t.Helper()
	p := newProjectIn(t, t.TempDir())
	p.plant()
	p.write(".gitignore", "deps/\n")
	p.write(".worktreeinclude", "deps/\n")
	p.git(p.dir, "add", "--all")
	p.git(p.dir, "commit", "--quiet", "--message", "settings")
	c := &copiesKilled{project: p, edited: map[string]string{}}
	for i := range 1200 {
		c.files = append(c.files, fmt.Sprintf("deps/%02d/%04d", i/50, i))
		mustDo(t, os.MkdirAll(filepath.Join(p.dir, filepath.Dir(c.files[i])), 0o755))
	}
	c.nextVersion()
	p.mustCroft("new", "a")
	c.at = strings.TrimSpace(p.run(p.dir, "croft", "path", "a").stdout)
	return c
}

// text is what the project has at a path.
func (c *copiesKilled) text(name string) string {
	return strings.Repeat(fmt.Sprintf("%s in version %d\n", name, c.version), 200)
}

// nextVersion writes all of the project's files anew.
func (c *copiesKilled) nextVersion() {
	c.t.Helper()
	c.version++
	for _, name := range c.files {
		mustDo(c.t, writeFile(filepath.Join(c.dir, name), c.text(name)))
	}
}

// requireWhole requires that no file is half a file, and after a set-up that all are there and new.
func (c *copiesKilled) requireWhole(when string) {
	c.t.Helper()
	isSetUp := when != "after the kill"
	for _, name := range c.files {
		want := c.text(name)
		if text, err := os.ReadFile(filepath.Join(c.dir, name)); err != nil || string(text) != want {
			c.t.Fatalf("%s: the project's %s has %d bytes, %v", when, name, len(text), err)
		}
		text, err := os.ReadFile(filepath.Join(c.at, name))
		if edit, isEdited := c.edited[name]; isEdited {
			want = edit
		} else if !isSetUp && (os.IsNotExist(err) || strings.Contains(string(text), fmt.Sprintf("in version %d\n", c.version-1)) && len(text)%200 == 0) {
			continue // the copy of before, or none
		}
		if err != nil || string(text) != want {
			c.t.Fatalf("%s: %s has %d bytes %.40q, %v", when, name, len(text), text, err)
		}
	}
}

// requireNothingLeft requires that the workspace has the copies, and nothing more.
func (c *copiesKilled) requireNothingLeft() {
	c.t.Helper()
	found := 0
	err := filepath.WalkDir(c.at, func(name string, d os.DirEntry, err error) error {
		if strings.Contains(name, ".croft-old") || strings.HasSuffix(name, ".half") {
			c.t.Errorf("%s is left", name)
		}
		if err == nil && !d.IsDir() && strings.Contains(name, "/deps/") {
			found++
		}
		return err
	})
	if err != nil || found != len(c.files) {
		c.t.Errorf("%d of %d files, %v", found, len(c.files), err)
	}
	r := c.croft("provision", "a", "--check")
	if states := strings.Count(r.stdout, `"state":"`+"edited") + strings.Count(r.stdout, `"state":"`+"diverged"); states != len(c.edited) {
		c.t.Errorf("%d files are called edited, %d are: %v", states, len(c.edited), r)
	}
	if status := c.git(c.at, "status", "--porcelain"); status != "" {
		c.t.Errorf("status: %s", status)
	}
}
