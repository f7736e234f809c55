package git

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/odb"
)

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
	seen := map[string]string{} // the first digits of an object's name → a blob that has them
	prefix := ""
	for i := 0; prefix == ""; i++ {
		text := strconv.Itoa(i)
		oid, err := repo.ObjectFormat().Deflate(io.Discard, "blob", int64(len(text)), strings.NewReader(text))
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
	if _, err := repo.ResolveCommit(t.Context(), prefix); !errors.Is(err, odb.ErrNoCommit) {
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
		if got, err := repo.ResolveCommit(t.Context(), rev); !errors.Is(err, odb.ErrNoCommit) {
			t.Errorf("%q: %s, %v, want ErrNoCommit", rev, got, err)
		}
		if got, err := repo.ResolveCommitAt(t.Context(), w.Admin, rev); !errors.Is(err, odb.ErrNoCommit) {
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
				for range 2 { // the second time it exists
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

// TestWriteBlobFreshensObject: writing a blob that exists as garbage gives it a new time.
func TestWriteBlobFreshensObject(t *testing.T) {
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

	// A power cut leaves empty files, which do not count as objects.
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
