//go:build failpoints

package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Enabled says whether points obey CROFT_FAILPOINT.
const Enabled = true

var counts struct {
	sync.Mutex
	seen map[string]int
	all  int
}

// Hit obeys CROFT_FAILPOINT, which is one of
//
//	log=FILE           append the name of every point that is passed to FILE
//	kill=NAME[#N]      die by SIGKILL at the N-th pass of NAME (default the first)
//	kill=#N            die at the N-th point, whatever its name
//	fail=NAME[#N]      return an error there instead
//	fail=#N
//	nospace=, io=      return the error of a full or of a broken disk
//	pause=FILE#N       at the N-th point, make FILE.paused and wait for FILE.go
//	pause=FILE#NAME    at the first pass of NAME
func Hit(name string) error {
	verb, arg, _ := strings.Cut(os.Getenv("CROFT_FAILPOINT"), "=")
	if verb == "" || strings.HasSuffix(verb, "-commits") {
		return nil
	}
	return act(verb, arg, name)
}

// Commit marks the moments before and after a transaction, where a process can
// die but nothing can fail any more. They are counted by themselves:
//
//	log-commits=FILE, kill-commits=#N
func Commit(name string) {
	verb, arg, _ := strings.Cut(os.Getenv("CROFT_FAILPOINT"), "=")
	if verb, ok := strings.CutSuffix(verb, "-commits"); ok {
		_ = act(verb, arg, name)
	}
}

func act(verb, arg, name string) error {
	counts.Lock()
	if counts.seen == nil {
		counts.seen = map[string]int{}
	}
	counts.all++
	counts.seen[name]++
	all, own := counts.all, counts.seen[name]
	counts.Unlock()

	if verb == "log" {
		f, err := os.OpenFile(arg, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = fmt.Fprintln(f, name)
		return err
	}
	if verb == "pause" {
		file, at, _ := strings.Cut(arg, "#")
		if at != strconv.Itoa(all) && (at != name || own != 1) {
			return nil
		}
		return pause(file, name)
	}
	want, nth, counted := strings.Cut(arg, "#")
	n := 1
	if counted {
		n, _ = strconv.Atoi(nth)
	}
	if want == "" && all != n || want != "" && (want != name || own != n) {
		return nil
	}
	switch verb {
	case "kill":
		self, _ := os.FindProcess(os.Getpid())
		_ = self.Kill()
		select {}
	case "fail":
		return fmt.Errorf("failpoint %s", name)
	case "nospace":
		return fmt.Errorf("failpoint %s: %w", name, syscall.ENOSPC)
	case "io":
		return fmt.Errorf("failpoint %s: %w", name, syscall.EIO)
	}
	return nil
}

// longestPause bounds how long a point waits for whoever paused it.
const longestPause = 30 * time.Second

func pause(file, name string) error {
	if err := os.WriteFile(file+".paused", []byte(name), 0o644); err != nil {
		return err
	}
	for began := time.Now(); time.Since(began) < longestPause; time.Sleep(time.Millisecond) {
		if _, err := os.Lstat(file + ".go"); err == nil {
			return nil
		}
	}
	return fmt.Errorf("failpoint %s: the test did not let the process go on", name)
}
