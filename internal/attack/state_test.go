//go:build unix

package attack

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// copies are the two directories of the state: the database in the state directory, and the
// second copy in the data directory.
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

// putBack restores one copy, and deletes later files.
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

// loseLogs deletes the files that SQLite keeps beside the database.
func (c *copies) loseLogs() {
	c.h.t.Helper()
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Remove(c.h.path("state", "croft.db"+suffix)); err != nil && !errors.Is(err, os.ErrNotExist) {
			c.h.t.Fatal(err)
		}
	}
}

// damages are the ways in which the state can be lost, and whether a whole copy is left.
var damages = map[string]struct {
	act   func(c *copies)
	whole bool
}{
	"the database is older":            {func(c *copies) { c.putBack("state") }, true},
	"the second copy is older":         {func(c *copies) { c.putBack("data") }, true},
	"both are older":                   {func(c *copies) { c.putBack("state"); c.putBack("data") }, false},
	"the database is gone":             {func(c *copies) { c.lose("state") }, true},
	"the second copy is gone":          {func(c *copies) { c.lose("data") }, true},
	"both are gone":                    {func(c *copies) { c.lose("state"); c.lose("data") }, false},
	"database older, second copy gone": {func(c *copies) { c.putBack("state"); c.lose("data") }, false},
	"database gone, second copy older": {func(c *copies) { c.lose("state"); c.putBack("data") }, false},
	"the log files are gone":           {func(c *copies) { c.loseLogs() }, true},
	"the state directory is gone":      {func(c *copies) { must(c.h.t, os.RemoveAll(c.h.path("state"))) }, true},
	"the data directory is gone":       {func(c *copies) { must(c.h.t, os.RemoveAll(c.h.path("data"))) }, true},
	"both directories are gone": {func(c *copies) {
		must(c.h.t, errors.Join(os.RemoveAll(c.h.path("state")), os.RemoveAll(c.h.path("data"))))
	}, false},
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

// TestStateLost: the state is lost, damaged or replaced by an older copy in every form.
// Everything that was acknowledged is still known as long as one copy is whole; in every
// case no directory and no branch is deleted, no check runs that was not approved, and a
// merge that was refused, held or discarded does not land by itself.
func TestStateLost(t *testing.T) {
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			inModes(t, gitModes, func(t *testing.T, h *host) { stateLost(t, h, damage.act, damage.whole) })
		})
	}
}

func stateLost(t *testing.T, h *host, act func(*copies), whole bool) {
	h.bound *= time.Duration(size(1, 10)) // a hundred workspaces are made at once
	put(t, filepath.Join(h.dir, "croft.toml"), "[merge]\nprotect = true\n")
	h.commit("protected")
	first := h.agent("first")
	old := h.save("old")
	names := []string{"first", "w0", "refused", "held", "discarded", "gone"}
	for i := range size(3, 100) {
		names = append(names, "w"+itoa(i+1))
	}
	h.mustCroft(append([]string{"new", "--mode", string(h.mode)}, names[1:]...)...)
	for _, name := range names[1:6] {
		put(t, filepath.Join(filepath.Dir(first.dir), name, name+".txt"), name+"\n")
	}
	h.mustCroft("merge", "--keep", "w0")
	h.mustCroft("discard", "discarded")
	h.mustCroft("remove", "--force", "gone")
	put(t, filepath.Join(h.dir, "outside.txt"), "not by a lane\n")
	h.commit("outside")
	if r := h.croft("merge", "--json", "--keep", "refused"); !strings.Contains(r.stdout, "TARGET_MOVED") {
		t.Fatalf("a target that others moved was merged into: %v", r)
	}
	h.mustCroft("merge", "--no-wait", "--keep", "held")
	h.mustCroft("queue", "hold", "held")
	merged, before := h.main(), manifest(t, h.dir+".croft")
	branches := h.git(h.dir, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads")

	act(old)
	start := time.Now()
	for _, command := range []string{"list", "doctor", "trash", "queue", "queue run", "gc", "gc --auto", "reap", "clean --yes --dry-run", "history"} {
		r := h.croft(strings.Fields(command)...)
		if command == "list" {
			t.Logf("known again after %v", time.Since(start).Round(time.Millisecond))
		}
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
	if whole {
		h.mustKnow(slices.DeleteFunc(names, func(name string) bool { return name == "gone" || name == "discarded" }), "gone")
		h.croft("doctor", "--fix") // registrations of isolated workspaces lie in the state directory
		put(t, filepath.Join(h.dir+".croft", "w1", "wanted.txt"), "work that is to be merged\n")
		if r := h.croft("merge", "--json", "--keep", "w1"); h.main() != merged || !strings.Contains(r.stdout, "TARGET_MOVED") {
			t.Errorf("a target that nobody accepted is merged into: %v", r)
		}
	}
	h.mustApproveNothing()
}

// lost names the paths that a manifest has and a later one does not.
func lost(before, after map[string]string) []string {
	return slices.DeleteFunc(differences(before, after), func(name string) bool { return strings.HasPrefix(name, "+") })
}

// mustKnow fails unless the host lists workspaces, the merge of w0, and the entries of the
// trash.
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

// mustApproveNothing fails if an unapproved check runs.
func (h *host) mustApproveNothing() {
	h.t.Helper()
	put(h.t, filepath.Join(h.dir, "croft.toml"), checksFile("touch "+h.canary("check")))
	h.commit("checks")
	h.croft("queue", "accept", "main") // so that nothing else is in the way
	h.croft("new", "last")
	put(h.t, filepath.Join(h.dir+".croft", "last", "f1.txt"), "last\n")
	h.croft("merge", "--keep", "last")
	h.mustBeSilent("croft merge after the state was lost")
	if strings.Contains(h.git(h.dir, "show", "main:f1.txt"), "last") {
		h.t.Error("it landed unchecked")
	}
}
