package provision_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/provision"
)

// hostile returns a copier between two fresh directories, and their paths.
func hostile(t *testing.T) (c *provision.Copier, from, to string) {
	t.Helper()
	from, to = t.TempDir(), t.TempDir()
	c = &provision.Copier{From: fsx.OpenTree(from), To: fsx.OpenTree(to)}
	t.Cleanup(c.From.Release)
	t.Cleanup(c.To.Release)
	return c, from, to
}

// TestHostileSources: nothing but files and links inside is copied, nothing is waited for, and no link is
// followed.
func TestHostileSources(t *testing.T) {
	t.Parallel()
	c, from, to := hostile(t)
	outside := t.TempDir()
	gittest.WriteFile(t, filepath.Join(outside, "secret"), "secret")
	l, err := net.Listen("unix", filepath.Join(from, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := errors.Join(
		syscall.Mkfifo(filepath.Join(from, "pipe"), 0o600),
		os.Symlink(outside, filepath.Join(from, "dir")),
		os.Symlink("dir/secret", filepath.Join(from, "through")),
		os.Symlink("../"+filepath.Base(outside), filepath.Join(from, "up")),
		os.Symlink(".GIT/config", filepath.Join(from, "git")),
	); err != nil {
		t.Fatal(err)
	}
	want := map[string]croft.SkipReason{
		"pipe": croft.SkipSpecial, "socket": croft.SkipSpecial, "dir": croft.SkipLink, "dir/secret": croft.SkipChanging,
		"up": croft.SkipLink, "git": croft.SkipLink, "gone": croft.SkipChanging, "nested/": croft.SkipRepository,
	}
	if os.Geteuid() == 0 && syscall.Mknod(filepath.Join(from, "device"), syscall.S_IFCHR|0o600, 1<<8|5) == nil {
		want["device"] = croft.SkipSpecial
	}
	for name, reason := range want {
		_, err := c.Copy(name, fsx.ContentCopied)
		if skip, ok := errors.AsType[*provision.SkipError](err); !ok || skip.Why != reason {
			t.Errorf("%s: %v, want %s", name, err, reason)
		}
	}
	if entries, err := os.ReadDir(to); err != nil || len(entries) > 0 {
		t.Errorf("%v was copied, %v", entries, err)
	}
}

// TestExchangedDirectory: a directory that becomes a link while its files are copied leads nowhere, on both sides.
func TestExchangedDirectory(t *testing.T) {
	t.Parallel()
	c, from, to := hostile(t)
	outside := t.TempDir()
	gittest.WriteFile(t, filepath.Join(outside, "two"), "secret")
	for _, name := range []string{"d/one", "d/two", "e/one", "e/two"} {
		gittest.WriteFile(t, filepath.Join(from, name), "mine")
	}
	exchange := func(dir string) {
		if err := errors.Join(os.Rename(dir, dir+".was"), os.Symlink(outside, dir)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Copy("d/one", fsx.ContentCopied); err != nil {
		t.Fatal(err)
	}
	exchange(filepath.Join(from, "d"))
	if made, err := c.Copy("d/two", fsx.ContentCopied); err == nil && read(t, filepath.Join(to, "d/two")) != "mine" {
		t.Errorf("copied %+v from behind a link", made)
	}
	c.To.Close() // what is held open is safe anyway
	exchange(filepath.Join(to, "d"))
	gittest.WriteFile(t, filepath.Join(from, "d.was/three"), "mine")
	c.From.Close()
	if err := errors.Join(os.Remove(filepath.Join(from, "d")), os.Rename(filepath.Join(from, "d.was"), filepath.Join(from, "d"))); err != nil {
		t.Fatal(err)
	}
	_, err := c.Copy("d/three", fsx.ContentCopied)
	if skip, ok := errors.AsType[*provision.SkipError](err); !ok || skip.Why != croft.SkipBlocked {
		t.Errorf("into a link: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(outside, "three")); err == nil {
		t.Error("written behind a link")
	}
}

// TestGrowingFile: a file that is written while it is copied is named, and nothing of it stays.
func TestGrowingFile(t *testing.T) {
	t.Parallel()
	c, from, to := hostile(t)
	path := filepath.Join(from, "log")
	gittest.WriteFile(t, path, strings.Repeat("x", 8<<20))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return
		}
		defer f.Close()
		for {
			select {
			case <-stop:
				return
			default:
				_, _ = f.WriteString("more")
			}
		}
	}()
	skipped := false
	for until := time.Now().Add(20 * time.Second); !skipped && time.Now().Before(until); {
		_, err := c.Copy("log", fsx.ContentCopied)
		skip, ok := errors.AsType[*provision.SkipError](err)
		if skipped = ok && skip.Why == croft.SkipChanging; !skipped {
			_ = os.Remove(filepath.Join(to, "log"))
		}
	}
	close(stop)
	<-stopped
	if !skipped {
		t.Error("a growing file was copied each time")
	}
	if _, err := os.Lstat(filepath.Join(to, "log")); err == nil {
		t.Error("a part of it stays")
	}
}
