//go:build unix

package attack

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// aims are the ways in which an agent makes its workspace refer to main, although another
// branch was recorded for it. Each is given the agent and its branch. [W] writes HEAD of an
// isolated checkout; [C] that of a worktree, and all refs.
var aims = map[string]func(a *agent, branch string){
	"HEAD is main":            func(a *agent, _ string) { a.git("symbolic-ref", "HEAD", "refs/heads/main") },
	"HEAD is a file for main": func(a *agent, _ string) { put(a.h.t, filepath.Join(a.admin(), "HEAD"), "ref: refs/heads/main\n") },
	// git treats a symbolic link whose text is a ref's name as a symbolic ref.
	"HEAD is a link to main": func(a *agent, _ string) { link(a.h.t, "refs/heads/main", filepath.Join(a.admin(), "HEAD")) },
	"HEAD leads over an alias": func(a *agent, _ string) {
		a.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
		a.git("symbolic-ref", "HEAD", "refs/heads/alias")
	},
	"the branch is a symref to main": func(a *agent, branch string) { a.git("symbolic-ref", "refs/heads/"+branch, "refs/heads/main") },
	"the branch is a link to main": func(a *agent, branch string) {
		link(a.h.t, "refs/heads/main", filepath.Join(a.gitDir(), "refs", "heads", branch))
	},
	"the branch is a file that is main's": func(a *agent, branch string) {
		heads := filepath.Join(a.gitDir(), "refs", "heads")
		must(a.h.t, os.Remove(filepath.Join(heads, branch)))
		must(a.h.t, os.Link(filepath.Join(heads, "main"), filepath.Join(heads, branch)))
	},
	"HEAD is detached": func(a *agent, _ string) { a.git("checkout", "--quiet", "--detach") },
	"HEAD climbs to main": func(a *agent, _ string) {
		put(a.h.t, filepath.Join(a.admin(), "HEAD"), "ref: refs/heads/../heads/main\n")
	},
}

// TestHeadAimedAtMain: the agent makes its HEAD or its branch refer to main and leaves work
// in the directory. Neither finish, snapshot, merge --resolve, remove nor restore may move
// main: its approved check always fails.
func TestHeadAimedAtMain(t *testing.T) {
	for name, aim := range aims {
		t.Run(name, func(t *testing.T) {
			inModes(t, gitModes, func(t *testing.T, h *host) {
				h.demand("exit 1")
				a := h.agent("a1")
				branch := a.git("symbolic-ref", "--short", "HEAD")
				before, picture := h.main(), manifest(t, filepath.Join(h.dir, "src"))
				aim(a, branch)
				a.write("evil.txt", "unchecked\n")
				for _, command := range []string{"finish", "snapshot", "merge --keep", "merge --resolve", "apply --all", "remove --force", "restore", "finish"} {
					r := h.croft(append(strings.Fields(command), "a1")...)
					if now := h.main(); now != before {
						t.Fatalf("croft %s moved main past its check from %s to %s: %v", command, before, now, r)
					}
				}
				if diff := differences(picture, manifest(t, filepath.Join(h.dir, "src"))); len(diff) > 0 {
					t.Errorf("the main checkout changed: %v", diff)
				}
			})
		})
	}
}

// TestRoundEndsOnMain: the same, [C] or [W], in a round: its end commits the agents' work,
// but not to main, and nothing that an agent can read in its git directory tells which
// agent has which label.
func TestRoundEndsOnMain(t *testing.T) {
	inModes(t, gitModes, func(t *testing.T, h *host) {
		h.mustCroft("session", "start", "s1")
		r := h.mustCroft("round", "start", "--json", "--session", "s1", "--agents", "opus,codex", "--mode", string(h.mode))
		var round struct {
			Workspaces []struct {
				Path string `json:"path"`
			} `json:"workspaces"`
		}
		must(t, json.Unmarshal([]byte(r.stdout), &round))
		if len(round.Workspaces) != 2 {
			t.Fatalf("no two workspaces: %v", r)
		}
		before := h.main()
		for i, w := range round.Workspaces {
			h.git(w.Path, "symbolic-ref", "HEAD", "refs/heads/main")
			put(t, filepath.Join(w.Path, "evil.txt"), fmt.Sprintf("unchecked %d\n", i))
		}
		r = h.croft("round", "end", "--session", "s1")
		if now := h.main(); now != before {
			t.Errorf("croft round end moved main from %s to %s: %v", before, now, r)
		}
		if names := filesWith(t, filepath.Join(h.dir, ".git"), "opus", "codex"); len(names) > 0 {
			t.Errorf("files of the git directory name the agents: %v", names)
		}
	})
}

// filesWith names the regular files below a directory that contain a word.
func filesWith(t *testing.T, dir string, words ...string) []string {
	t.Helper()
	var names []string
	for name, what := range manifest(t, dir) {
		if !strings.HasPrefix(what, "-") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		for _, word := range words {
			if strings.Contains(string(text), word) {
				names = append(names, name)
				break
			}
		}
	}
	return names
}
