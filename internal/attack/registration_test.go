//go:build linux

package attack

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	be "encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestForgedCheckout: [C] registers a directory of the person's as a checkout of main, and
// points the main checkout's HEAD elsewhere, so that a merge into main would update that
// directory. Nothing there may change.
func TestForgedCheckout(t *testing.T) {
	h := newHost(t, worktree)
	a := h.agent("a1")
	a.write(".zshenv", "touch "+h.canary("zshenv")+"\n")
	a.commit("work")
	victim := h.precious("victim")
	admin := filepath.Join(a.gitDir(), "worktrees", "evil")
	put(t, filepath.Join(a.gitDir(), "HEAD"), "ref: refs/heads/elsewhere\n")
	put(t, filepath.Join(admin, "HEAD"), "ref: refs/heads/main\n")
	put(t, filepath.Join(admin, "gitdir"), victim.file(".git")+"\n")
	put(t, filepath.Join(admin, "commondir"), "../..\n")
	must(t, os.WriteFile(filepath.Join(admin, "index"), readFile(t, filepath.Join(a.gitDir(), "index")), 0o644))
	h.croft("merge", "--keep", "a1")
	victim.mustBeWhole("croft merge")
	if _, err := os.Lstat(victim.file(".zshenv")); err == nil {
		t.Error("croft merge wrote a file of the agent's into a directory that is no checkout")
	}
}

// TestForgedRules: [C] replaces the object of the target's croft.toml by a file without
// checks. Work that fails the checks must not land.
func TestForgedRules(t *testing.T) {
	h := newHost(t, worktree)
	h.demand("exit 1")
	a := h.agent("a1")
	a.write("f1.txt", "unchecked\n")
	a.commit("work")
	before := h.main()
	oid := h.git(h.dir, "rev-parse", "main:croft.toml")
	file := filepath.Join(a.gitDir(), "objects", oid[:2], oid[2:])
	must(t, os.RemoveAll(file))
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	fmt.Fprint(z, "blob 1\x00\n")
	must(t, z.Close())
	must(t, os.WriteFile(file, b.Bytes(), 0o644))
	r := h.croft("merge", "--keep", "a1")
	if h.main() != before {
		t.Errorf("a merge landed past the target's checks: %v", r)
	}
}

// TestForgedStat: [C] makes the main checkout's index record the stat data of a changed
// file, so that it looks unchanged. A merge that touches the file must not overwrite it.
func TestForgedStat(t *testing.T) {
	h := newHost(t, worktree)
	a := h.agent("a1")
	a.write("f1.txt", "the agent's\n")
	a.commit("work")
	mine := filepath.Join(h.dir, "f1.txt")
	put(t, mine, "not committed yet\n")
	forgeStat(t, filepath.Join(a.gitDir(), "index"), "f1.txt", mine)
	r := h.croft("merge", "--keep", "a1")
	if got := string(readFile(t, mine)); got != "not committed yet\n" {
		t.Errorf("the user's change was overwritten with %q: %v", got, r)
	}
}

// forgeStat writes the present stat data of a file into its index entry.
func forgeStat(t *testing.T, index, name, file string) {
	t.Helper()
	const fixed = 62 // bytes of an entry before its name
	data := readFile(t, index)
	at := bytes.Index(data, append([]byte(name), 0)) - fixed
	if at < 12 {
		t.Fatalf("%s has no %s", index, name)
	}
	info, err := os.Lstat(file)
	must(t, err)
	st := info.Sys().(*syscall.Stat_t)
	for i, v := range []uint32{
		uint32(st.Ctim.Sec), uint32(st.Ctim.Nsec), uint32(st.Mtim.Sec), uint32(st.Mtim.Nsec), uint32(st.Dev), uint32(st.Ino),
	} {
		be.BigEndian.PutUint32(data[at+4*i:], v)
	}
	for i, v := range []uint32{st.Uid, st.Gid, uint32(st.Size)} {
		be.BigEndian.PutUint32(data[at+28+4*i:], v)
	}
	body := data[:len(data)-sha1.Size]
	sum := sha1.Sum(body)
	must(t, os.WriteFile(index, append(bytes.Clone(body), sum[:]...), 0o644))
	later := time.Now().Add(time.Hour) // so that no entry is as young as the index
	must(t, os.Chtimes(index, later, later))
}

// TestLinkedObjects: [C] makes directories of the repository's objects links to
// those of another repository. Upkeep must delete nothing there.
func TestLinkedObjects(t *testing.T) {
	h := newHost(t, worktree)
	a := h.agent("a1")
	other := h.path("other")
	h.git(h.top, "init", "--quiet", other)
	long := time.Now().Add(-1000 * time.Hour)
	var list strings.Builder
	for i := range 7000 { // enough to be packed
		file := filepath.Join(h.top, "texts", fmt.Sprint(i))
		put(t, file, fmt.Sprint(i))
		list.WriteString(file + "\n")
	}
	for _, dir := range []string{h.dir, other} {
		h.gitInput(dir, list.String(), "hash-object", "-w", "--stdin-paths")
	}
	makeOld(t, filepath.Join(other, ".git", "objects"), long)
	before := manifest(t, filepath.Join(other, ".git"))
	dirs, err := filepath.Glob(filepath.Join(other, ".git", "objects", "??"))
	must(t, err)
	for _, dir := range dirs {
		at := filepath.Join(a.gitDir(), "objects", filepath.Base(dir))
		if filepath.Base(dir) != "00" { // some directories stay its own
			must(t, os.RemoveAll(at))
			link(t, dir, at)
		}
	}
	h.croft("gc")
	if diff := differences(before, manifest(t, filepath.Join(other, ".git"))); len(diff) > 0 {
		t.Errorf("croft gc changed %d files of another repository", len(diff))
	}
}

// makeOld makes files old.
func makeOld(t *testing.T, dir string, when time.Time) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chtimes(path, when, when)
	}))
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return b
}
