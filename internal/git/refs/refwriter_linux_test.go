package refs

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestPackedLockGoesLast: once packed-refs.lock is gone, packed-refs.new is another
// process's. So a transaction that deletes packed refs removes or renames its own
// packed-refs.new before it removes the lock, whether it succeeds or fails, and does not
// remove the name a second time.
func TestPackedLockGoesLast(t *testing.T) {
	refused := errors.New("refused")
	for _, test := range []struct {
		name      string
		meanwhile func() error
		want      error
		gone      []string
	}{
		{"deleted", nil, nil, []string{"packed-refs.new renamed", "packed-refs.lock removed"}},
		{"refused", func() error { return refused }, refused, []string{"packed-refs.new removed", "packed-refs.lock removed"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := gittest.New(t)
			one := r.Git("rev-parse", "HEAD")
			gitDir := filepath.Join(r.Dir, ".git")
			gittest.WriteFile(t, filepath.Join(gitDir, "packed-refs"), packedHeader+one+" refs/croft/a\n"+one+" refs/croft/b\n")
			repo := open(t, r)
			gone := watchRemovals(t, gitDir)
			var packed []string
			err := repo.writer.transact(t.Context(), test.meanwhile, []Update{{Ref: "refs/croft/a", Old: one}})
			if !errors.Is(err, test.want) {
				t.Fatal(err)
			}
			for _, name := range gone() {
				if strings.HasPrefix(name, "packed-refs.") {
					packed = append(packed, name)
				}
			}
			if !slices.Equal(packed, test.gone) {
				t.Errorf("gone: %q, want %q", packed, test.gone)
			}
		})
	}
}

// watchRemovals returns a function that lists what was removed from a directory or renamed
// in it since the call, in order.
func watchRemovals(t *testing.T, dir string) func() []string {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_DELETE|unix.IN_MOVED_FROM); err != nil {
		t.Fatal(err)
	}
	return func() []string {
		var gone []string
		buf := make([]byte, 64<<10)
		n, err := unix.Read(fd, buf)
		if err != nil {
			t.Fatal(err)
		}
		for buf = buf[:n]; len(buf) > 0; {
			e := (*unix.InotifyEvent)(unsafe.Pointer(&buf[0]))
			end := unix.SizeofInotifyEvent + int(e.Len)
			how := " removed"
			if e.Mask&unix.IN_MOVED_FROM != 0 {
				how = " renamed"
			}
			gone = append(gone, unix.ByteSliceToString(buf[unix.SizeofInotifyEvent:end])+how)
			buf = buf[end:]
		}
		return gone
	}
}
