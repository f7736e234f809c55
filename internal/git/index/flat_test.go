package index

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/object"
)

// TestFlatIsGits: over random indexes of all versions, with flags, conflicts and extensions, the entries that are
// read in place are those that git lists, with their stat data, and the tree is the one that git writes.
// CROFT_LONG=1 takes 500.
func TestFlatIsGits(t *testing.T) {
	rounds := 12
	if os.Getenv("CROFT_LONG") != "" {
		rounds = 500
	}
	seed, plain, most := uint64(time.Now().UnixNano()), 0, 10*rounds
	for i := 0; i < rounds || i < most && (plain == 0 || plain == i); i++ { // until both kinds came
		t.Run(fmt.Sprint("seed-", seed+uint64(i)), func(t *testing.T) {
			if compareFlat(t, rand.New(rand.NewPCG(seed+uint64(i), 1)), i%3+2) {
				plain++
			}
		})
	}
	if plain == 0 || plain == most {
		t.Errorf("of %d indexes %d have only plain entries", most, plain)
	}
}

func compareFlat(t *testing.T, rnd *rand.Rand, version int) (isPlain bool) {
	r := gittest.New(t)
	r.Git("update-index", "--index-version", fmt.Sprint(version))
	names := []string{"a", "b.c", "b", "b-c", "b0", "long" + strings.Repeat("n", rnd.IntN(200)), "ä", "git"}
	for range 1 + rnd.IntN(30) {
		path := names[rnd.IntN(len(names))]
		for range rnd.IntN(4) {
			path = names[rnd.IntN(len(names))] + ".d/" + path
		}
		r.Write(path, fmt.Sprint(rnd.IntN(5)))
	}
	r.Git("add", "--all")
	files := strings.Split(strings.TrimSuffix(r.Git("ls-files", "-z"), "\x00"), "\x00")
	pick := func() string { return files[rnd.IntN(len(files))] }
	for range rnd.IntN(3) { // what git refuses for a conflict stays out; flags of entries, and the extensions TREE, EOIE, IEOT, UNTR and REUC
		switch rnd.IntN(8) {
		case 0:
			_, _ = r.TryGit(r.Dir, "update-index", "--skip-worktree", pick())
		case 1:
			_, _ = r.TryGit(r.Dir, "update-index", "--assume-unchanged", pick())
		case 2:
			_, _ = r.TryGit(r.Dir, "update-index", "--chmod=+x", pick())
		case 3:
			_, _ = r.TryGit(r.Dir, "write-tree")
		case 4:
			r.Git("-c", "index.threads=2", "update-index", "--force-write-index")
		case 5:
			r.Git("update-index", "--untracked-cache")
		case 6:
			r.Write("intended", "x")
			r.Git("add", "--intent-to-add", "intended")
		case 7:
			oid, path := r.Git("hash-object", "-w", ".git/HEAD"), pick()
			cmd := exec.Command("git", "update-index", "-z", "--index-info")
			cmd.Dir, cmd.Env = r.Dir, r.Env
			cmd.Stdin = strings.NewReader(fmt.Sprintf("0 %040d\t%s\x00100644 %s 1\t%s\x00100644 %s 3\t%s\x00", 0, path, oid, path, oid, path))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
	}
	file := filepath.Join(r.Dir, ".git", "index")
	data, _, err := ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := ParseFlat(data, object.Format("").NewHash())
	if err != nil {
		t.Fatal(err)
	}
	list := flagsOfGit.ReplaceAllString(r.Git("ls-files", "--stage", "--debug", "-z"), "")
	if d := cmp.Diff(strings.TrimSpace(list), strings.TrimSpace(listFlat(f))); d != "" {
		t.Errorf("entries (-git +here):\n%s", d)
	}
	again, err := Reread(data, 20)
	if err != nil || listFlat(again) != listFlat(f) {
		t.Errorf("it is read another way the second time, %v", err)
	}
	x, err := Parse(data, object.Format("").NewHash())
	if err != nil || len(x.Faults) > 0 || len(x.Entries) != f.Len() {
		t.Fatalf("%d of %d entries, %v, %v", len(x.Entries), f.Len(), x.Faults, err)
	}
	isPlain = true
	tags := strings.Split(r.Git("ls-files", "-v", "-z"), "\x00")
	for i, e := range x.Entries {
		if isHidden := strings.ContainsAny(tags[i][:1], "Shsm"); e.Hidden != isHidden {
			t.Errorf("%s is hidden: %v, git lists %q", e.Path, e.Hidden, tags[i])
		}
		isPlain = isPlain && e.Stage == 0 && !e.Intended
		if d := cmp.Diff(e, f.Entry(i), cmp.AllowUnexported(Entry{})); d != "" {
			t.Errorf("entry %d:\n%s", i, d)
		}
	}
	if f.IsPlain() != isPlain {
		t.Errorf("plain: %v, %v", f.IsPlain(), isPlain)
	}
	if isPlain {
		if got, want := f.Tree(""), r.Git("write-tree"); got != want {
			t.Errorf("the tree is %s, git writes %s", got, want)
		}
	}
	return isPlain
}

// TestLengthOfPaths: git takes the length of a path from the flags of its entry, and reads other entries where that is
// not the one up to the NUL. Nothing here reads such an index.
func TestLengthOfPaths(t *testing.T) {
	for _, version := range []string{"2", "3", "4"} {
		r := gittest.New(t)
		r.Write("abcd", "a")
		r.Write("abce", "b")
		r.Git("add", "--all")
		r.Git("update-index", "--index-version", version)
		file := filepath.Join(r.Dir, ".git", "index")
		data, _, err := ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		before := r.Git("ls-files")
		f, err := ParseFlat(data, object.Format("").NewHash())
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(f.places, func(p place) bool { return f.names[p.name:p.end] == "abcd" })
		data[f.places[at].fixed+61] += 8 // the last byte of its flags
		clear(data[len(data)-20:])
		gittest.WriteFile(t, file, string(data))
		if now, _ := r.TryGit(r.Dir, "ls-files"); now == before {
			t.Errorf("version %s: git reads the same entries: %q", version, now)
		}
		_, whole := Parse(data, object.Format("").NewHash())
		_, again := Reread(data, 20)
		_, special := ReadSpecial(bytes.NewReader(data), 20)
		for how, err := range map[string]error{"parsed": whole, "read again": again, "searched for special entries": special} {
			if !errors.Is(err, ErrUnreadable) {
				t.Errorf("version %s: it is %s: %v", version, how, err)
			}
		}
	}
}

// flagsOfGit are what git prints of its flags in memory.
var flagsOfGit = regexp.MustCompile(`(?m)\tflags: \w+$`)

// listFlat lists an index as git ls-files --stage --debug -z does, without the flags.
func listFlat(f *Flat) string {
	var out strings.Builder
	for i := range f.Len() {
		e := f.At(i).raw
		st := e.stat()
		fmt.Fprintf(&out, "%06o %x %d\t%s\x00", e.mode(), e.oid(), e.flags()&stageMask>>12, f.Path(i))
		fmt.Fprintf(&out, "  ctime: %d:%d\n  mtime: %d:%d\n  dev: %d\tino: %d\n  uid: %d\tgid: %d\n  size: %d\n", st[0], st[1], st[2], st[3], st[4], st[5], st[7], st[8], st[9])
	}
	return out.String()
}
