//go:build unix

package spare_test

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/spare"
)

// replaceObject gives an object another content under its name, and returns what puts the true one back.
func replaceObject(t *testing.T, r *gittest.Repo, oid, kind, content string) (restore func()) {
	t.Helper()
	file := filepath.Join(r.Dir, ".git", "objects", oid[:2], oid[2:])
	was, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	fmt.Fprintf(z, "%s %d\x00%s", kind, len(content), content)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	write := func(data []byte) {
		_ = os.Remove(file)
		gittest.WriteFile(t, file, string(data))
	}
	write(b.Bytes())
	return func() { write(was) }
}

// TestForgedObjects: an agent replaces an object while git writes a spare, and puts the true one back. The spare is
// refused, also where git took so long that the index is younger than the files by seconds, so that git itself believes
// their times.
func TestForgedObjects(t *testing.T) {
	for what, forge := range map[string]func(r *gittest.Repo) (oid, kind, content string){
		"a file": func(r *gittest.Repo) (oid, kind, content string) {
			return r.Git("rev-parse", "HEAD:dir/a"), "blob", "evil\n"
		},
		"a directory": func(r *gittest.Repo) (oid, kind, content string) {
			evil, _ := r.TryGit(r.Dir, "cat-file", "tree", "evil:dir")
			return r.Git("rev-parse", "HEAD:dir"), "tree", evil
		},
		"the commit": func(r *gittest.Repo) (oid, kind, content string) {
			return r.Git("rev-parse", "HEAD"), "commit", r.Git("cat-file", "commit", "evil") + "\n"
		},
		"nothing": nil,
	} {
		t.Run(what, func(t *testing.T) {
			r := gittest.New(t)
			r.Branch("evil", map[string]string{"dir/a": "evil\n"})
			r.Write("dir/a", "a\n")
			first := r.Commit("first")
			r.Write("dir/a", "good\n")
			second := r.Commit("second")
			repo, err := git.Open(gitcmd.New(gitcmd.Options{Environ: r.Env, ConfigDir: filepath.Join(r.Home, "state", "git")}), r.Dir)
			if err != nil {
				t.Fatal(err)
			}
			defer repo.Close()
			for how, write := range map[string]func(s *spare.Tree) error{
				"filled": func(s *spare.Tree) error { return s.Fill(t.Context(), second, 1) },
				"moved": func(s *spare.Tree) error {
					return errors.Join(s.Fill(t.Context(), first, 1), s.MoveTo(t.Context(), first, second, 1))
				},
			} {
				dir := r.Beside(how)
				if err := os.Mkdir(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				id, err := fsx.IdentityOf(dir)
				if err != nil {
					t.Fatal(err)
				}
				s := &spare.Tree{Repo: repo.Repository.Repository, Path: dir, Identity: id, Index: r.Beside("index-" + how)}
				restore := func() {}
				if forge != nil {
					oid, kind, content := forge(r)
					restore = replaceObject(t, r, oid, kind, content)
				}
				err = write(s)
				restore()
				if err == nil {
					later := time.Now().Add(3 * time.Second)
					if err := os.Chtimes(s.Index, later, later); err != nil {
						t.Fatal(err)
					}
					err = s.Settle(t.Context(), time.Now())
				}
				if (err != nil) != (forge != nil) {
					t.Errorf("%s: %v", how, err)
				}
			}
		})
	}
}
