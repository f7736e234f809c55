//go:build unix

package attack

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	encoding "encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// forgery is an object under another object's name, as an agent can put it into the shared
// object directory.
type forgery struct {
	oid, kind string
	text      []byte
}

func deflated(t testing.TB, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, err := z.Write(text)
	must(t, err)
	must(t, z.Close())
	return b.Bytes()
}

// asFile replaces the object's own file by a forgery, and returns a function that puts the
// file back.
func (f forgery) asFile(a *agent) (restore func()) {
	t := a.h.t
	t.Helper()
	path := filepath.Join(a.gitDir(), "objects", f.oid[:2], f.oid[2:])
	before, err := os.ReadFile(path)
	if err != nil {
		before = nil
	}
	head := fmt.Sprintf("%s %d\x00", f.kind, len(f.text))
	replace := func(data []byte) {
		_ = os.Remove(path)
		if data != nil {
			put(t, path, string(data))
		}
	}
	replace(deflated(t, append([]byte(head), f.text...)))
	return func() { replace(before) }
}

// asPack puts a forgery into a pack of its own, whose checksums are right. Git
// prefers packs to files.
func (f forgery) asPack(a *agent) (restore func()) {
	t := a.h.t
	t.Helper()
	kind := map[string]byte{"commit": 1, "tree": 2, "blob": 3}[f.kind]
	size := len(f.text)
	entry := []byte{}
	c := kind<<4 | byte(size&15)
	for size >>= 4; size > 0; size >>= 7 {
		entry = append(entry, c|0x80)
		c = byte(size & 0x7f)
	}
	entry = append(append(entry, c), deflated(t, f.text)...)
	pack := append([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01"), entry...)
	sum := sha1.Sum(pack)
	pack = append(pack, sum[:]...)
	oid, err := hex.DecodeString(f.oid)
	must(t, err)
	idx := []byte("\xfftOc\x00\x00\x00\x02")
	for first := range 256 {
		n := uint32(0)
		if first >= int(oid[0]) {
			n = 1
		}
		idx = encoding.BigEndian.AppendUint32(idx, n)
	}
	idx = encoding.BigEndian.AppendUint32(append(idx, oid...), crc32.ChecksumIEEE(entry))
	idx = append(encoding.BigEndian.AppendUint32(idx, 12), sum[:]...)
	whole := sha1.Sum(idx)
	base := filepath.Join(a.gitDir(), "objects", "pack", "pack-"+hex.EncodeToString(sum[:]))
	put(t, base+".pack", string(pack))
	put(t, base+".idx", string(append(idx, whole[:]...)))
	return func() {
		must(t, os.Remove(base+".idx"))
		must(t, os.Remove(base+".pack"))
	}
}

// places are the ways to store a forgery.
var places = map[string]func(forgery, *agent) func(){"file": forgery.asFile, "pack": forgery.asPack}

// evilWork has an agent commit text that it wants to hide, and returns the text that it
// would rather show.
func (a *agent) evilWork() forgery {
	a.h.t.Helper()
	add(a.h.t, filepath.Join(a.dir, "f1.txt"), unreviewed+"\n")
	a.commit("work")
	return forgery{a.git("rev-parse", "HEAD:f1.txt"), "blob", []byte("a\nb\nc\ngood\n")}
}

// evilTree is the same with a directory whose tree is forged: the file in it is the evil
// one, and a good one is shown.
func (a *agent) evilTree() forgery {
	a.h.t.Helper()
	good := a.h.writeBlob(a.dir, "x\ngood\n")
	add(a.h.t, filepath.Join(a.dir, "src", "m.txt"), unreviewed+"\n")
	a.commit("work")
	tree := a.replaceFile("HEAD:src", "m.txt", good)
	text := a.h.run(a.dir, "git", "cat-file", "tree", tree).stdout
	return forgery{a.git("rev-parse", "HEAD:src"), "tree", []byte(text)}
}

var evils = map[string]func(*agent) forgery{"blob": (*agent).evilWork, "tree": (*agent).evilTree}

func eachForgery(t *testing.T, attack func(t *testing.T, h *host, a *agent, f forgery, how func(forgery, *agent) func())) {
	for what, evil := range evils {
		for place, how := range places {
			t.Run(what+" as "+place, func(t *testing.T) {
				h := newHost(t, worktree)
				h.demand("! grep -r 'EVIL' . --include=*.txt")
				a := h.agent("a1")
				attack(t, h, a, evil(a), how)
			})
		}
	}
}

// TestForgedWhileReviewed: [C] commits text, replaces its object by other text while a
// person reviews, and puts the true object back before the apply. Only text that was shown
// may land.
func TestForgedWhileReviewed(t *testing.T) {
	eachForgery(t, func(t *testing.T, h *host, a *agent, f forgery, how func(forgery, *agent) func()) {
		put(t, filepath.Join(h.dir, "croft.toml"), "")
		h.commit("no checks")
		restore := how(f, a)
		seen := h.croft("review", "--json", "a1")
		shown := h.croft("diff", "a1")
		restore()
		if strings.Contains(shown.stdout, "+good") {
			t.Errorf("croft diff shows text that is not what would land: %v", shown)
		}
		if seen.code != 0 {
			if seen.errorCode() != "OBJECT_FORGED" {
				t.Errorf("refused, and not for what it is: %v", seen)
			}
			return
		}
		h.croft("apply", "a1", "--review", idOf(t, seen, "review"), "--all")
		if strings.Contains(h.landed("f1.txt")+h.landed("src/m.txt"), unreviewed) && !strings.Contains(seen.stdout, unreviewed) {
			t.Errorf("text landed that nobody saw: %v", seen)
		}
	})
}

// TestForgedWhileChecked: [C] does the same while checks run. Only text that was checked
// may land.
func TestForgedWhileChecked(t *testing.T) {
	eachForgery(t, func(t *testing.T, h *host, a *agent, f forgery, how func(forgery, *agent) func()) {
		restore := how(f, a)
		r := h.croft("merge", "--keep", "--json", "a1")
		h.goesOn()
		restore()
		h.mustNotHaveLanded(r)
		// git decides which of two objects with one name it reads. Where it is the true
		// one, the check has seen it.
		isTold := strings.Contains(r.stdout, "OBJECT_FORGED") || strings.Contains(r.stdout, "CHECK_FAILED") && strings.Contains(r.stdout, unreviewed)
		if r.code == 0 || !isTold {
			t.Errorf("the merge was not refused for what it is: %v", r)
		}
	})
}

// goesOn makes sure that another agent's work still lands.
func (h *host) goesOn() {
	h.t.Helper()
	b := h.agent("b9")
	b.write("f9.txt", "work\n")
	if r := h.croft("merge", "b9"); r.code != 0 || !strings.Contains(h.landed("f9.txt"), "work") {
		h.t.Errorf("the lane is stuck: %v", r)
	}
}

// TestForgedCheckProgram: [C] replaces the object of the program that checks, which its
// work does not touch. Its work must not land.
func TestForgedCheckProgram(t *testing.T) {
	for place, how := range places {
		t.Run(place, func(t *testing.T) {
			h := newHost(t, worktree)
			put(t, filepath.Join(h.dir, "ci.sh"), "! grep -q EVIL f1.txt\n")
			h.demand("sh ci.sh")
			a := h.agent("a1")
			a.evilWork()
			restore := how(forgery{h.git(h.dir, "rev-parse", "HEAD:ci.sh"), "blob", []byte("exit 0\n")}, a)
			r := h.croft("merge", "--keep", "a1")
			restore()
			h.mustNotHaveLanded(r)
			h.goesOn()
		})
	}
}

// TestForgedWhilePublished: [C] replaces the object of its work when it lands without
// checks. A person's checkout must get what the commit names.
func TestForgedWhilePublished(t *testing.T) {
	for place, how := range places {
		t.Run(place, func(t *testing.T) {
			h := newHost(t, worktree)
			a := h.agent("a1")
			a.write("f1.txt", "good\n")
			a.commit("work")
			restore := how(forgery{a.git("rev-parse", "HEAD:f1.txt"), "blob", []byte(unreviewed + "\n")}, a)
			r := h.croft("merge", "--keep", "--json", "a1")
			if strings.Contains(read(t, filepath.Join(h.dir, "f1.txt")), unreviewed) {
				t.Errorf("a forged file was written: %v", r)
			}
			h.goesOn()
			restore()
		})
	}
}

// TestTwoPacksOneName: [C] has two packs with objects of the same name and different
// contents. Their age decides which of them git reads first; nothing may land in either
// order.
func TestTwoPacksOneName(t *testing.T) {
	for name, year := range map[string]int{"older": 2001, "newer": 2030} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, worktree)
			h.demand("! grep -q EVIL f1.txt")
			a := h.agent("a1")
			f := a.evilWork()
			must(t, os.Remove(filepath.Join(a.gitDir(), "objects", f.oid[:2], f.oid[2:])))
			forgery{f.oid, "blob", []byte("a\nb\nc\n" + unreviewed + "\n")}.asPack(a)
			before, err := filepath.Glob(filepath.Join(a.gitDir(), "objects", "pack", "*.pack"))
			must(t, err)
			for _, pack := range before {
				age(t, pack, year)
			}
			restore := f.asPack(a)
			r := h.croft("merge", "--keep", "a1")
			restore()
			h.mustNotHaveLanded(r)
			h.goesOn()
		})
	}
}
