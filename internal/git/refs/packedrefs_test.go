package refs

import (
	"fmt"
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
