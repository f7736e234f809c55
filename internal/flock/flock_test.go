//go:build unix

package flock

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestMain is also the program that holds a lock in another process: it locks the file that
// is named, says so, and ends when its input does.
func TestMain(m *testing.M) {
	file := os.Getenv("FLOCK_TEST_HOLD")
	if file == "" {
		os.Exit(m.Run())
	}
	l, err := Acquire(context.Background(), file)
	if err != nil {
		os.Exit(1)
	}
	if os.Getenv("FLOCK_TEST_CHILD") != "" { // pass the lock on to a child and exit
		c := exec.Command("sh", "-c", "echo held; read x")
		c.Stdin, c.Stdout, c.ExtraFiles = os.Stdin, os.Stdout, []*os.File{l.ForChild()}
		if c.Start() != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	_, _ = os.Stdout.WriteString("held\n")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	os.Exit(0)
}

// holder is another process that holds a lock.
type holder struct {
	cmd *exec.Cmd
	let func() // ends its input
}

func hold(t *testing.T, file string, env ...string) holder {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), append(env, "FLOCK_TEST_HOLD="+file)...)
	in, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stdin = in
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	t.Cleanup(func() { _ = w.Close() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("the other process did not take the lock: %q, %v", line, err)
	}
	return holder{c, func() { _ = w.Close() }}
}

// free waits for the lock, as the next process does.
func free(t *testing.T, file string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	l, err := Acquire(ctx, file)
	if err != nil {
		t.Fatalf("the lock is still held: %v", err)
	}
	if err := l.Unlock(); err != nil {
		t.Error(err)
	}
}

func TestExcludesInOneProcess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	l, err := Try(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Try(file); !errors.Is(err, ErrHeld) {
		t.Errorf("Try: %v, want ErrHeld", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := Acquire(ctx, file); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Acquire: %v, want DeadlineExceeded", err)
	}
	for range 2 {
		if err := l.Unlock(); err != nil {
			t.Error(err)
		}
	}
	var none *Lock
	if err := none.Unlock(); err != nil {
		t.Error(err)
	}
	free(t, file)
	if _, err := os.Stat(file); err != nil {
		t.Errorf("the file is gone: %v", err)
	}
	if _, err := Try(filepath.Join(file, "below")); err == nil || errors.Is(err, ErrHeld) {
		t.Errorf("where no file can be: %v", err)
	}
}

func TestOnlyOneAtATime(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	var inside, together atomic.Int32
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			l, err := Acquire(t.Context(), file)
			if err != nil {
				t.Error(err)
				return
			}
			if inside.Add(1) > 1 {
				together.Add(1)
			}
			runtime.Gosched()
			inside.Add(-1)
			if err := l.Unlock(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := together.Load(); n > 0 {
		t.Errorf("%d times two held the lock", n)
	}
}

func TestExcludesOtherProcessesAndDiesWithThem(t *testing.T) {
	for name, end := range map[string]func(h holder) error{
		"ended":  func(h holder) error { h.let(); return h.cmd.Wait() },
		"killed": func(h holder) error { _ = h.cmd.Process.Kill(); _ = h.cmd.Wait(); return nil },
	} {
		file := filepath.Join(t.TempDir(), "lock")
		h := hold(t, file)
		if _, err := Try(file); !errors.Is(err, ErrHeld) {
			t.Errorf("%s: while it lives: %v, want ErrHeld", name, err)
		}
		if err := end(h); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		l, err := Try(file)
		if err != nil {
			t.Errorf("%s: after its end: %v", name, err)
			continue
		}
		_ = l.Unlock()
	}
}

func TestChildKeepsTheLockAlive(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	h := hold(t, file, "FLOCK_TEST_CHILD=1")
	if err := h.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	// The process that took the lock has ended, its child has not.
	if _, err := Try(file); !errors.Is(err, ErrHeld) {
		t.Errorf("%v, want ErrHeld: the child still works", err)
	}
	h.let()
	free(t, file)
}

func TestUnlockLeavesItToTheChild(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	l, err := Try(file)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("sh", "-c", "read x; true")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.ExtraFiles = []*os.File{l.ForChild()}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
	if _, err := Try(file); !errors.Is(err, ErrHeld) {
		t.Errorf("%v, want ErrHeld: the child still works", err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	free(t, file)
}

// TestTryThere: TryThere does not make the file.
func TestTryThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if _, err := TryExisting(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, want that there is none", err)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("the file was made")
	}
	l, err := New(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := TryExisting(path); !errors.Is(err, ErrHeld) {
		t.Errorf("%v, want that it is held", err)
	}
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
	if l, err = TryExisting(path); err != nil {
		t.Fatal(err)
	}
	_ = l.Unlock()
}

// TestNewBesideSweepers: goroutines make and remove locks on new files while others delete
// files that no process has locked. The maker of a lock holds it, and in the end no file is
// left.
func TestNewBesideSweepers(t *testing.T) {
	dir := t.TempDir()
	var makers, sweepers sync.WaitGroup
	var stop atomic.Bool
	for range 4 {
		sweepers.Go(func() {
			for !stop.Load() {
				paths, _ := filepath.Glob(filepath.Join(dir, "*"))
				for _, path := range paths {
					l, err := TryExisting(path)
					if err != nil {
						if !errors.Is(err, ErrHeld) && !errors.Is(err, os.ErrNotExist) {
							t.Error(err)
						}
						continue
					}
					if err := os.Remove(path); err != nil {
						t.Errorf("the locked file is not at its path: %v", err)
					}
					_ = l.Unlock()
				}
			}
		})
	}
	for maker := range 8 {
		makers.Go(func() {
			for i := range 200 {
				path := filepath.Join(dir, fmt.Sprint(maker, "-", i))
				l, err := New(path)
				if err != nil {
					t.Error(err)
					return
				}
				runtime.Gosched()
				if !l.IsAt(path) {
					t.Errorf("%s was removed while it was locked", path)
				}
				if err := os.Remove(path); err != nil {
					t.Error(err)
				}
				_ = l.Unlock()
			}
		})
	}
	makers.Wait()
	stop.Store(true)
	sweepers.Wait()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestReadersCannotHold: a process that may read the directory and not write it cannot open
// a lock file, so it cannot lock Croft out.
func TestReadersCannotHold(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	l, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Unlock()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o200 {
		t.Errorf("mode %v, %v, want 0200", info.Mode(), err)
	}
}

// TestWaitIsBounded: the error of a caller that has waited too long names the process that
// holds the lock.
func TestWaitIsBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	l, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Unlock()
	_, err = acquire(t.Context(), path, exclusive, 30*time.Millisecond)
	var held *HeldError
	if !errors.As(err, &held) || !errors.Is(err, ErrHeld) || held.Path != path {
		t.Fatalf("%v, want a HeldError", err)
	}
	if want := fmt.Sprintf("process %d", os.Getpid()); runtime.GOOS == "linux" && !strings.Contains(err.Error(), want) {
		t.Errorf("%v does not name %s", err, want)
	}
}

// TestShared: shared holders do not exclude each other, and exclude a caller that wants the
// lock exclusively.
func TestShared(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	one, err := AcquireShared(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	two, err := AcquireShared(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []*Lock{one, two} {
		if _, err := Try(path); !errors.Is(err, ErrHeld) {
			t.Errorf("Try = %v, want ErrHeld", err)
		}
		if err := l.Unlock(); err != nil {
			t.Error(err)
		}
	}
	alone, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Unlock()
	if _, err := acquire(t.Context(), path, shared, time.Millisecond); !errors.Is(err, ErrHeld) {
		t.Errorf("a share beside who has it alone: %v", err)
	}
}

// TestUnlockWhileAProcessStarts has another open descriptor of a locked file, as every process
// has that was started while the lock was held and does not run its program yet. Unlock releases
// the lock all the same, unless a child is to keep it.
func TestUnlockWhileAProcessStarts(t *testing.T) {
	for _, c := range []struct {
		name string
		lend func(l *Lock)
		want error
	}{
		{"not for a child", func(*Lock) {}, nil},
		{"for a child", func(l *Lock) { l.ForChild() }, ErrHeld},
		{"for a child that has ended", func(l *Lock) { l.ForChild(); l.ChildrenEnded() }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "lock")
			l, err := Try(file)
			if err != nil {
				t.Fatal(err)
			}
			c.lend(l)
			starting, err := syscall.Dup(int(l.File().Fd()))
			if err != nil {
				t.Fatal(err)
			}
			defer syscall.Close(starting)
			if err := l.Unlock(); err != nil {
				t.Fatal(err)
			}
			next, err := TryExisting(file)
			if !errors.Is(err, c.want) {
				t.Errorf("TryExisting = %v, want %v", err, c.want)
			}
			_ = next.Unlock()
		})
	}
}
