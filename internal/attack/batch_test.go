//go:build linux

package attack

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// hostileInBatch are what one agent of a batch does, [W] and [C].
var hostileInBatch = map[string]func(t *testing.T, a *agent){
	"index is a pipe": func(t *testing.T, a *agent) { pipe(t, filepath.Join(a.admin(), "index")) },
	"HEAD is a pipe":  func(t *testing.T, a *agent) { pipe(t, filepath.Join(a.admin(), "HEAD")) },
	"HEAD is garbage": func(t *testing.T, a *agent) { put(t, filepath.Join(a.admin(), "HEAD"), "ref: refs/heads/../../x\n") },
	"branch locked":   func(t *testing.T, a *agent) { put(t, filepath.Join(a.gitDir(), "refs/heads/croft/a1.lock"), "") },
	"index locked":    func(t *testing.T, a *agent) { put(t, filepath.Join(a.admin(), "index.lock"), "") },
	"branch is a dir": func(t *testing.T, a *agent) {
		f := filepath.Join(a.gitDir(), "refs/heads/croft/a1")
		_ = os.Remove(f)
		put(t, filepath.Join(f, "x", "y"), "nothing\n")
	},
	"branch is a pipe": func(t *testing.T, a *agent) { pipe(t, filepath.Join(a.gitDir(), "refs/heads/croft/a1")) },
	"branch is a symref": func(t *testing.T, a *agent) {
		put(t, filepath.Join(a.gitDir(), "refs/heads/croft/a1"), "ref: refs/heads/croft/b1\n")
	},
	"git is a pipe": func(t *testing.T, a *agent) {
		must(t, os.Remove(filepath.Join(a.dir, ".git")))
		must(t, syscall.Mkfifo(filepath.Join(a.dir, ".git"), 0o600))
	},
	"git is b1's": func(t *testing.T, a *agent) {
		must(t, os.WriteFile(filepath.Join(a.dir, ".git"), readFile(t, filepath.Join(filepath.Dir(a.dir), "b1", ".git")), 0o600))
	},
	"admin locked": func(t *testing.T, a *agent) { pipe(t, filepath.Join(a.admin(), "locked")) },
	"bad names": func(t *testing.T, a *agent) {
		for _, n := range []string{"a\nb", "\xff\xfe", "--force", "-", " ", "a\tb", "\x1b[31m", strings.Repeat("n", 255)} {
			put(t, filepath.Join(a.dir, n), "x")
		}
	},
	"tip is missing": func(t *testing.T, a *agent) {
		put(t, filepath.Join(a.gitDir(), "refs/heads/croft/a1"), strings.Repeat("ab", 20)+"\n")
	},
	"worktree gone": func(t *testing.T, a *agent) { must(t, os.Rename(a.dir, a.dir+".x")) },
	"worktree is a link": func(t *testing.T, a *agent) {
		must(t, os.Rename(a.dir, a.dir+".x"))
		link(t, filepath.Join(filepath.Dir(a.dir), "b1"), a.dir)
	},
	"worktree is a file": func(t *testing.T, a *agent) {
		must(t, os.Rename(a.dir, a.dir+".x"))
		put(t, a.dir, "x")
	},
}

// TestHostileInBatch: one agent of three does its worst; the work of the other two must land, and they must go to the trash.
func TestHostileInBatch(t *testing.T) {
	commands := []string{"merge b1 a1 c1", "remove --yes b1 a1 c1", "remove --force b1 a1 c1", "clean --yes"}[:size(2, 4)]
	for name, act := range hostileInBatch {
		for _, command := range commands {
			t.Run(name+"/"+command, func(t *testing.T) {
				h := newHost(t, worktree)
				a, b, c := h.agent("a1"), h.agent("b1"), h.agent("c1")
				a.write("f1.txt", "a\n")
				if command == "clean --yes" {
					for _, x := range []*agent{b, c} {
						x.write("f-"+x.name, "work\n")
						x.commit("work")
						h.mustCroft("merge", "--keep", x.name)
					}
				} else if strings.HasPrefix(command, "merge") {
					b.write("f2.txt", "work b\n")
					c.write("f3.txt", "work c\n")
				}
				act(t, a)
				r := h.croft(strings.Fields(command)...)
				if strings.HasPrefix(command, "merge") {
					if got := h.git(h.dir, "show", "main:f2.txt") + h.git(h.dir, "show", "main:f3.txt"); got != "work bwork c" {
						t.Errorf("%q landed: %v", got, r)
					}
				}
				for _, x := range []*agent{b, c} {
					if _, err := os.Lstat(x.dir); err == nil {
						t.Errorf("%s stays: %v", x.name, r)
					}
				}
			})
		}
	}
}

// TestWrittenWhileMerged: [W] agents go on writing while their work is merged together, and nothing that was written is lost.
func TestWrittenWhileMerged(t *testing.T) {
	for round := range size(2, 30) {
		h := newHost(t, worktree)
		var names []string
		var mu sync.Mutex
		written := map[string]bool{}
		stop := make(chan struct{})
		var all sync.WaitGroup
		for i := range 6 {
			a := h.agent(fmt.Sprint("a", i))
			names = append(names, a.name)
			a.write("n"+a.name, "work\n")
			a.commit("work")
			all.Go(func() {
				<-stop
				for k := range size(500, 4000) {
					name := fmt.Sprintf("late-%s-%d", a.name, k)
					if os.WriteFile(filepath.Join(a.dir, name), []byte(name), 0o600) != nil {
						return
					}
					mu.Lock()
					written[name] = true
					mu.Unlock()
					time.Sleep(time.Millisecond)
				}
			})
		}
		time.AfterFunc(time.Duration(round*20)*time.Millisecond, func() { close(stop) })
		h.croft(append([]string{"merge"}, names...)...)
		<-stop
		all.Wait()
		found := map[string]bool{}
		must(t, filepath.WalkDir(h.dir+".croft", func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.HasPrefix(d.Name(), "late-") {
				b, _ := os.ReadFile(path)
				found[d.Name()] = string(b) == d.Name()
			}
			return nil
		}))
		lost := 0
		for name := range written {
			if !found[name] {
				lost++
			}
		}
		if lost > 0 || len(written) == 0 {
			t.Errorf("%d of %d lost", lost, len(written))
		}
	}
}
