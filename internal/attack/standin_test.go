//go:build linux

package attack

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// racing is a git that runs in front of the real one. It acts as a process of the agent's
// that wins every race: after Croft has checked and before git starts, it replaces files of
// the registration, or all of it, by links, and removes them when git has ended.
const racing = `#!/bin/sh
case " $* " in
*" merge "*|*" update-index "*|*" write-tree "*|*" read-tree "*|*" checkout-index "*|*" update-ref "*|*" reset "*) ;;
*) exec "@GIT@" "$@" ;;
esac
if [ ! -e "@ARMED@" ]; then exec "@GIT@" "$@"; fi
echo "$*" >>"@ARMED@"
case @HOW@ in
files)
	for f in MERGE_MSG MERGE_MODE MERGE_HEAD ORIG_HEAD AUTO_MERGE SQUASH_MSG; do ln -sfn "@VICTIM@/src/proj/main.c" "@ADMIN@/$f"; done
	rm -rf "@ADMIN@/logs"; ln -sfn "@VICTIM@/logs" "@ADMIN@/logs"
	"@GIT@" "$@"; rc=$?
	for f in MERGE_MSG MERGE_MODE MERGE_HEAD ORIG_HEAD AUTO_MERGE SQUASH_MSG logs; do [ -L "@ADMIN@/$f" ] && rm -f "@ADMIN@/$f"; done
	;;
directory)
	mv "@ADMIN@" "@ADMIN@.real" && ln -s "@VICTIM@/.git" "@ADMIN@"
	"@GIT@" "$@"; rc=$?
	rm -f "@ADMIN@" && mv "@ADMIN@.real" "@ADMIN@"
	;;
esac
exit $rc
`

// TestRegistrationSwappedUnderGit: [C] replaces the files of its registration, or the whole
// of it, by links to the person's files and to another repository, at the moment in which
// Croft's git starts. No file of either may change, also where the kernel offers no fence.
func TestRegistrationSwappedUnderGit(t *testing.T) {
	for _, how := range []string{"files", "directory"} {
		for _, act := range []string{"finish", "resolve", "restore"} {
			t.Run(how+"/"+act, func(t *testing.T) {
				h := newHost(t, worktree)
				h.set("CROFT_GIT_FENCE", "off")
				a := h.agent("a1")
				a.write("f1.txt", "the agent's\n")
				a.commit("work")
				snap := strings.Fields(h.mustCroft("snapshot", "a1").stdout)[0]
				a.write("f2.txt", "more of the agent's\n")
				put(t, filepath.Join(h.dir, "f3.txt"), "main's\n")
				h.commit("main goes on")
				victim := h.precious("victim")
				h.git(victim.dir, "init", "--quiet")
				h.git(victim.dir, "config", "maintenance.auto", "false") // a newer git goes on in the background
				h.git(victim.dir, "add", "--all")
				h.git(victim.dir, "commit", "--quiet", "--message", "theirs")
				must(t, os.MkdirAll(victim.file("logs"), 0o755))
				put(t, victim.file("logs/HEAD"), "a log\n")
				victim.before = manifest(t, victim.dir)
				armed := h.race(t, a, victim, how)
				commands := map[string][]string{
					"finish": {"finish", "a1"}, "resolve": {"merge", "--resolve", "a1"}, "restore": {"restore", snap},
				}
				r := h.croft(commands[act]...)
				victim.mustBeWhole("croft " + act)
				if len(readFile(t, armed)) == 0 {
					t.Errorf("no race was run: %v", r)
				}
			})
		}
	}
}

// race puts such a git before the real one, and returns the file in which it records the
// directories that it ran in.
func (h *host) race(t *testing.T, a *agent, victim *precious, how string) (armed string) {
	t.Helper()
	real, err := exec.LookPath("git")
	must(t, err)
	armed = h.path("armed")
	script := strings.NewReplacer(
		"@GIT@", real, "@ARMED@", armed, "@ADMIN@", a.admin(), "@VICTIM@", victim.dir, "@HOW@", how,
	).Replace(racing)
	program := h.path("racing", "git")
	put(t, program, script)
	must(t, os.Chmod(program, 0o755))
	h.set("PATH", filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"))
	h.croft("list") // so that Croft knows this git
	put(t, armed, "")
	return armed
}
