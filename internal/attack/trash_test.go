//go:build unix

package attack

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// forgeries are changes to the archived git files of a removed workspace in the trash. Each
// is given the directory that has its HEAD.
var forgeries = map[string]func(p *planter, admin, victim string){
	"commondir is another repository": func(p *planter, admin, _ string) {
		put(p.h.t, filepath.Join(admin, "commondir"), p.hostile()+"\n")
	},
	"gitdir is another directory": func(p *planter, admin, victim string) {
		put(p.h.t, filepath.Join(admin, "gitdir"), filepath.Join(victim, ".git")+"\n")
	},
	"HEAD is main": func(p *planter, admin, _ string) {
		put(p.h.t, filepath.Join(admin, "HEAD"), "ref: refs/heads/main\n")
	},
	"configuration": func(p *planter, admin, victim string) {
		text := p.filter("evil") + "[core]\n\tworktree = " + victim + "\n\tfsmonitor = " + p.program("fsmonitor", "exit 1") + "\n"
		add(p.h.t, filepath.Join(admin, "config"), text)
		add(p.h.t, filepath.Join(admin, "config.worktree"), text)
		p.hooks(filepath.Join(admin, "hooks"))
	},
	"index is garbage": func(p *planter, admin, _ string) {
		put(p.h.t, filepath.Join(admin, "index"), "DIRC\x00\x00\x00\x02\xff\xff\xff\xff")
	},
	"index is a link": func(p *planter, admin, victim string) {
		link(p.h.t, filepath.Join(victim, ".bashrc"), filepath.Join(admin, "index"))
	},
	"it is a link": func(p *planter, admin, victim string) { link(p.h.t, victim, admin) },
	"a link to elsewhere": func(p *planter, admin, victim string) {
		for _, name := range []string{"logs", "refs", "modules", "rebase-merge"} {
			link(p.h.t, victim, filepath.Join(admin, name))
		}
	},
	"pipes": func(p *planter, admin, _ string) {
		for _, name := range []string{"HEAD", "index", "ORIG_HEAD", "MERGE_HEAD", "gitdir", "commondir", "locked"} {
			pipe(p.h.t, filepath.Join(admin, name))
		}
	},
	"it is gone": func(p *planter, admin, _ string) { must(p.h.t, os.RemoveAll(admin)) },
}

// TestForgedTrash: a process that can write the directory beside the workspaces changes the
// archived git files of a removed workspace. Restoring must bring back what was recorded,
// or refuse: no program runs, main does not move, and nothing outside changes.
func TestForgedTrash(t *testing.T) {
	for name, forge := range forgeries {
		t.Run(name, func(t *testing.T) {
			inModes(t, everyMode, func(t *testing.T, h *host) {
				a := h.agent("a1")
				p := &planter{agent: a, current: "trash"}
				a.write(".gitattributes", "*.txt filter=evil\n")
				a.write("f1.txt", "work\n")
				a.commit("work")
				a.write("f2.txt", "dirty\n")
				victim := h.precious("victim")
				spare := h.agent("spare") // for vectors that need a repository to copy
				h.mustCroft("remove", "--force", "a1")
				p.agent = spare
				before := h.mainIfAny()
				found := h.gitDirsInTrash()
				if len(found) == 0 {
					t.Skip("the trash keeps nothing of git's side")
				}
				for _, admin := range found {
					forge(p, admin, victim.dir)
				}
				h.sang()
				for _, command := range []string{"trash", "list", "doctor", "restore a1", "diff a1", "finish a1", "snapshot a1", "doctor --fix", "remove --force a1", "gc"} {
					r := h.croft(strings.Fields(command)...)
					h.mustBeSilent("croft " + command)
					victim.mustBeWhole("croft " + command)
					if now := h.mainIfAny(); now != before {
						t.Fatalf("croft %s moved main: %v", command, r)
					}
					if command == "restore a1" && r.code == 0 {
						if text := read(t, filepath.Join(a.dir, "f1.txt")); text != "work\n" {
							t.Errorf("what came back is not what was removed: %q", text)
						}
					}
				}
			})
		})
	}
}

// gitDirsInTrash returns the directories below the trash that have a HEAD.
func (h *host) gitDirsInTrash() []string {
	h.t.Helper()
	var list []string
	for _, entry := range h.trashed() {
		_ = filepath.WalkDir(entry, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Name() == "HEAD" && filepath.Base(filepath.Dir(path)) != "logs" {
				list = append(list, filepath.Dir(path))
			}
			return nil
		})
	}
	return list
}
