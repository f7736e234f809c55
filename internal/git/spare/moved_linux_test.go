package spare_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/spare"
)

// TestCompareMoved: what git wrote is compared without git, and the index proves each file afterwards. Where a file may be
// converted, git compares; what differs is found.
func TestCompareMoved(t *testing.T) {
	const before, after = "one\n", "two\n"
	for name, tt := range map[string]struct {
		content string                            // of a file that is written, in the second commit
		harm    func(t *testing.T, s *spare.Tree) // after it was written
		gits    int                               // that compare
		differs bool
	}{
		"nothing differs":          {content: after},
		"carriage returns":         {content: "two\r\n", gits: 3},
		"a file that git wrote":    {content: after, harm: write("dir/a", before), gits: 3, differs: true},
		"a file that it did not":   {content: after, harm: write("same", "evil\n"), gits: 3, differs: true},
		"a file of the same time":  {content: after, harm: writeKeepingTime("dir/a", "TWO\n"), gits: 3, differs: true},
		"a file that is not known": {content: after, harm: write("dir/other", "evil\n"), gits: 3, differs: true},
		"one that is ignored":      {content: after, harm: write("ignored", "evil\n"), gits: 3, differs: true},
		"a file that is gone":      {content: after, harm: remove("same"), gits: 3, differs: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			r.Write(".gitignore", "ignored\n")
			r.Write("same", "same\n")
			r.Write("dir/a", before)
			first := r.Commit("first")
			r.Write("dir/a", tt.content)
			r.Write("z-added", "added\n")
			second := r.Commit("second")
			log, script := filepath.Join(r.Home, "log"), filepath.Join(r.Home, "git")
			gittest.WriteFile(t, script, "#!/bin/sh\n[ -z \"$GIT_INDEX_FILE\" ] || echo \"$@\" >>"+log+"\nexec git \"$@\"\n")
			must(t, os.Chmod(script, 0o700))
			repo, err := git.Open(gitcmd.New(gitcmd.Options{Environ: r.Env, ConfigDir: filepath.Join(r.Home, "state", "git"), Path: script, Unfenced: true}), r.Dir)
			must(t, err)
			defer repo.Close()
			dir := r.Beside("spare")
			must(t, os.Mkdir(dir, 0o700))
			id, err := fsx.IdentityOf(dir)
			must(t, err)
			s := &spare.Tree{Repo: repo.Repository.Repository, Path: dir, Identity: id, Index: r.Beside("index")}
			must(t, s.Fill(t.Context(), first, 1))
			must(t, s.Settle(t.Context(), time.Now()))
			must(t, s.MoveTo(t.Context(), first, second, 1))
			must(t, os.Remove(log))
			if tt.harm != nil {
				tt.harm(t, s)
			}
			if err := s.CompareMoved(t.Context()); (err != nil) != tt.differs {
				t.Errorf("CompareMoved = %v", err)
			}
			ran, _ := os.ReadFile(log)
			if got := strings.Count(string(ran), "\n"); got != tt.gits {
				t.Errorf("%d gits compare, want %d:\n%s", got, tt.gits, ran)
			}
			if tt.differs || tt.gits > 0 {
				return
			}
			index, err := os.Stat(s.Index)
			must(t, err)
			for _, file := range []string{"same", "dir/a", "z-added"} {
				info, err := os.Stat(filepath.Join(dir, file))
				if err != nil || info.ModTime().Unix() >= index.ModTime().Unix() {
					t.Errorf("%s is as young as the index: %v", file, err)
				}
			}
		})
	}
}

// TestCompareMovedConverts: a file that git writes as it is committed, and would not stage so, is not taken for unchanged.
func TestCompareMovedConverts(t *testing.T) {
	for name, tt := range map[string]struct{ file, attributes, content string }{
		"an $Id$ of another system":  {".gitattributes", "* ident\n", "$Id: by somebody else $\n"},
		"another encoding":           {".gitattributes", "dir/b working-tree-encoding=UTF-16\n", "\xff\xfeh\x00i\x00\n\x00"},
		"attributes of a repository": {".git/info/attributes", "* ident\n", "$Id: by somebody else $\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			r.Write(tt.file, tt.attributes)
			r.Write("dir/a", "one\n")
			first := r.Commit("first")
			blob := r.Beside("blob")
			gittest.WriteFile(t, blob, tt.content)
			r.Git("update-index", "--add", "--cacheinfo", "100644,"+r.Git("hash-object", "-w", "--no-filters", blob)+",dir/b")
			r.Git("commit", "--quiet", "--message=second")
			second := r.Git("rev-parse", "HEAD")
			repo, err := git.Open(gitcmd.New(gitcmd.Options{Environ: r.Env, ConfigDir: filepath.Join(r.Home, "state", "git")}), r.Dir)
			must(t, err)
			defer repo.Close()
			dir := r.Beside("spare")
			must(t, os.Mkdir(dir, 0o700))
			id, err := fsx.IdentityOf(dir)
			must(t, err)
			s := &spare.Tree{Repo: repo.Repository.Repository, Path: dir, Identity: id, Index: r.Beside("index")}
			must(t, s.Fill(t.Context(), first, 1))
			must(t, s.Settle(t.Context(), time.Now()))
			must(t, s.MoveTo(t.Context(), first, second, 1))
			if err := s.CompareMoved(t.Context()); !errors.Is(err, spare.ErrDiffers) {
				t.Errorf("CompareMoved = %v", err)
			}
		})
	}
}

func write(file, content string) func(*testing.T, *spare.Tree) {
	return func(t *testing.T, s *spare.Tree) {
		t.Helper()
		gittest.WriteFile(t, filepath.Join(s.Path, file), content)
	}
}

// writeKeepingTime writes as many bytes, and puts the time of the file back.
func writeKeepingTime(file, content string) func(*testing.T, *spare.Tree) {
	return func(t *testing.T, s *spare.Tree) {
		t.Helper()
		info, err := os.Stat(filepath.Join(s.Path, file))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(s.Path, file), []byte(content), 0o600))
		must(t, os.Chtimes(filepath.Join(s.Path, file), info.ModTime(), info.ModTime()))
	}
}

func remove(file string) func(*testing.T, *spare.Tree) {
	return func(t *testing.T, s *spare.Tree) {
		t.Helper()
		must(t, os.Remove(filepath.Join(s.Path, file)))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
