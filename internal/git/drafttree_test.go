package git

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/writers"
)

// A tree of the work that is made without git is the one that git writes.
func TestDraftTreeIsGits(t *testing.T) {
	states := 60
	if os.Getenv("CROFT_LONG") != "" {
		states = 1000
	}
	r := gittest.New(t)
	repo := open(t, r)
	a, err := repo.OpenMergeTree(writers.OnDisk)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	d := &drafting{t: t, r: r, a: a, out: t.TempDir(), rnd: rand.New(rand.NewPCG(18, 3))}
	native := 0
	for i := range states {
		if i%20 == 0 {
			d.w = addWorktree(t, r, repo, fmt.Sprint("w", i))
		}
		for range 1 + d.rnd.IntN(4) {
			d.edit()
		}
		if d.isGits(i) {
			native++
		}
		if d.rnd.IntN(4) == 0 {
			r.GitIn(d.w.Path, "add", "--all")
		}
		if d.rnd.IntN(6) == 0 {
			r.GitIn(d.w.Path, "commit", "--quiet", "--allow-empty", "--message", "more")
		}
	}
	t.Logf("%d of %d states without git", native, states)
	if native < states/8 || native == states {
		t.Error("the states do not try what they should")
	}
}

// drafting makes random states of a checkout.
type drafting struct {
	t   *testing.T
	r   *gittest.Repo
	w   *Worktree
	a   *mergetree.Session
	rnd *rand.Rand
	out string // a directory that links lead to, which edits may write into
}

// draftNames are the names of files and directories, and some that mislead.
var draftNames = []string{"a", "b", "a.b", "a-", "dir", "x\ny", "\xff\xfe", "g~1", "back\\slash", "sp ace", "\u200c", "ä", ".gitx", ".gitignore", "-n"}

func (d *drafting) path() string {
	p := draftNames[d.rnd.IntN(len(draftNames))]
	for d.rnd.IntN(3) == 0 {
		p += "/" + draftNames[d.rnd.IntN(len(draftNames))]
	}
	return p
}

// edit does one random thing. What the file system refuses is left out.
func (d *drafting) edit() {
	p := d.path()
	at := filepath.Join(d.w.Path, filepath.FromSlash(p))
	text := fmt.Sprintf("line %d\n", d.rnd.IntN(3))
	if d.rnd.IntN(3) == 0 {
		text += "$Id: of a checkout $\n"
	}
	if d.rnd.IntN(8) == 0 {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	write := func(perm os.FileMode) {
		_ = os.MkdirAll(filepath.Dir(at), 0o777)
		_ = os.WriteFile(at, []byte(text), perm)
		_ = os.Chmod(at, perm)
	}
	git := func(args ...string) { _, _ = d.r.TryGit(d.w.Path, args...) }
	switch d.rnd.IntN(20) {
	case 0:
		_ = os.RemoveAll(at)
	case 1:
		_ = os.RemoveAll(at)
		_ = os.Symlink([]string{"a", "dir", d.out, "nowhere"}[d.rnd.IntN(4)], at)
	case 2:
		_ = os.RemoveAll(at)
		write(0o755)
	case 3:
		write(0o644)
		git("add", "--", p)
		_ = os.Remove(at)
	case 4:
		git("rm", "-r", "--quiet", "--cached", "--", p)
	case 5:
		write(0o644)
		git("add", "--intent-to-add", "--", p)
	case 6:
		name := filepath.Join(filepath.Dir(at), ".gitattributes")
		words := []string{"* text=auto\n", "* -text\n", "* eol=lf\n", "* ident\n", "* diff\n", ""}[d.rnd.IntN(6)]
		if _ = os.Remove(name); words != "" {
			_ = os.MkdirAll(filepath.Dir(at), 0o777)
			_ = os.WriteFile(name, []byte(words), 0o644)
		}
	case 7, 17, 18, 19:
		write(0o644)
		git("add", "--", p)
		git("update-index", []string{"--skip-worktree", "--assume-unchanged"}[d.rnd.IntN(2)], "--", p)
		text += "hidden\n"
		write(0o644)
	default:
		write(0o644)
	}
}

// isGits compares the two trees of the present state. It returns false if only git makes one.
func (d *drafting) isGits(i int) bool {
	d.t.Helper()
	var work Work
	for e, err := range d.w.Status(d.t.Context(), UntrackedAll, RefreshNothing) {
		switch {
		case err != nil:
			d.t.Fatal(err)
		case e.Work == 'D':
			work.Gone = append(work.Gone, e.Path)
		case e.Index == 'A' && d.rnd.IntN(9) == 0:
			work.Without = append(work.Without, e.Path)
		case (!e.Hidden || d.rnd.IntN(2) == 0) && (e.IsUntracked() && !strings.HasSuffix(e.Path, "/") || e.Work != '.' && e.Work != '?'):
			work.Paths = append(work.Paths, e.Path)
		}
	}
	_, head, err := d.w.Head(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	was, err := d.a.ReadCommit(d.t.Context(), head)
	if err != nil {
		d.t.Fatal(err)
	}
	got, err := d.w.draftTree(d.t.Context(), d.a, was.Tree, work)
	if errors.Is(err, errAskGit) {
		return false
	}
	if err != nil {
		d.t.Fatalf("state %d: %v", i, err)
	}
	d.wantComplete(got)
	want, err := d.w.workTree(d.t.Context(), d.a, head, work)
	if err != nil {
		d.t.Fatalf("state %d: %q %q %q: without git %s, git: %v", i, work.Paths, work.Gone, work.Without, got, err)
	}
	if got != want {
		d.t.Fatalf("state %d: %q %q %q: without git %s, git says %s", i, work.Paths, work.Gone, work.Without, got, want)
	}
	return true
}

// wantComplete reads everything that a tree has.
func (d *drafting) wantComplete(tree string) {
	d.t.Helper()
	entries, err := d.a.ReadTree(d.t.Context(), tree)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, e := range entries {
		if e.Mode == "40000" {
			d.wantComplete(e.OID)
		} else if o, err := d.a.Read(d.t.Context(), e.OID); err != nil || o.Type != "blob" {
			d.t.Fatalf("%q: %v, %v", e.Name, o, err)
		}
	}
}

// What git converts when it is staged, or leaves out, is left to git.
func TestDraftTreeAsksGit(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	a, err := repo.OpenMergeTree(writers.OnDisk)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	for i, c := range []struct {
		attributes, text string
		update           string // an option of update-index
		asks             bool
	}{
		{"", "text\r\n", "", false},
		{"* text=auto\n", "text\n", "", false},
		{"* text=auto\n", "text\r\n", "", true},
		{"* ident\n", "text\n", "", true},
		{"* filter=some\n", "text\n", "", true},
		{"", "text\n", "--skip-worktree", true},
	} {
		w := addWorktree(t, r, repo, fmt.Sprint("asks", i))
		gittest.WriteFile(t, filepath.Join(w.Path, "dir", "file"), "staged\n")
		r.GitIn(w.Path, "add", "--all")
		if c.update != "" {
			r.GitIn(w.Path, "update-index", c.update, "dir/file")
		}
		if c.attributes != "" {
			gittest.WriteFile(t, filepath.Join(w.Path, ".gitattributes"), c.attributes)
		}
		gittest.WriteFile(t, filepath.Join(w.Path, "dir", "file"), c.text)
		if _, err := w.draftTree(t.Context(), a, "", Work{Paths: []string{"dir/file"}}); errors.Is(err, errAskGit) != c.asks || err != nil && !c.asks {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
