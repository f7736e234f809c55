package isolated

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// FuzzRefFile: an agent can write the files of refs and HEAD. No name that is read from
// them leads out of the directory of refs.
func FuzzRefFile(f *testing.F) {
	for _, seed := range []string{"ref: refs/heads/main\n", strings.Repeat("a", 40) + "\n", "ref:refs/../../x", "ref: /etc/passwd", "ref: refs/heads/a\x00b", ""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text, next := gitdir.ParseRefFile(data)
		if next != "" && object.IsOID(text) {
			t.Errorf("%q is an object and a ref", data)
		}
		if gitdir.CanBeRef(next) {
			if path := filepath.Join("/r", filepath.FromSlash(next)); !strings.HasPrefix(path, "/r/") || strings.ContainsAny(next, "\x00\n") {
				t.Errorf("%q may be a ref", next)
			}
		}
	})
}

// FuzzReflog: an agent can write the reflog of HEAD.
func FuzzReflog(f *testing.F) {
	oid := strings.Repeat("ab", 20)
	f.Add([]byte(oid + " " + oid + " A <a@b> 1 +0000\tcommit: x\n"))
	f.Add([]byte("\n\n \n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if n := len(worktree.ReflogOIDs(data)); n > 2*worktree.ReflogKept+1 {
			t.Errorf("%d objects", n)
		}
	})
}

// FuzzPrivateState: an agent can write HEAD, packed-refs and a ref of its own git
// directory. The result has only valid names of refs and objects.
func FuzzPrivateState(f *testing.F) {
	oid := strings.Repeat("ab", 20)
	f.Add([]byte("ref: refs/heads/x\n"), []byte(oid+" refs/heads/x\n"), []byte(oid+"\n"))
	f.Add([]byte(oid+"\n"), []byte("# pack-refs\n^"+oid), []byte("ref: refs/heads/../../x"))
	f.Fuzz(func(t *testing.T, head, packed, loose []byte) {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "refs", "heads"), 0o755); err != nil {
			t.Fatal(err)
		}
		for name, data := range map[string][]byte{"HEAD": head, "packed-refs": packed, "refs/heads/loose": loose} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		p := &private{w: repositoryAt(dir).WorktreeOf(worktree.Worktree{Path: dir}), root: root}
		s, err := p.state()
		if err != nil {
			if _, ok := errors.AsType[*PrivateError](err); !ok {
				t.Errorf("error %v", err)
			}
			return
		}
		for name, oid := range s.Refs {
			if !gitdir.CanBeRef(name) || !strings.HasPrefix(name, "refs/") || !object.IsOID(oid) {
				t.Errorf("%q is %q", name, oid)
			}
		}
		if ref, ok := strings.CutPrefix(s.Head, "ref: "); ok && !gitdir.CanBeRef(ref) || !ok && !object.IsOID(s.Head) {
			t.Errorf("HEAD is %q", s.Head)
		}
		p.pendingOIDs()
	})
}

// FuzzGitFiles: an agent can write the .git file of its workspace, the gitdir and commondir
// of an admin directory, and the pointer of an isolated checkout.
func FuzzGitFiles(f *testing.F) {
	f.Add([]byte("gitdir: ../x\n"))
	f.Add([]byte("gitdir: \n"))
	f.Add([]byte("admin: /x/y\n"))
	f.Add([]byte("../..\n\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		for _, name := range []string{".git", "commondir", worktree.PointerFile} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := gitdir.ReadGitFile(filepath.Join(dir, ".git")); err == nil && !filepath.IsAbs(got) {
			t.Errorf("the git directory is %q", got)
		}
		if got, err := gitdir.ReadCommonDir(dir); err == nil && !filepath.IsAbs(got) {
			t.Errorf("the common directory is %q", got)
		}
		w := repositoryAt(dir).WorktreeOf(worktree.Worktree{Admin: gitcmd.IsolatedDir(dir, "croft-0"), Path: dir})
		if err := os.Mkdir(filepath.Join(dir, "x"), 0o700); err == nil && w.OwnsIsolated(filepath.Join(dir, "x")) {
			t.Error("a directory without a pointer is owned")
		}
	})
}

// repositoryAt is a repository of which only Croft's own directory is known.
func repositoryAt(dir string) *Repository {
	core := gitcmd.NewRepository(gitcmd.New(gitcmd.Options{}), gitdir.Place{}, dir)
	return New(mergetree.New(refs.New(odb.New(core))))
}
