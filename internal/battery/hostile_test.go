//go:build unix

package battery

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/layout/layouttest"
)

// slots are the places in which a command takes a name. The number makes the other names of
// a call unique.
func slots() map[string]func(v string, i int) []string {
	flag := func(name string) func(string, int) []string {
		return func(v string, i int) []string {
			return []string{"new", "--" + name + "=" + v, fmt.Sprintf("%s%d", name, i)}
		}
	}
	verb := func(name string) func(string, int) []string {
		return func(v string, _ int) []string { return []string{name, "--", v} }
	}
	// Removing a name that does not exist is no failure.
	remove := func(args ...string) func(string, int) []string {
		return func(v string, _ int) []string {
			return slices.Concat([]string{"remove", "--missing-ok"}, args, []string{v})
		}
	}
	return map[string]func(string, int) []string{
		"new": verb("new"), "show": verb("show"), "path": verb("path"), "lock": verb("lock"), "remove": remove("--"),
		"new, bare":    func(v string, _ int) []string { return []string{"new", v} },
		"remove, bare": remove(),
		"branch":       flag("branch"), "role": flag("role"), "session": flag("session"), "base": flag("base"),
		"swarm": func(v string, i int) []string {
			return []string{"new", "--layout=swarm", "--role=tester", "--session=" + v, fmt.Sprintf("swarm%d", i)}
		},
	}
}

// tricks are values that would make a file if a program used them as an option or as a
// command.
func tricks(canary string) []string {
	return []string{
		"--upload-pack=touch " + canary, "--exec=touch " + canary, "--output=" + canary, "-o" + canary, "-f" + canary,
		"-c core.fsmonitor=touch\\ " + canary, "-ccore.pager=touch " + canary, "ext::sh -c touch% " + canary,
		";touch " + canary, "$(touch " + canary + ")", "`touch " + canary + "`", "|touch " + canary, "\ntouch " + canary + "\n",
		"-oProxyCommand=touch " + canary, "--template=" + canary, "--git-dir=" + canary, "--separate-git-dir=" + canary,
		"../../../" + filepath.Base(canary), "main\ncreate refs/heads/evil main", "HEAD^{/touch}", "--end-of-options",
	}
}

// TestHostile passes names that were chosen to do harm to the real program in every place
// that takes one. Each is refused with a code or works; no file appears anywhere else.
func TestHostile(t *testing.T) {
	p := smallProject(t)
	canary := filepath.Join(p.top, "canary")
	mustDo(t, os.MkdirAll(filepath.Join(p.work(), "precious", ".git"), 0o755))
	mustDo(t, writeFile(filepath.Join(p.work(), "precious", "file"), "mine"))
	before := p.untouchable()

	h := &hostile{p: p, t: t, counts: map[string]int{}, branches: map[string]bool{"main": true}}
	h.requireWorks("PROJ-123", "feat/login")
	names := append(tricks(canary), layouttest.Hostile(11, size(150, 300))...)
	places := slots()
	order := slices.Sorted(maps.Keys(places))
	var group sync.WaitGroup
	const workers = 2
	for w := range workers {
		group.Go(func() {
			for i := w; i < len(names); i += workers {
				for k, place := range order {
					// The short form passes every name as the name of a
					// workspace, and in two of the other places.
					if isLong() || place == "new" || k == i%len(order) || k == (i+5)%len(order) || i < len(names)-size(150, 300) {
						h.try(place, names[i], places[place](names[i], i))
					}
				}
			}
		})
	}
	group.Wait()

	if _, err := os.Lstat(canary); err == nil {
		t.Errorf("something made %s", canary)
	}
	requireSame(t, "what is not Croft's", before, p.untouchable())
	h.requireInside()
	if f := p.run(p.dir, "git", "fsck", "--no-dangling", "--no-progress"); f.code != 0 {
		t.Errorf("git fsck: %v", f)
	}
	if h.counts["worked"] < 20 || h.counts["refused"] < 100 {
		t.Errorf("a check that refuses everything or nothing: %v", h.counts)
	}
	report(t, "hostile", "%d names, %v: none escaped, none became an option; PROJ-123 and feat/login worked", len(names), h.counts)
}

// hostile collects the outcomes for the names.
type hostile struct {
	p *project
	t *testing.T

	mu       sync.Mutex
	counts   map[string]int
	branches map[string]bool // that may exist
}

func (h *hostile) count(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counts[what]++
}

// requireWorks makes a workspace of each name, by name and by branch.
func (h *hostile) requireWorks(names ...string) {
	h.t.Helper()
	for i, name := range names {
		made := h.p.mustCroft("new", name).Workspaces
		if len(made) != 1 || made[0].Branch != "croft/"+name {
			h.t.Errorf("croft new %s made %v", name, made)
		}
		made = h.p.mustCroft("new", "--branch", name, fmt.Sprintf("plain%d", i)).Workspaces
		if len(made) != 1 || made[0].Branch != name {
			h.t.Errorf("croft new --branch %s made %v", name, made)
		}
		h.branches[name], h.branches["croft/"+name] = true, true
		h.p.mustCroft("show", name)
	}
}

func (h *hostile) try(place, value string, args []string) {
	r := h.p.run(h.p.dir, "croft", asJSON(args)...)
	if r.err != nil {
		if !strings.ContainsRune(value, 0) {
			h.t.Errorf("%s %q: %v", place, value, r)
		}
		h.count("cannot be passed to a program")
		return
	}
	var a answer
	if err := json.Unmarshal([]byte(r.stdout), &a); err != nil || a.Version != 1 {
		h.t.Errorf("%s %q: not an answer in JSON: %v", place, value, r)
		return
	}
	if r.code == 0 {
		h.count("worked")
		h.checkMade(place, value, a.Workspaces)
		return
	}
	code := croft.Code(a.code())
	if a.Error == nil && len(a.Kept) == 1 {
		code = a.Kept[0].Reason.Code // a workspace that croft remove kept is a result, not an error
	}
	bad := []croft.Code{croft.Internal, croft.GitFailed, croft.CleanupFailed, croft.StateUnavailable}
	if !slices.Contains(croft.Codes(), code) || slices.Contains(bad, code) || code.ExitCode() != r.code {
		h.t.Errorf("%s %q: %v", place, value, r)
		return
	}
	h.count("refused")
}

// checkMade checks that a workspace has the path and the name that were asked for.
func (h *hostile) checkMade(place, value string, made []workspace) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range made {
		h.branches[w.Branch] = true
		dir := h.p.workspaces()
		if place == "swarm" {
			dir = filepath.Join(h.p.dir, ".worktrees")
		}
		if filepath.Dir(w.Path) != dir {
			h.t.Errorf("%s %q: made %s", place, value, w.Path)
		}
		if place == "new" && value != "" && w.Name != value || place == "branch" && value != "" && w.Branch != value {
			h.t.Errorf("%s %q: made %+v", place, value, w)
		}
	}
}

// untouchable is everything that no name may reach: the main checkout, git's own settings,
// another directory beside it, and the entries at the top.
func (p *project) untouchable() manifest {
	p.t.Helper()
	m := manifestOf(p.t, p.top, func(rel string, _ fs.DirEntry) bool {
		below := func(dir string) bool { return strings.HasPrefix(rel, dir+"/") }
		switch {
		case rel == "work/app.croft", rel == "home/state", rel == "home/data", rel == "work/app/.worktrees":
			return true
		case below("work/app/.git"):
			inGit, _, _ := strings.Cut(strings.TrimPrefix(rel, "work/app/.git/"), "/")
			// The layout swarm adds its directory to the exclude file, and
			// role files a conditional include to the configuration.
			return slices.Contains([]string{"objects", "refs", "logs", "croft", "worktrees", "config"}, inGit) ||
				rel == "work/app/.git/info/exclude"
		}
		return false
	})
	p.addSettings(m)
	return m
}

// requireInside checks that every directory and every branch was asked for.
func (h *hostile) requireInside() {
	h.t.Helper()
	for _, ref := range lines(h.p.git(h.p.dir, "for-each-ref", "--format=%(refname)")) {
		branch, isBranch := strings.CutPrefix(ref, "refs/heads/")
		if !strings.HasPrefix(ref, "refs/croft/") && (!isBranch || !h.branches[branch]) {
			h.t.Errorf("ref %q was not asked for", ref)
		}
	}
	known := map[string]bool{}
	for _, w := range h.p.mustCroft("list").Workspaces {
		known[w.Path] = true
	}
	for _, dir := range []string{h.p.workspaces(), filepath.Join(h.p.dir, ".worktrees")} {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if path := filepath.Join(dir, e.Name()); e.Name() != ".trash" && !known[path] {
				h.t.Errorf("%s was not asked for", path)
			}
		}
	}
}
