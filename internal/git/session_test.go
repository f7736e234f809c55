package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/proc"
)

func refsOf(t *testing.T, repo *Repository, prefix string) map[string]string {
	t.Helper()
	list, err := repo.Refs(t.Context(), prefix)
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]string{}
	for _, r := range list {
		m[r.Name] = r.OID
	}
	return m
}

func TestUpdateRefs(t *testing.T) {
	r := gittest.New(t)
	one := r.Git("rev-parse", "HEAD")
	r.Write("two", "")
	two := r.Commit("two")
	repo := open(t, r)
	ref := func(n int) string { return "refs/croft/" + strconv.Itoa(n) }
	for _, step := range []struct {
		name    string
		updates []RefUpdate
		stale   bool
		want    map[string]string
	}{
		{"nothing", nil, false, map[string]string{}},
		{"create two", []RefUpdate{{ref(1), one, ""}, {ref(2), one, ""}}, false, map[string]string{ref(1): one, ref(2): one}},
		{"create one that is there", []RefUpdate{{ref(3), one, ""}, {ref(1), two, ""}}, true, map[string]string{ref(1): one, ref(2): one}},
		{
			"one stale of three",
			[]RefUpdate{{ref(1), two, one}, {ref(2), one, two}, {ref(3), two, ""}},
			true,
			map[string]string{ref(1): one, ref(2): one},
		},
		{"the session is usable afterwards", []RefUpdate{{ref(1), two, one}}, false, map[string]string{ref(1): two, ref(2): one}},
		{"move one that is not there", []RefUpdate{{ref(9), two, one}}, true, map[string]string{ref(1): two, ref(2): one}},
		{"delete from another value", []RefUpdate{{ref(1), "", one}}, true, map[string]string{ref(1): two, ref(2): one}},
		{"delete one that is not there", []RefUpdate{{ref(9), "", one}}, true, map[string]string{ref(1): two, ref(2): one}},
		{"expect none where one is", []RefUpdate{{ref(1), "", ""}}, true, map[string]string{ref(1): two, ref(2): one}},
		{"expect none where none is", []RefUpdate{{ref(9), "", ""}, {ref(2), two, one}}, false, map[string]string{ref(1): two, ref(2): two}},
		{"below another", []RefUpdate{{ref(1) + "/x", one, ""}}, true, map[string]string{ref(1): two, ref(2): two}},
		{"all at once", []RefUpdate{{ref(1), "", two}, {ref(2), one, two}, {ref(3), two, ""}}, false, map[string]string{ref(2): one, ref(3): two}},
	} {
		err := repo.UpdateRefs(t.Context(), step.updates...)
		if (err != nil) != step.stale || errors.Is(err, KindRefStale) != step.stale {
			t.Errorf("%s: %v", step.name, err)
		}
		if diff := cmp.Diff(step.want, refsOf(t, repo, "refs/croft/")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}

func TestUpdateRefsRefusesWhatIsNoRef(t *testing.T) {
	r := gittest.New(t)
	head := r.Git("rev-parse", "HEAD")
	repo := open(t, r)
	before := refsOf(t, repo, "refs/")
	for _, u := range []RefUpdate{
		{"HEAD", head, ""},
		{"main", head, ""},
		{"", head, ""},
		{"refs/../x", head, ""},
		{"refs/heads/a..b", head, ""},
		{"refs/heads/new\x00update refs/heads/other", head, ""},
		{"refs/heads/new\nline", head, ""},
		{"refs/heads/x", "HEAD", ""},
		{"refs/heads/x", head + "\x00create refs/heads/y\x00" + head, ""},
		{"refs/heads/x", head, "main"},
		{"refs/heads/x", head[:20], ""},
		{"refs/heads/x", strings.Repeat("1", 40), ""}, // no such object
		{"refs/heads/x", strings.Repeat("1", 64), ""},
	} {
		if err := repo.UpdateRefs(t.Context(), u); err == nil || errors.Is(err, KindRefStale) {
			t.Errorf("%q: %v", u, err)
		}
	}
	if diff := cmp.Diff(before, refsOf(t, repo, "refs/")); diff != "" {
		t.Errorf("refs moved (-before +after):\n%s", diff)
	}
}

// TestUpdateRefsByMany: of many who move one ref from the same value, one does.
func TestUpdateRefsByMany(t *testing.T) {
	const many = 200
	r := gittest.New(t)
	head := r.Git("rev-parse", "HEAD")
	repos := []*Repository{open(t, r), open(t, r)} // two processes' worth
	var wg sync.WaitGroup
	errs := make([]error, many)
	for i := range many {
		wg.Go(func() {
			errs[i] = repos[i%2].UpdateRefs(t.Context(),
				RefUpdate{Ref: fmt.Sprintf("refs/croft/own/%d", i), New: head}, RefUpdate{Ref: fmt.Sprintf("refs/croft/shared/%d", i/10), New: head})
		})
	}
	wg.Wait()
	won := 0
	for i, err := range errs {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, KindRefStale):
			t.Errorf("%d: %v, want KindRefStale", i, err)
		}
	}
	refs := refsOf(t, repos[0], "refs/croft/")
	if won != many/10 || len(refs) != 2*won {
		t.Errorf("%d of %d went through and made %d refs, want %d and %d", won, many, len(refs), many/10, many/5)
	}
}

func TestSessionsSurviveAKilledProcess(t *testing.T) {
	r := gittest.New(t)
	head := r.Git("rev-parse", "HEAD")
	repo := open(t, r)
	update := func(n int) error {
		return repo.moveByGit(t.Context(), nil, []RefUpdate{{Ref: fmt.Sprintf("refs/croft/%d", n), New: head}})
	}
	if err := update(1); err != nil {
		t.Fatal(err)
	}
	repo.refs.p.Kill()
	if err := update(2); err == nil {
		t.Error("a transaction on a killed git succeeded")
	} else if _, ok := errors.AsType[*Error](err); !ok {
		t.Errorf("%v is no *Error", err)
	}
	if err := update(3); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if refs := refsOf(t, repo, "refs/croft/"); len(refs) != 2 {
		t.Errorf("refs: %v, want 1 and 3", refs)
	}

	if _, err := repo.Read(t.Context(), "HEAD"); err != nil {
		t.Fatal(err)
	}
	repo.objects.p.Kill()
	if o, err := repo.Read(t.Context(), "HEAD"); err != nil || o.OID != head {
		t.Errorf("reading after a kill: %v, %v", o.OID, err)
	}
}

func TestClosedSessionsOpenAgain(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	for range 2 {
		if _, err := repo.Info(t.Context(), "HEAD"); err != nil {
			t.Fatal(err)
		}
		if err := repo.UpdateRefs(t.Context(), RefUpdate{Ref: "refs/none"}); err != nil {
			t.Fatal(err)
		}
		if err := repo.moveByGit(t.Context(), nil, []RefUpdate{{Ref: "refs/none"}}); err != nil {
			t.Fatal(err)
		}
		if err := repo.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSessionsEndAfterManyUses: a process is not kept for ever, and nobody
// notices that there is another one.
func TestSessionsEndAfterManyUses(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	head := r.Git("rev-parse", "HEAD")
	refs, objects := map[*proc.Process]bool{}, map[*proc.Process]bool{}
	for i := range refUses + 1 {
		if err := repo.moveByGit(t.Context(), nil, []RefUpdate{{fmt.Sprint("refs/croft/", i), head, ""}}); err != nil {
			t.Fatal(err)
		}
		if repo.refs.p != nil {
			refs[repo.refs.p] = true
		}
	}
	for range objectUses + 1 {
		if _, err := repo.Info(t.Context(), head); err != nil {
			t.Fatal(err)
		}
		objects[repo.objects.p] = true
	}
	if len(refs) != 2 || len(objects) != 2 {
		t.Errorf("%d and %d processes, want two each", len(refs), len(objects))
	}
	if got := len(refsOf(t, repo, "refs/croft/")); got != refUses+1 {
		t.Errorf("there are %d refs", got)
	}
}

func TestReadObjects(t *testing.T) {
	r := gittest.New(t)
	big := bytes.Repeat([]byte("0123456789abcde\n"), 1<<18) // 4 MB
	for name, text := range map[string]string{
		"big": string(big), "empty": "", "no newline": "x", "name\nnewline": "n", "cr\r": "c", "cr": "not this one", "sp ace": "s", "-dash": "d", "zero": "a\x00b\n",
	} {
		r.Write("odd/"+name, text)
	}
	head := r.Commit("odd")
	repo := open(t, r)
	for name, want := range map[string]string{
		"HEAD:odd/big": string(big), "HEAD:odd/empty": "", "HEAD:odd/no newline": "x", "HEAD:odd/cr\r": "c",
		"HEAD:odd/sp ace": "s", "HEAD:odd/-dash": "d", "HEAD:odd/zero": "a\x00b\n", head + ":README.md": "# app\n",
	} {
		o, err := repo.Read(t.Context(), name)
		if err != nil || o.Type != "blob" || string(o.Data) != want || o.Size != int64(len(want)) {
			t.Errorf("%q: %s of %d bytes, %v, want %d bytes", name, o.Type, o.Size, err, len(want))
		}
		if i, err := repo.Info(t.Context(), name); err != nil || i.OID != o.OID || i.Size != o.Size || i.Data != nil {
			t.Errorf("%q: Info says %v, %v", name, i, err)
		}
	}
	for _, name := range []string{
		"", " ", "nothing", "HEAD:nothing", "HEAD:odd/name\nnewline", "a\x00b", strings.Repeat("1", 40), "two words", "-x", "--all",
		head + " blob", head + " blob 5", "refs/heads/nothing", ":", "HEAD:odd/cr\r\r",
	} {
		if _, err := repo.Read(t.Context(), name); !errors.Is(err, object.ErrMissing) {
			t.Errorf("%q: %v, want ErrNoObject", name, err)
		}
	}
	if o, err := repo.Info(t.Context(), "HEAD"); err != nil || o.OID != head || o.Type != "commit" {
		t.Errorf("afterwards: %v, %v", o, err)
	}
}

func TestReadAmbiguousName(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	seen := map[string]string{} // the first digits of a name → a blob that has it
	prefix := ""
	for i := 0; prefix == ""; i++ {
		text := strconv.Itoa(i)
		oid, err := repo.objectFormat().Deflate(io.Discard, "blob", int64(len(text)), strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		other, twice := seen[oid[:4]]
		if twice {
			prefix = oid[:4]
			for _, b := range []string{text, other} {
				if _, err := repo.WriteBlob([]byte(b)); err != nil {
					t.Fatal(err)
				}
			}
		}
		seen[oid[:4]] = text
	}
	if _, err := repo.Read(t.Context(), prefix); !errors.Is(err, object.ErrMissing) {
		t.Errorf("%s: %v, want ErrNoObject", prefix, err)
	}
	if _, err := repo.ResolveCommit(t.Context(), prefix); !errors.Is(err, ErrNoCommit) {
		t.Errorf("%s: %v, want ErrNoCommit", prefix, err)
	}
	if _, err := repo.Read(t.Context(), "HEAD"); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestReadByMany(t *testing.T) {
	r := gittest.New(t)
	for i := range 20 {
		r.Write(fmt.Sprintf("f%d", i), strings.Repeat(strconv.Itoa(i)+"\n", 1000))
	}
	r.Commit("files")
	repo := open(t, r)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			want := strings.Repeat(strconv.Itoa(i%20)+"\n", 1000)
			if o, err := repo.Read(t.Context(), fmt.Sprintf("HEAD:f%d", i%20)); err != nil || string(o.Data) != want {
				t.Errorf("f%d: %d bytes, %v", i%20, len(o.Data), err)
			}
			if _, err := repo.Info(t.Context(), fmt.Sprintf("HEAD:none%d", i)); !errors.Is(err, object.ErrMissing) {
				t.Errorf("none%d: %v", i, err)
			}
		})
	}
	wg.Wait()
}

func TestResolveCommit(t *testing.T) {
	r := gittest.New(t)
	one := r.Git("rev-parse", "HEAD")
	r.Write("two", "")
	two := r.Commit("two")
	r.Git("tag", "-a", "-m", "x", "v1", one)
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	r.GitIn(w.Path, "checkout", "--quiet", "--detach", one)
	for rev, want := range map[string]string{
		"HEAD": two, "main": two, "refs/heads/main": two, "HEAD~1": one, "v1": one, one: one, one[:10]: one, "main^{/first}": one, "@": two,
	} {
		if got, err := repo.ResolveCommit(t.Context(), rev); err != nil || got != want {
			t.Errorf("%q: %s, %v, want %s", rev, got, err, want)
		}
	}
	for rev, want := range map[string]string{"HEAD": one, "main": two, "HEAD~0": one, "v1": one} {
		if got, err := repo.ResolveCommitAt(t.Context(), w.Admin, rev); err != nil || got != want {
			t.Errorf("in the worktree %q: %s, %v, want %s", rev, got, err, want)
		}
	}
	for _, rev := range []string{"", "nothing", "-h", "--all", "HEAD:README.md", "main..v1", "^main", "a\nb", "a\x00b", "HEAD^{tree}", "@{upstream}"} {
		if got, err := repo.ResolveCommit(t.Context(), rev); !errors.Is(err, ErrNoCommit) {
			t.Errorf("%q: %s, %v, want ErrNoCommit", rev, got, err)
		}
		if got, err := repo.ResolveCommitAt(t.Context(), w.Admin, rev); !errors.Is(err, ErrNoCommit) {
			t.Errorf("in the worktree %q: %s, %v, want ErrNoCommit", rev, got, err)
		}
	}
}

func TestWriteBlob(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			r := gittest.Empty(t)
			if err := os.RemoveAll(filepath.Join(r.Dir, ".git")); err != nil {
				t.Fatal(err)
			}
			r.Git("init", "--quiet", "--object-format="+format)
			repo := open(t, r)
			if want := len(r.Git("hash-object", "-t", "tree", "/dev/null")); len(repo.ZeroOID()) != want {
				t.Errorf("ZeroOID has %d digits, want %d", len(repo.ZeroOID()), want)
			}
			for _, text := range []string{"", "x", "x\r\n", "a\x00b", strings.Repeat("long ", 100_000)} {
				r.Write("file", text)
				want := r.Git("hash-object", "--no-filters", "file")
				for range 2 { // the second time it is there
					got, err := repo.WriteBlob([]byte(text))
					if err != nil || got != want {
						t.Fatalf("%.10q: %s, %v, want %s", text, got, err, want)
					}
				}
				o, err := repo.Read(t.Context(), want)
				if err != nil || string(o.Data) != text {
					t.Errorf("%.10q: reads as %.10q, %v", text, o.Data, err)
				}
				info, err := os.Stat(filepath.Join(r.Dir, ".git", "objects", want[:2], want[2:]))
				if err != nil || info.Mode().Perm()&0o222 != 0 {
					t.Errorf("%.10q: %v, %v: an object can be written", text, info.Mode(), err)
				}
			}
			if out := r.Git("fsck", "--strict", "--full"); strings.Contains(out, "error") {
				t.Error(out)
			}
			left, _ := filepath.Glob(filepath.Join(r.Dir, ".git", "objects", "*", "tmp_obj*"))
			if len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestWriteBlobMakesItYoung: what was garbage until now is needed again.
func TestWriteBlobMakesItYoung(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	oid, err := repo.WriteBlob([]byte("garbage"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(r.Dir, ".git", "objects", oid[:2], oid[2:])
	long := time.Now().Add(-1000 * time.Hour)
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
	if _, err := repo.WriteBlob([]byte("garbage")); err != nil {
		t.Fatal(err)
	}
	r.Git("prune", "--expire=2.weeks.ago")
	if !exists(path) {
		t.Error("git pruned an object that was just written")
	}

	// A power cut leaves empty files, which are no objects.
	if err := errors.Join(os.Chmod(path, 0o644), os.Truncate(path, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := repo.WriteBlob([]byte("garbage")); err != nil {
		t.Fatal(err)
	}
	if got := r.Git("cat-file", "blob", oid); got != "garbage" {
		t.Errorf("reads as %q", got)
	}
}

// stubborn is a git that leaves a child behind and then does not answer. The
// process ids of both are in a file.
func stubborn(t *testing.T, r *gittest.Repo, verb string) (path, pids string) {
	t.Helper()
	pids = filepath.Join(r.Dir, ".git", "objects", "pids") // where a git may write
	path = script(t, filepath.Join(r.Home, "git-wrapper"),
		`for a; do [ "$a" = `+verb+` ] && { sleep 1000 & echo $$ $! > `+pids+`.new; mv `+pids+`.new `+pids+`; wait; }; done; exec git "$@"`)
	return path, pids
}

func TestCancelEndsGitAndItsChildren(t *testing.T) {
	for verb, op := range map[string]func(context.Context, *Repository, *Worktree) error{
		"status": func(ctx context.Context, _ *Repository, w *Worktree) error {
			return drain(w.Status(ctx, UntrackedAll, RefreshNothing))
		},
		"reset":    func(ctx context.Context, _ *Repository, w *Worktree) error { return w.Checkout(ctx, 1) },
		"fetch":    func(ctx context.Context, r *Repository, _ *Worktree) error { return r.Fetch(ctx, "origin") },
		"cat-file": func(ctx context.Context, r *Repository, _ *Worktree) error { _, err := r.Read(ctx, "HEAD"); return err },
	} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			w := addWorktree(t, r, open(t, r), "wt")
			path, pidFile := stubborn(t, r, verb)
			repo := open(t, r, func(o *Options) { o.Path = path })
			w = repo.Linked("croft-wt", w.Path)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 1)
			go func() { done <- op(ctx, repo, w) }()
			var pids []int
			waitFor(t, "the wrapper's children", func() bool {
				b, err := os.ReadFile(pidFile)
				for f := range strings.FieldsSeq(string(b)) {
					pid, _ := strconv.Atoi(f)
					pids = append(pids, pid)
				}
				return err == nil
			})
			begun := time.Now()
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("%v, want context.Canceled", err)
			}
			waitFor(t, "the end of git and of its child", func() bool {
				return !slices.ContainsFunc(pids, func(pid int) bool {
					id := proc.Here()
					id.PID = pid
					return proc.LifeOf(id) != proc.Dead
				})
			})
			if took := time.Since(begun); took > 3*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// waitFor waits until something is so, and fails the test if it never is.
func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !is(); {
		if time.Now().After(deadline) {
			t.Fatalf("waiting for %s took too long", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestEndedContextStartsNothing(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	head := r.Git("rev-parse", "HEAD")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := repo.Read(ctx, "HEAD"); !errors.Is(err, context.Canceled) {
		t.Errorf("Read: %v", err)
	}
	if err := repo.UpdateRefs(ctx, RefUpdate{Ref: "refs/croft/x", New: head}); !errors.Is(err, context.Canceled) {
		t.Errorf("UpdateRefs: %v", err)
	}
	if _, err := repo.List(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("List: %v", err)
	}
	if refs := refsOf(t, repo, "refs/croft/"); len(refs) > 0 {
		t.Errorf("refs: %v", refs)
	}
}
