//go:build unix

package attack

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// field is a host on which vectors are planted: the agents ag and ag2, a remote, committed,
// changed and untracked work, and a main with later commits.
func field(t *testing.T, m mode) (*host, *planter) {
	t.Helper()
	h := newHost(t, m)
	remote := h.path("remote.git")
	if m != plain {
		h.git(h.top, "clone", "--quiet", "--bare", "--no-local", h.dir, remote)
		h.git(h.dir, "remote", "add", "origin", remote)
	}
	a, other := h.agent("ag"), h.agent("ag2")
	p := &planter{agent: a, remote: remote}
	a.write(".gitattributes", "f*.txt filter=evil diff=evil\n")
	add(t, filepath.Join(a.dir, "f0.txt"), "agent\n")
	for _, vectors := range vectorSets {
		for _, v := range vectors {
			a.write("v-"+v.name+".dat", "text\n")
		}
	}
	a.commit("agent")
	put(t, filepath.Join(h.dir, "f0.txt"), "top\na\nb\nc\n")
	if m != plain {
		h.git(h.dir, "commit", "--quiet", "--all", "--message", "main goes on")
	}
	add(t, filepath.Join(a.dir, "f1.txt"), "dirty\n")
	a.write("untracked.txt", "u\n")
	age(t, filepath.Join(a.dir, "f2.txt"), 2001)
	add(t, filepath.Join(other.dir, "f3.txt"), "two\n")
	return h, p
}

// plantAll plants vectors. Files that a vector commits are committed before git would run a
// program.
func (p *planter) plantAll(vectors []vector) {
	p.h.t.Helper()
	for _, v := range vectors {
		p.current = v.name
		v.plant(p)
	}
	p.h.sang()
}

// matrix has the commands that vectors are tried on, in an order in which each has
// something to do. @snap is a snapshot from before.
var matrix = strings.Split(`list --all
show ag
diff ag
diff ag --stat
conflicts
review --json ag
snapshot ag
doctor
doctor --fix
path ag
queue
config
lock ag
unlock ag
merge --resolve ag
finish ag
apply ag untracked.txt
merge ag2
merge --keep ag
queue run
revert ag2
restore @snap
session start s
round start --session s --agents x,y
round end --session s
session end s
remove --force ag
trash
restore ag
new --fresh fresh
new --mode isolated more
discard ag
undo
gc
gc --auto
clean --yes
reap
history`, "\n")

// TestCanaries: [C] or [W] plants every way to make git run a program that can
// coexist with the others; then every command is run. No program must run, no
// command must hang, and nothing must be written to the directory that
// core.worktree names. The canary's name is the vector's.
func TestCanaries(t *testing.T) {
	for name, vectors := range vectorSets {
		t.Run(name, func(t *testing.T) {
			if size(0, 1) == 0 {
				inModes(t, everyMode, func(t *testing.T, h *host) { tryVectors(t, h.mode, vectors) })
				return
			}
			for _, v := range vectors {
				t.Run(v.name, func(t *testing.T) {
					inModes(t, everyMode, func(t *testing.T, h *host) { tryVectors(t, h.mode, []vector{v}) })
				})
			}
		})
	}
}

func tryVectors(t *testing.T, m mode, vectors []vector) {
	t.Helper()
	h, p := field(t, m)
	victim := h.precious("victim")
	snap := idOf(t, h.mustCroft("snapshot", "--json", "ag"), "snapshot")
	p.plantAll(vectors)
	// A program is searched for in the workspace first.
	h.set("PATH", ".:"+os.Getenv("PATH"))
	var codes strings.Builder
	for _, command := range matrix {
		dir := h.dir
		if word, _, _ := strings.Cut(command, " "); slices.Contains([]string{"list", "show", "diff", "finish", "snapshot"}, word) {
			if _, err := os.Stat(p.dir); err == nil {
				dir = p.dir
			}
		}
		r := h.croftIn(dir, strings.Fields(strings.ReplaceAll(command, "@snap", snap))...)
		codes.WriteString(itoa(r.code))
		if names := h.sang(); len(names) > 0 {
			t.Errorf("croft %s ran %v", command, names)
		}
		victim.mustBeWhole("croft " + command)
	}
	t.Logf("exit codes: %s", codes.String())
}

// control runs the plain git commands that a person would run.
var control = [][]string{
	{"ag", "status"},
	{"ag", "--no-pager", "diff", "HEAD"},
	{"ag", "diff"},
	{"ag", "add", "-A"},
	{"ag", "commit", "-qm", "auto"},
	{"ag", "log", "-p", "-2"},
	{"ag", "checkout", "-q", "HEAD~1"},
	{"ag", "checkout", "-q", "-"},
	{"ag", "merge", "--no-edit", "main"},
	{"ag", "reset", "-q", "--hard"},
	{"ag", "fetch", "origin"},
	{"ag", "fetch", "--all"},
	{"ag", "submodule", "update"},
	{"ag", "gc", "-q"},
	{"ag", "push", "origin", "HEAD"},
	{"ag", "stash", "-u"},
	{"ag", "rebase", "main"},
	{"ag", "interpret-trailers", "README"},
}

// TestCanariesRunInPlainGit is the control of TestCanaries: with plain git most vectors do run their
// program, so a silent canary means something.
func TestCanariesRunInPlainGit(t *testing.T) {
	silent := map[string]string{
		"configured-hook": "git 2.54 and newer", "gc": "only with cruft packs", "alternates": "only when refs are received",
		"alias": "never in the place of a command of git's", "pager": "only on a terminal", "trailer": "only when a message is interpreted",
		"lfs": "git's own directory comes first in PATH", "git-in-path": "git is run by its path", "promisor": "only if an object is missing",
		"credential": "nothing listens there", "buried": "git does not look below", "upload": "another vector's address comes first",
		"insteadof": "as before", "vcs": "needs a helper called git-remote-ext", "redirected": "the victim shows it",
		"gitdir": "only of worktrees that are pruned", "objects": "alternates bring objects, no configuration", "gpg-x509": "only if signing gets that far",
		"filter-attributesfile": "a file of the user's", "submodule-update": "only once", "diff-external": "drivers come first",
		"merge-default": "drivers come first", "include-hasconfig": "needs a remote", "untracked-nested": "only when it is entered",
		"history": "hooks that another set has too", "diff-textconv": "only of what is committed",
	}
	for name, vectors := range vectorSets {
		t.Run(name, func(t *testing.T) {
			h, p := field(t, worktree)
			h.bound = 10 * time.Second
			p.plantAll(vectors)
			for _, args := range control {
				h.run(p.dir, "git", args[1:]...)
			}
			names := h.sang()
			for _, v := range vectors {
				sings := slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, v.name+".") })
				if _, may := silent[v.name]; !sings && !may {
					t.Errorf("%s does not run its program with plain git, so it shows nothing", v.name)
				}
			}
			t.Logf("with plain git %d programs ran: %v", len(names), names)
		})
	}
}
