//go:build unix

package attack

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// copies are the two places in which the state lies: the database in the state
// directory, and the second copy in the data directory.
type copies struct {
	h     *host
	saved string
}

// isDatabase reports whether a file of the state directory is the database, or
// one of its logs.
func isDatabase(name string) bool { return strings.Contains(filepath.Base(name), ".db") }

// save keeps both copies as they are now.
func (h *host) save(name string) *copies {
	h.t.Helper()
	c := &copies{h, h.path("saved", name)}
	for _, dir := range []string{"state", "data"} {
		for _, file := range h.stateFiles(dir) {
			text, err := os.ReadFile(h.path(dir, file))
			must(h.t, err)
			put(h.t, filepath.Join(c.saved, dir, file), string(text))
		}
	}
	return c
}

// stateFiles are the files of one copy: the database of the state directory, or
// all files of the data directory that are not below a git directory.
func (h *host) stateFiles(dir string) []string {
	h.t.Helper()
	var files []string
	_ = filepath.WalkDir(h.path(dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "objects" || d.Name() == ".git") {
			return fs.SkipDir
		}
		name, _ := filepath.Rel(h.path(dir), path)
		if d.Type().IsRegular() && (dir == "data" || isDatabase(name)) {
			files = append(files, name)
		}
		return nil
	})
	return files
}

// putBack makes one copy what it was. What came since is taken away.
func (c *copies) putBack(dir string) {
	c.h.t.Helper()
	c.lose(dir)
	_ = filepath.WalkDir(filepath.Join(c.saved, dir), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			name, _ := filepath.Rel(filepath.Join(c.saved, dir), path)
			must(c.h.t, os.MkdirAll(filepath.Dir(c.h.path(dir, name)), 0o700))
			text, err := os.ReadFile(path)
			must(c.h.t, err)
			must(c.h.t, os.WriteFile(c.h.path(dir, name), text, 0o600))
		}
		return nil
	})
}

// lose deletes one copy.
func (c *copies) lose(dir string) {
	c.h.t.Helper()
	for _, file := range c.h.stateFiles(dir) {
		must(c.h.t, os.Remove(c.h.path(dir, file)))
	}
}

// damages are what may happen to the state, and whether a whole copy is left.
var damages = map[string]struct {
	act   func(c *copies)
	whole bool
}{
	"the database is older":             {func(c *copies) { c.putBack("state") }, true},
	"the second copy is older":          {func(c *copies) { c.putBack("data") }, true},
	"both are older":                    {func(c *copies) { c.putBack("state"); c.putBack("data") }, false},
	"the database is gone":              {func(c *copies) { c.lose("state") }, true},
	"the second copy is gone":           {func(c *copies) { c.lose("data") }, true},
	"both are gone":                     {func(c *copies) { c.lose("state"); c.lose("data") }, false},
	"database older, second copy gone":  {func(c *copies) { c.putBack("state"); c.lose("data") }, false},
	"database gone, second copy older":  {func(c *copies) { c.lose("state"); c.putBack("data") }, false},
	"the database is of zeros":          {func(c *copies) { c.overwrite("state", "\x00") }, true},
	"the second copy is of zeros":       {func(c *copies) { c.overwrite("data", "\x00") }, true},
	"the second copy ends with garbage": {func(c *copies) { c.overwrite("data", "append") }, true},
}

// overwrite damages the files of one copy.
func (c *copies) overwrite(dir, how string) {
	c.h.t.Helper()
	for _, file := range c.h.stateFiles(dir) {
		path := c.h.path(dir, file)
		if how == "append" {
			add(c.h.t, path, "{\"torn\": \xff\xfe")
			continue
		}
		info, err := os.Stat(path)
		must(c.h.t, err)
		must(c.h.t, os.WriteFile(path, make([]byte, info.Size()), 0o600))
	}
}

// TestStateLost: the state is lost, damaged or put back in every form. Whatever
// was acknowledged is still known as long as one copy is whole; in every case no
// directory and no branch is deleted, and no check runs that was not approved.
func TestStateLost(t *testing.T) {
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			inModes(t, gitModes, func(t *testing.T, h *host) {
				count := size(3, 100)
				first := h.agent("first")
				old := h.save("old")
				names := []string{"first"}
				for i := range count {
					names = append(names, h.agent("w"+itoa(i)).name)
				}
				work := &agent{h, "w0", filepath.Join(filepath.Dir(first.dir), "w0")}
				work.write("landed.txt", "work\n")
				h.mustCroft("merge", "--keep", "w0")
				merged := h.main()
				gone := h.agent("gone")
				gone.write("kept.txt", "in the trash\n")
				h.mustCroft("remove", "--force", "gone")
				before := manifest(t, h.dir+".croft")
				branches := h.git(h.dir, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads")

				damage.act(old)
				for _, command := range []string{"list", "doctor", "trash", "gc", "gc --auto", "reap", "clean --yes --dry-run", "history"} {
					r := h.croft(strings.Fields(command)...)
					if r.code != 0 && !answered(r) && command != "doctor" { // which may have found something
						t.Errorf("croft %s: %v", command, r)
					}
				}
				if diff := lost(before, manifest(t, h.dir+".croft")); len(diff) > 0 {
					t.Errorf("files are gone or changed: %v", diff)
				}
				if now := h.git(h.dir, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads"); now != branches {
					t.Errorf("branches were\n%s\nand are\n%s", branches, now)
				}
				if h.main() != merged {
					t.Error("main moved")
				}
				if damage.whole {
					h.mustKnow(names, "gone")
				}
				h.mustApproveNothing()
			})
		})
	}
}

// lost names what a manifest has and a later one has not.
func lost(before, after map[string]string) []string {
	return slices.DeleteFunc(differences(before, after), func(name string) bool { return strings.HasPrefix(name, "+") })
}

// mustKnow fails unless the host lists workspaces, the merge of w0, and what is
// in the trash.
func (h *host) mustKnow(names []string, trashed string) {
	h.t.Helper()
	var answer struct {
		Workspaces []struct {
			Name        string `json:"name"`
			MergeStatus string `json:"mergeStatus"`
		} `json:"workspaces"`
	}
	r := h.croft("list", "--json", "--all")
	_ = json.Unmarshal([]byte(r.stdout), &answer)
	status := map[string]string{}
	for _, w := range answer.Workspaces {
		status[w.Name] = "known " + w.MergeStatus
	}
	for _, name := range names {
		if status[name] == "" {
			h.t.Errorf("the workspace %s is not known any more: %v", name, r)
			break
		}
	}
	if status["w0"] != "known merged" {
		h.t.Errorf("the merge of w0 is not known any more: %q", status["w0"])
	}
	if r := h.croft("trash"); !strings.Contains(r.stdout, trashed) {
		h.t.Errorf("what is in the trash is not known any more: %v", r)
	}
}

// mustApproveNothing fails if a check runs that nobody approved.
func (h *host) mustApproveNothing() {
	h.t.Helper()
	put(h.t, filepath.Join(h.dir, "croft.toml"), checksFile("touch "+h.canary("check")))
	h.commit("checks")
	h.croft("new", "last")
	put(h.t, filepath.Join(h.dir+".croft", "last", "f1.txt"), "last\n")
	h.croft("merge", "--keep", "last")
	h.mustBeSilent("croft merge after the state was lost")
}
