//go:build unix

package attack

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// background runs a function of the attacker's until the test ends.
func background(t *testing.T, act func(stop <-chan struct{})) (end func()) {
	t.Helper()
	stop := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() { act(stop) })
	end = sync.OnceFunc(func() { close(stop); group.Wait() })
	t.Cleanup(end)
	return end
}

// withFilter commits an attribute that names a filter, and changes a file so that git has
// to read it. It returns configuration that gives the filter a program.
func (a *agent) withFilter() string {
	a.h.t.Helper()
	a.write(".gitattributes", "*.txt filter=evil\n")
	a.commit("attributes")
	add(a.h.t, filepath.Join(a.dir, "f1.txt"), "dirty\n")
	program := a.h.evil("filter", "cat")
	return "[filter \"evil\"]\n\tclean = " + program + "\n\tsmudge = " + program + "\n"
}

// TestConfigSwapped: [C], in isolated and plain mode [W], a process of the agent's replaces
// the configuration of the git directory that it can write, by rename, alternating between
// one without and one with a filter. No call of the host's may run the filter: 0 of 40, or
// of 1,000.
func TestConfigSwapped(t *testing.T) {
	inModes(t, everyMode, func(t *testing.T, h *host) {
		a := h.agent("a1")
		config := filepath.Join(a.gitDir(), "config")
		good := read(t, config)
		bad := good + a.withFilter()
		end := background(t, func(stop <-chan struct{}) {
			next := config + ".next"
			for i := 0; ; i++ {
				text := good
				if i%2 == 1 {
					text = bad
				}
				if os.WriteFile(next, []byte(text), 0o644) != nil || os.Rename(next, config) != nil {
					return
				}
				select {
				case <-stop:
					return
				case <-time.After(3 * time.Millisecond):
				}
			}
		})
		ran, calls := 0, size(40, 1000)
		for range calls {
			age(t, filepath.Join(a.dir, "f1.txt"), 2001)
			h.croft("diff", "a1")
			if len(h.sang()) > 0 {
				ran++
			}
			if t.Failed() {
				break
			}
		}
		end()
		if ran > 0 {
			t.Errorf("the filter ran in %d of %d croft diff", ran, calls)
		}
		for _, command := range [][]string{{"list"}, {"finish", "a1"}, {"merge", "--keep", "a1"}} {
			h.croft(command...)
			h.mustBeSilent("croft " + strings.Join(command, " "))
		}
	})
}

// TestConfigFromPipe: [C], in isolated and plain mode [W], the configuration includes a
// FIFO, through which a process sends harmless text to a git that lists the configuration,
// and a filter to every other reader. No filter may run, and nothing may hang, in 40 or
// 1,000 calls.
func TestConfigFromPipe(t *testing.T) {
	inModes(t, everyMode, func(t *testing.T, h *host) {
		a := h.agent("a1")
		filter := a.withFilter()
		fifo := filepath.Join(a.gitDir(), "pipe")
		must(t, syscall.Mkfifo(fifo, 0o644))
		add(t, filepath.Join(a.gitDir(), "config"), "[include]\n\tpath = "+fifo+"\n")
		end := background(t, func(stop <-chan struct{}) { feed(fifo, filter, stop) })
		ran := 0
		commands := [][]string{{"list"}, {"diff", "a1"}, {"finish", "a1"}, {"show", "a1"}}
		calls := size(40, 1000)
		for i := range calls {
			age(t, filepath.Join(a.dir, "f1.txt"), 2001)
			h.croft(commands[i%len(commands)]...)
			if len(h.sang()) > 0 {
				ran++
			}
			if t.Failed() {
				break
			}
		}
		end()
		if ran > 0 {
			t.Errorf("the filter ran in %d of %d calls", ran, calls)
		}
	})
}

// feed answers every reader of a FIFO: a process that lists configuration gets harmless
// text, every other one the payload.
func feed(fifo, text string, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		// Without a reader, opening fails at once.
		f, err := os.OpenFile(fifo, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			if !errors.Is(err, syscall.ENXIO) {
				return
			}
			time.Sleep(time.Millisecond)
			continue
		}
		answer := text
		if reader := readerOf(fifo); strings.Contains(reader, "config\x00--list") || strings.Contains(reader, "config\x00list") ||
			strings.Contains(reader, "config\x00-z") || strings.Contains(reader, "config\x00--null") {
			answer = "[x]\n\ty = 1\n"
		}
		_, _ = f.WriteString(answer)
		_ = f.Close()
		time.Sleep(2 * time.Millisecond)
	}
}

// readerOf is the command line of another process that has a file open.
func readerOf(path string) string {
	fds, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	self, _ := os.Readlink("/proc/self")
	for _, fd := range fds {
		process := filepath.Dir(filepath.Dir(fd))
		if filepath.Base(process) == self {
			continue
		}
		if target, err := os.Readlink(fd); err == nil && target == path {
			line, _ := os.ReadFile(filepath.Join(process, "cmdline"))
			return string(line)
		}
	}
	return ""
}
