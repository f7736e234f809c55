//go:build unix

package attack

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// everyCommand has every command of croft that a person may type in the workspace called
// ag.
var everyCommand = [][]string{
	{},
	{"list"},
	{"list", "--all"},
	{"show"},
	{"show", "ag"},
	{"path", "ag"},
	{"diff"},
	{"diff", "ag"},
	{"conflicts"},
	{"history"},
	{"trash"},
	{"queue"},
	{"config"},
	{"config", "trust", "--yes"},
	{"doctor"},
	{"snapshot"},
	{"snapshot", "--list"},
	{"review", "ag"},
	{"lock", "ag"},
	{"unlock", "ag"},
	{"session", "list"},
	{"session", "start", "s9"},
	{"role", "list"},
	{"init"},
	{"merge", "--resolve", "ag"},
	{"finish"},
	{"finish", "ag"},
	{"apply", "ag", "--all"},
	{"merge"},
	{"merge", "ag"},
	{"merge", "--keep", "ag"},
	{"queue", "run"},
	{"new", "z1"},
	{"doctor", "--fix"},
	{"gc"},
	{"gc", "--auto"},
	{"reap"},
	{"clean", "--yes"},
	{"revert", "ag"},
	{"remove", "--force", "ag"},
	{"restore", "ag"},
	{"discard", "ag"},
	{"undo"},
}

// pretend makes a repository in a directory of the workspace that looks like the
// main repository of a project: with the agent's checks on main, an approval of
// them, an identity that leads to it, and, made by croft with a state of the
// agent's own, a workspace called like the agent.
func (a *agent) pretend(dir string) {
	h := a.h
	h.t.Helper()
	source := h.dir
	if h.mode != worktree {
		source = a.dir
	}
	h.git(h.top, "clone", "--quiet", "--no-hardlinks", source, dir)
	h.git(dir, "checkout", "--quiet", "-B", "main")
	check := "touch " + h.canary("check")
	put(h.t, filepath.Join(dir, "croft.toml"), checksFile(check))
	put(h.t, filepath.Join(dir, ".git", "info", "exclude"), ".x\n.s\n.worktrees\n")
	h.git(dir, "add", "croft.toml")
	h.git(dir, "commit", "--quiet", "--message", "c")
	own := []string{"CROFT_STATE_DIR=" + filepath.Join(a.dir, ".s"), "CROFT_DATA_DIR=" + filepath.Join(a.dir, ".s")}
	h.runWith("", own, dir, binary, "new", "--layout", "agents", "ag")
	if trees, err := filepath.Glob(filepath.Join(dir, ".worktrees", "*")); err == nil && len(trees) > 0 {
		put(h.t, filepath.Join(trees[0], "w.txt"), "work\n")
		h.git(trees[0], "add", "--all")
		h.git(trees[0], "commit", "--quiet", "--message", "w")
	}
	approvals := filepath.Join(a.dir, ".x")
	put(h.t, filepath.Join(approvals, digest(check)), "{}")
	must(h.t, os.RemoveAll(filepath.Join(dir, ".git", "croft", "generation")))
	put(h.t, filepath.Join(dir, ".git", "croft", "id"), strings.Repeat("../", 24)+approvals[1:]+"\n")
}

// pretences are the forms in which the .git of a workspace is replaced [W]. Each returns
// the directory in which the person then runs commands.
var pretences = map[string]func(a *agent, repo string) string{
	"directory": func(a *agent, repo string) string {
		must(a.h.t, os.RemoveAll(filepath.Join(a.dir, ".git")))
		must(a.h.t, os.Rename(filepath.Join(repo, ".git"), filepath.Join(a.dir, ".git")))
		return a.dir
	},
	"file": func(a *agent, repo string) string {
		must(a.h.t, os.RemoveAll(filepath.Join(a.dir, ".git")))
		put(a.h.t, filepath.Join(a.dir, ".git"), "gitdir: "+filepath.Join(repo, ".git")+"\n")
		return a.dir
	},
	"link": func(a *agent, repo string) string {
		link(a.h.t, filepath.Join(repo, ".git"), filepath.Join(a.dir, ".git"))
		return a.dir
	},
	"bare": func(a *agent, repo string) string { // the workspace itself looks like a git directory
		must(a.h.t, os.RemoveAll(filepath.Join(a.dir, ".git")))
		for _, name := range []string{"HEAD", "objects", "refs", "config", "croft", "packed-refs", "info"} {
			_ = os.RemoveAll(filepath.Join(a.dir, name))
			_ = os.Rename(filepath.Join(repo, ".git", name), filepath.Join(a.dir, name))
		}
		return a.dir
	},
	"none": func(a *agent, _ string) string {
		must(a.h.t, os.RemoveAll(filepath.Join(a.dir, ".git")))
		return a.dir
	},
	"pipe": func(a *agent, _ string) string {
		must(a.h.t, os.RemoveAll(filepath.Join(a.dir, ".git")))
		must(a.h.t, syscall.Mkfifo(filepath.Join(a.dir, ".git"), 0o644))
		return a.dir
	},
	"text": func(a *agent, _ string) string {
		must(a.h.t, os.RemoveAll(filepath.Join(a.dir, ".git")))
		put(a.h.t, filepath.Join(a.dir, ".git"), "gitdir: "+strings.Repeat("x", 1<<20)+"\n")
		return a.dir
	},
	"below": func(_ *agent, repo string) string { return repo }, // a repository in the workspace
	"worktree of it": func(a *agent, repo string) string {
		trees, _ := filepath.Glob(filepath.Join(repo, ".worktrees", "*"))
		if len(trees) == 0 {
			return repo
		}
		return trees[0]
	},
	"pointer gone": func(a *agent, repo string) string { // what an isolated checkout has to say whose it is
		must(a.h.t, os.RemoveAll(filepath.Join(a.gitDir(), "croft")))
		return a.dir
	},
}

// TestWorkspacePretends: [W] replaces the .git of its workspace, in every form, by one that
// looks like a project of its own with approved checks. The person runs every command in
// there. The agent's command must not run, main must not move, and every answer is about
// the recorded repository, or is a refusal.
func TestWorkspacePretends(t *testing.T) {
	for i, name := range slices.Sorted(maps.Keys(pretences)) {
		pretence := pretences[name]
		modes := everyMode
		if size(0, 1) == 0 {
			modes = modes[i%len(modes):][:1] // each in one mode, in turn
		}
		t.Run(name, func(t *testing.T) {
			inModes(t, modes, func(t *testing.T, h *host) {
				a := h.agent("ag")
				a.write("work.txt", "work\n")
				repo := filepath.Join(a.dir, "vendor", "repo")
				a.pretend(repo)
				h.sang()
				known := h.workspaces(h.dir)
				before := h.mainIfAny()
				stand := pretence(a, repo)
				for _, command := range everyCommand {
					if _, err := os.Stat(stand); err != nil {
						must(t, os.MkdirAll(stand, 0o755)) // the workspace was removed, and the person's shell is still there
					}
					r := h.croftIn(stand, command...)
					h.mustBeSilent("croft " + strings.Join(command, " "))
					if now := h.mainIfAny(); now != before && !movesMain(command) {
						t.Errorf("croft %s moved main: %v", strings.Join(command, " "), r)
					} else {
						before = now
					}
					for _, path := range h.workspaces(stand) {
						if !slices.Contains(known, path) && strings.HasPrefix(path, a.dir+string(filepath.Separator)) {
							t.Fatalf("croft %s: the host knows %s, a workspace of the agent's own repository", strings.Join(command, " "), path)
						}
					}
					if t.Failed() {
						return
					}
				}
			})
		})
	}
}

// movesMain reports whether a command is meant to move main.
func movesMain(command []string) bool {
	return len(command) > 0 && slices.Contains([]string{"merge", "apply", "revert", "undo", "queue"}, command[0])
}

// workspaces are the paths of all workspaces that croft lists in a directory.
func (h *host) workspaces(dir string) []string {
	h.t.Helper()
	var answer struct {
		Workspaces []struct {
			Path string `json:"path"`
		} `json:"workspaces"`
	}
	_ = json.Unmarshal([]byte(h.croftIn(dir, "list", "--json").stdout), &answer)
	var paths []string
	for _, w := range answer.Workspaces {
		paths = append(paths, w.Path)
	}
	return paths
}
