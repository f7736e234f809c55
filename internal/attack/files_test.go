//go:build unix

package attack

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put writes a file and makes the directories above it.
func put(t testing.TB, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

// add appends to a file.
func add(t testing.TB, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
	must(t, err)
	_, err = f.WriteString(text)
	must(t, err)
	must(t, f.Close())
}

func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

// link replaces the file or directory at a path by a symbolic link.
func link(t testing.TB, target, path string) {
	t.Helper()
	must(t, os.RemoveAll(path))
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.Symlink(target, path))
}

// pipe replaces the file at a path by a FIFO and returns a function that puts the file
// back.
func pipe(t testing.TB, path string) (back func()) {
	t.Helper()
	saved := path + ".saved"
	_, err := os.Lstat(path)
	was := err == nil
	if was {
		must(t, os.Rename(path, saved))
	}
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, syscall.Mkfifo(path, 0o644))
	return func() {
		_ = os.RemoveAll(path)
		if was {
			must(t, os.MkdirAll(filepath.Dir(path), 0o755))
			_ = os.Rename(saved, path)
		}
	}
}

// precious is a directory that belongs to the person.
type precious struct {
	t      testing.TB
	dir    string
	before map[string]string
}

// precious makes a directory of the person's files, outside of every directory that an
// agent writes.
func (h *host) precious(elem ...string) *precious {
	h.t.Helper()
	p := &precious{t: h.t, dir: h.path(elem...)}
	for _, name := range []string{".ssh/authorized_keys", ".bashrc", "Documents/thesis.txt", "src/proj/main.c"} {
		put(h.t, filepath.Join(p.dir, name), "line 1 of "+name+"\nline 2 is rather longer, so that a truncated file shows\n")
	}
	p.before = manifest(h.t, p.dir)
	return p
}

func (p *precious) file(name string) string { return filepath.Join(p.dir, name) }

// mustBeWhole fails if a file in the directory is gone, new or different.
func (p *precious) mustBeWhole(when string) {
	p.t.Helper()
	if _, err := os.Lstat(p.dir); err != nil {
		p.t.Fatalf("%s: a foreign directory was deleted or moved: %v", when, err)
	}
	if diff := differences(p.before, manifest(p.t, p.dir)); len(diff) > 0 {
		p.t.Fatalf("%s: a foreign directory was changed: %v", when, diff)
	}
}

// manifest describes every path below a directory.
func manifest(t testing.TB, dir string) map[string]string {
	t.Helper()
	list := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		list[name] = info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			list[name] += fmt.Sprintf(" %x", sha256.Sum256(text))
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			list[name] += " " + target
		}
		return nil
	})
	must(t, err)
	return list
}

// differences names the paths in which two manifests differ.
func differences(a, b map[string]string) []string {
	var names []string
	for name, what := range a {
		if b[name] != what {
			names = append(names, name)
		}
	}
	for name := range maps.Keys(b) {
		if _, there := a[name]; !there {
			names = append(names, "+"+name)
		}
	}
	slices.Sort(names)
	return names
}

// age sets the times of a file to the beginning of a year.
func age(t testing.TB, path string, year int) {
	t.Helper()
	when := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
	must(t, os.Chtimes(path, when, when))
}

// rewriteRecord turns the record of a live workspace into that of a removed workspace whose
// trash is a given directory.
func rewriteRecord(t testing.TB, text, base, dir string) string {
	t.Helper()
	var record map[string]any
	must(t, json.Unmarshal([]byte(text), &record))
	workspace, ok := record["workspace"].(map[string]any)
	if !ok {
		t.Fatalf("no workspace in %s", text)
	}
	maps.Copy(workspace, map[string]any{
		"id": "precious", "name": "old", "state": "trashed", "path": filepath.Join(filepath.Dir(dir), "old"), "branch": "",
	})
	record["generation"], record["ownsBranch"] = 5, false
	delete(record, "origin")
	record["trash"] = map[string]any{
		"dir": dir, "removedAt": "2020-01-01T00:00:00Z", "expiresAt": "2020-01-02T00:00:00Z",
		"purgeAt": "2020-01-03T00:00:00Z", "purgeWhy": "expired", "tip": base,
	}
	out, err := json.Marshal(record)
	must(t, err)
	return string(out)
}

// idOf returns the ID of an object in an answer in JSON.
func idOf(t testing.TB, r result, noun string) string {
	t.Helper()
	var answer map[string]json.RawMessage
	must(t, json.Unmarshal([]byte(r.stdout), &answer))
	var thing struct {
		ID string `json:"id"`
	}
	must(t, json.Unmarshal(answer[noun], &thing))
	if thing.ID == "" {
		t.Fatalf("no ID of a %s: %v", noun, r)
	}
	return thing.ID
}

// answered reports whether a refusal has a code, other than that of a defect. Without JSON
// the exit code gives its class.
func answered(r result) bool {
	if r.code < 0 || r.hung {
		return false
	}
	if code := r.errorCode(); code != "" {
		return code != "INTERNAL"
	}
	// A merge that is refused is a result with a reason.
	if strings.Contains(r.stdout, `"reason": "`) || strings.Contains(r.stdout, `"reason":"`) {
		return !strings.Contains(r.stdout, "INTERNAL")
	}
	if findings.MatchString(r.stdout) { // the doctor's answer; each has a code
		return r.code == 1
	}
	return r.code >= 2 && r.code <= 5
}

// findings matches the lines that the doctor prints for faults that it could not mend.
var findings = regexp.MustCompile(`(?m)^found  [A-Z_]+  `)

func itoa(i int) string { return strconv.Itoa(i) }

// mustBeSmall fails if a command needed more memory than a small machine has.
func (h *host) mustBeSmall(command string, r result) {
	h.t.Helper()
	const limit = 1 << 30
	if r.memory > limit {
		h.t.Errorf("croft %s took %d MB of memory, the limit is %d", command, r.memory>>20, limit>>20)
	}
}
