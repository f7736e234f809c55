//go:build unix

package battery

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// When a shim kills the Croft that called it.
const (
	killBefore = "before" // git does not run
	killDuring = "during" // git goes on after Croft is dead
	killAfter  = "after"  // git has ended
)

// shim is a git in front of the real one that counts its calls, and kills its parent at one
// of them.
type shim struct {
	dir   string // in PATH before the others
	calls string // one directory for each call
}

// newShim puts a shim into the project's PATH. It kills at the given call,
// counted from one; at zero it only counts.
func newShim(t *testing.T, p *project, at int, how string) *shim {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	base := t.TempDir()
	s := &shim{dir: filepath.Join(base, "bin"), calls: filepath.Join(base, "calls")}
	for _, dir := range []string{s.dir, s.calls} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script := strings.NewReplacer("@CALLS@", s.calls, "@GIT@", real, "@AT@", itoa(at), "@HOW@", how).Replace(shimScript)
	if err := os.WriteFile(filepath.Join(s.dir, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	p.path = s.dir + ":" + p.path
	return s
}

// shimScript claims the number of its call by making a directory, which only
// one process can.
const shimScript = `#!/bin/sh
i=1
while ! mkdir "@CALLS@/$i" 2>/dev/null; do i=$((i+1)); done
printf '%s\n' "$*" >"@CALLS@/$i/args"
[ "$i" = "@AT@" ] || exec "@GIT@" "$@"
case @HOW@ in
before) kill -KILL $PPID ;;
during) exec 3<&0; "@GIT@" "$@" <&3 & kill -KILL $PPID; wait ;;
after) "@GIT@" "$@"; kill -KILL $PPID ;;
esac
exit 1
`

// remove takes the shim out of the project's PATH.
func (s *shim) remove(p *project) { p.path = strings.TrimPrefix(p.path, s.dir+":") }

// count is how often git was called.
func (s *shim) count(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir(s.calls)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
