package refs

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestPackedRefs: every ref that git packs, including tags with their commits, is found;
// names between, before and after them are not.
func TestPackedRefs(t *testing.T) {
	r := gittest.New(t)
	r.Git("commit", "--allow-empty", "--quiet", "-m", "first")
	head := strings.TrimSpace(r.Git("rev-parse", "HEAD"))
	var names []string
	for i := range 200 {
		name := fmt.Sprintf("refs/heads/b%03d", i*7%200)
		if i%3 == 0 {
			name = fmt.Sprintf("refs/tags/t%03d", i)
			r.Git("tag", "-a", "-m", "x", strings.TrimPrefix(name, "refs/tags/"))
		} else {
			r.Git("update-ref", name, head)
		}
		names = append(names, name)
	}
	want := map[string]string{}
	for _, name := range names {
		want[name] = strings.TrimSpace(r.Git("rev-parse", name))
	}
	r.Git("pack-refs", "--all")
	data, err := os.ReadFile(filepath.Join(r.Dir, ".git", "packed-refs"))
	if err != nil {
		t.Fatal(err)
	}
	head1, rest, _ := strings.Cut(string(data), "\n")
	lines := strings.SplitAfter(rest, "\n")
	slices.Reverse(lines)
	for name, p := range map[string]*packedRefs{
		"sorted": parsePacked(data), "without a word on the order": parsePacked([]byte(rest)),
		"not sorted": parsePacked([]byte(strings.Replace(head1, " sorted", "", 1) + "\n" + strings.Join(lines, ""))),
	} {
		for ref, oid := range want {
			if got, ok := p.find(ref); !ok || got != oid {
				t.Errorf("%s: %s is %q, %v, want %s", name, ref, got, ok, oid)
			}
		}
		for _, ref := range append(names, "", "refs", "zzz") {
			for _, other := range []string{ref + "x", strings.TrimSuffix(ref, "0") + "/", "^" + ref} {
				if got, ok := p.find(other); ok {
					t.Errorf("%s: %s is %s, and there is no such ref", name, other, got)
				}
			}
		}
	}
	for _, bad := range []string{"refs/heads/a\n", "1234 refs/heads/a\n", strings.Repeat("x", 40) + " refs/heads/a\n"} {
		if got, ok := parsePacked([]byte(packedHeader + bad)).find("refs/heads/a"); ok {
			t.Errorf("%q names %q", bad, got)
		}
	}
	if _, ok := parsePacked(nil).find("refs/heads/b001"); ok {
		t.Error("something is in a file without anything")
	}
}

// TestPackedRefsAgain: a file that replaces another one is read, also right afterwards and
// with the same size.
func TestPackedRefsAgain(t *testing.T) {
	r := gittest.New(t)
	r.Git("commit", "--allow-empty", "--quiet", "-m", "first")
	repo, err := openWith(gitcmd.New(gitcmd.Options{ConfigDir: t.TempDir(), Environ: r.Env}), r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer repo.Close()
	file := filepath.Join(r.Dir, ".git", "packed-refs")
	old := time.Now().Add(-time.Hour)
	for i := range 20 {
		oid := fmt.Sprintf("%040x", i+1)
		write := func() {
			if err := os.WriteFile(file+".new", []byte("# pack-refs with: peeled fully-peeled sorted \n"+oid+" refs/heads/a\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			if i%2 == 0 { // as if the file was old
				if err := os.Chtimes(file+".new", old, old.Add(time.Duration(i)*time.Second)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Rename(file+".new", file); err != nil {
				t.Fatal(err)
			}
		}
		write()
		for range 2 {
			if got, err := repo.RefSnapshot().Ref("refs/heads/a"); got != oid || err != nil {
				t.Fatalf("the ref is %s, %v, want %s", got, err, oid)
			}
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if got, err := repo.RefSnapshot().Ref("refs/heads/a"); err == nil {
		t.Errorf("the ref is %s, and the file is gone", got)
	}
}

// TestPackedRefsAreCached: a file is read again if it is another one, or has another size or time, or if it is so young that a write
// need not have changed those.
func TestPackedRefsAreCached(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	file, next := filepath.Join(r.Dir, ".git", "packed-refs"), 0
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	write := func(path, name string, at time.Time) string {
		t.Helper()
		next++
		oid := fmt.Sprintf("%040x", next)
		if err := os.WriteFile(path, []byte(packedHeader+oid+" refs/heads/"+name+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		return oid
	}
	find := func() string {
		oid, ok, err := repo.packed().find("refs/heads/a")
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		return oid
	}
	was := write(file, "a", old)
	if find() != was {
		t.Fatal("it is not found")
	}
	if write(file, "a", old); find() != was {
		t.Error("it was read although nothing tells that it has changed")
	}
	young := time.Now()
	for _, k := range []struct {
		name   string
		change func() string
	}{
		{"another size", func() string { return write(file, "a\n"+strings.Repeat("f", 40)+" refs/heads/b", old) }},
		{"another time", func() string { return write(file, "a", old.Add(time.Second)) }},
		{"another file", func() string {
			oid := write(file+".new", "a", old.Add(time.Second))
			if err := os.Rename(file+".new", file); err != nil {
				t.Fatal(err)
			}
			return oid
		}},
		{"young", func() string { return write(file, "a", young) }},
		{"as young and as large", func() string { return write(file, "a", young) }},
	} {
		if want := k.change(); find() != want {
			t.Errorf("%s: the one before is found", k.name)
		}
	}
}

// TestPackedRefsThatCannotBeRead: nothing is said of refs where nobody knows them.
func TestPackedRefsThatCannotBeRead(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	file := filepath.Join(r.Dir, ".git", "packed-refs")
	if err := os.Mkdir(file, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := repo.packed().find("refs/heads/a"); ok || err == nil {
		t.Errorf("in a directory: %v, %v", ok, err)
	}
	repo.CommonDir = filepath.Join(r.Dir, ".git", "HEAD")
	if _, ok, err := repo.packed().find("refs/heads/a"); ok || err == nil {
		t.Errorf("below a file: %v, %v", ok, err)
	}
}

// TestLargePackedRefs: in a file that is too large to be read for one ref the same refs are found as
// in all of it, and fewer bytes are read.
func TestLargePackedRefs(t *testing.T) {
	var text strings.Builder
	text.WriteString(packedHeader)
	want := map[string]string{}
	for i := range 8000 {
		name := fmt.Sprintf("refs/croft/archive/%s%05d/head", strings.Repeat("x", i%40), i)
		if i%3 == 0 {
			name = fmt.Sprintf("refs/tags/t%05d", i)
		}
		want[name] = fmt.Sprintf("%040x", i+1)
	}
	for i, name := range slices.Sorted(maps.Keys(want)) {
		fmt.Fprintf(&text, "%s %s\n", want[name], name)
		if i%5 < 2 {
			fmt.Fprintf(&text, "^%040x\n", i)
		}
	}
	file := filepath.Join(t.TempDir(), "packed-refs")
	write := func(text string) os.FileInfo {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		info, err := os.Lstat(file)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	info, all := write(text.String()), parsePacked([]byte(text.String()))
	whole := 0
	open := func(searches int64) *packedFile {
		t.Helper()
		p := openPacked(file, info)
		if p.info == nil {
			t.Fatal("a large file is read as a whole")
		}
		p.left.Store(searches)
		p.whole = func() *packedRefs { whole++; return readPacked(file) }
		return p
	}
	p := open(1 << 30)
	for ref, oid := range want {
		for _, name := range []string{ref, ref + "x", strings.TrimSuffix(ref, "/head"), ref[:len(ref)-1], "^" + ref, "", "zzz"} {
			got, ok, err := p.find(name)
			if other, isThere := all.find(name); got != other || ok != isThere || err != nil || name == ref && got != oid {
				t.Fatalf("%q is %q, %v, %v, want %q", name, got, ok, err, other)
			}
			got, ok, err = p.findBelow(name)
			if _, isThere := all.findBelow(name); ok != isThere || ok && (!strings.HasPrefix(got, name) || want[got] == "") || err != nil {
				t.Fatalf("below %q is %q, %v, %v", name, got, ok, err)
			}
		}
	}
	if whole != 0 {
		t.Errorf("all of the file was read %d times", whole)
	}
	const one = "refs/tags/t00999"
	for range 5 {
		_, _, _ = open(2).find(one)
	}
	if p = open(2); whole != 0 {
		t.Errorf("all of the file was read %d times for one ref each", whole)
	}
	for range 3 {
		if got, ok, err := p.find(one); got != want[one] || !ok || err != nil {
			t.Errorf("%s is %q, %v, %v", one, got, ok, err)
		}
	}
	if whole != 1 {
		t.Errorf("after more searches than are left all of the file was read %d times", whole)
	}
	// The file is another one by now, of the same path: what is there counts.
	p = open(1 << 30)
	lines := strings.SplitAfter(text.String(), "\n")
	slices.Reverse(lines)
	write(strings.Join(lines, "") + "\n")
	if got, ok, err := p.find(one); got != want[one] || !ok || err != nil {
		t.Errorf("after a write %s is %q, %v, %v", one, got, ok, err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	p.whole = func() *packedRefs { return readPacked(file) }
	if got, ok, err := p.find(one); ok || err != nil {
		t.Errorf("without the file %s is %q, %v", one, got, err)
	}
	names := slices.Sorted(maps.Keys(want))
	for what, damaged := range map[string]string{
		"without a word on the order": strings.Replace(text.String(), " sorted", "", 1),
		"in another order":            strings.Replace(packedHeader, " sorted", "", 1) + strings.Join(lines[:len(lines)-1], "") + "\n",
		"cut off":                     strings.TrimSuffix(text.String(), "\n"),
		"with a long line":            packedHeader + strings.Repeat("x", 1<<16) + "\n" + strings.TrimPrefix(text.String(), packedHeader),
	} {
		info = write(damaged)
		all := parsePacked([]byte(damaged))
		p := openPacked(file, info)
		p.left.Store(1 << 30)
		for i := len(names) - 1; i >= 0; i -= 50 {
			oid, isThere := all.find(names[i])
			if got, ok, err := p.find(names[i]); got != oid || ok != isThere || err != nil {
				t.Fatalf("%s: %s is %q, %v, %v, want %q", what, names[i], got, ok, err, oid)
			}
		}
		if got, ok, err := openPacked(file, info).find(one); got != want[one] || !ok || err != nil {
			t.Errorf("%s: %s is %q, %v, %v", what, one, got, ok, err)
		}
	}
}
