package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/proc"
)

// restarted gives a workspace the boot ID of an earlier start of the machine, and its files
// times from before the current start.
func restarted(t *testing.T, r *gittest.Repo, w croft.Workspace) {
	t.Helper()
	j := database(t, r)
	update(t, j, func(tx *journal.Tx) error {
		rec, err := tx.Record(w.ID)
		rec.Boot, rec.Verified = "an-earlier-start", ""
		if err != nil {
			return err
		}
		return tx.PutRecord(rec)
	})
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(w.Path, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			err = before(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func before(path string) error {
	long := proc.BootTime().Add(-time.Hour)
	return os.Chtimes(path, long, long)
}

// suspicions returns the messages of the doctor about workspaces.
func suspicions(t *testing.T, e *engine.Engine) []string {
	t.Helper()
	findings, err := e.Doctor(t.Context(), croft.DoctorRequest{Fix: croft.FixAll})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range findings.Findings {
		if f.Code != "WORKSPACE_SUSPECT" || f.Subject != "a" || f.Fixed {
			t.Errorf("the doctor also finds %+v", f)
		}
		out = append(out, f.Message)
	}
	return out
}

// agency returns a repository with a workspace that has committed and uncommitted work.
func agency(t *testing.T) (*gittest.Repo, *engine.Engine, croft.Workspace) {
	t.Helper()
	if proc.Here().Boot == "" {
		t.Skip("this platform does not tell one start from another")
	}
	r := gittest.New(t)
	for _, name := range []string{"top.txt", "src/one.txt", "src/two.txt", "lib/one.txt", "lib/two.txt", "lib/deep/three.txt"} {
		gittest.WriteFile(t, filepath.Join(r.Dir, name), "content of "+name+"\n")
	}
	gittest.WriteFile(t, filepath.Join(r.Dir, "empty.txt"), "")
	gittest.WriteFile(t, filepath.Join(r.Dir, "zero.bin"), strings.Repeat("\x00", 100))
	r.Git("add", "--all")
	r.Git("commit", "--quiet", "-m", "files")
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	gittest.WriteFile(t, filepath.Join(w.Path, "done.txt"), "done\n")
	r.GitIn(w.Path, "add", "--all")
	r.GitIn(w.Path, "commit", "--quiet", "-m", "work")
	gittest.WriteFile(t, filepath.Join(w.Path, "src/one.txt"), "changed\n")
	gittest.WriteFile(t, filepath.Join(w.Path, "new.txt"), "new\n")
	gittest.WriteFile(t, filepath.Join(w.Path, "new-and-empty.txt"), "")
	if err := os.Remove(filepath.Join(w.Path, "lib/one.txt")); err != nil {
		t.Fatal(err)
	}
	return r, e, w
}

// looseObject returns the path of an object that is not in a pack.
func looseObject(t *testing.T, r *gittest.Repo, dir, name string) string {
	t.Helper()
	oid := r.GitIn(dir, "rev-parse", name)
	path := filepath.Join(r.Dir, ".git", "objects", oid[:2], oid[2:])
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestVerifyAfterRestart damages a workspace as a power cut or an interrupted removal does,
// and checks what the doctor says.
func TestVerifyAfterRestart(t *testing.T) {
	t.Parallel()
	write := func(t *testing.T, path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := before(path); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(t *testing.T, w croft.Workspace, names ...string) {
		t.Helper()
		for _, name := range names {
			if err := os.RemoveAll(filepath.Join(w.Path, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	admin := func(r *gittest.Repo, w croft.Workspace, name string) string {
		return filepath.Join(r.Dir, ".git", "worktrees", "croft-"+string(w.ID), name)
	}
	for name, tt := range map[string]struct {
		damage func(t *testing.T, r *gittest.Repo, w croft.Workspace)
		want   []string // parts of the messages
	}{
		"Nothing": {func(*testing.T, *gittest.Repo, croft.Workspace) {}, nil},
		"Emptied": {func(t *testing.T, _ *gittest.Repo, w croft.Workspace) {
			write(t, filepath.Join(w.Path, "src/two.txt"), "")
			write(t, filepath.Join(w.Path, "done.txt"), "")
		}, []string{"done.txt is empty", "src/two.txt is empty"}},
		"EmptiedSince": {func(t *testing.T, _ *gittest.Repo, w croft.Workspace) {
			gittest.WriteFile(t, filepath.Join(w.Path, "src/two.txt"), "")
		}, nil},
		"Zeroes": {func(t *testing.T, _ *gittest.Repo, w croft.Workspace) {
			write(t, filepath.Join(w.Path, "src/two.txt"), strings.Repeat("\x00", 70000))
			write(t, filepath.Join(w.Path, "lib/two.txt"), strings.Repeat("\x00", 70000)+"and text")
		}, []string{"src/two.txt holds nothing but zero bytes"}},
		"ZeroesInANewFile": {func(t *testing.T, _ *gittest.Repo, w croft.Workspace) {
			write(t, filepath.Join(w.Path, "new.txt"), "\x00\x00\x00\x00")
		}, []string{"new.txt, which was never committed"}},
		"MostFilesMissing": {func(t *testing.T, _ *gittest.Repo, w croft.Workspace) {
			remove(t, w, "top.txt", "src/one.txt", "lib/two.txt", "empty.txt", "done.txt")
		}, []string{"6 of its 11 files are missing"}},
		"ADirectoryMissing": {func(t *testing.T, _ *gittest.Repo, w croft.Workspace) {
			remove(t, w, "src")
		}, []string{"All 3 files of src are missing"}},
		"SomeFilesMissing": {func(t *testing.T, _ *gittest.Repo, w croft.Workspace) {
			remove(t, w, "src/one.txt", "top.txt")
		}, nil},
		"DeletionsStaged": {func(t *testing.T, r *gittest.Repo, w croft.Workspace) {
			r.GitIn(w.Path, "rm", "-rq", "--force", "src", "lib")
		}, nil},
		"IndexEmpty": {func(t *testing.T, r *gittest.Repo, w croft.Workspace) {
			write(t, admin(r, w, "index"), "")
		}, []string{"index is not whole"}},
		"IndexTorn": {func(t *testing.T, r *gittest.Repo, w croft.Workspace) {
			b := read(t, admin(r, w, "index"))
			write(t, admin(r, w, "index"), b[:len(b)-40]+strings.Repeat("\x00", 20)+b[len(b)-20:])
		}, []string{"index is not whole"}},
		"IndexGone": {func(t *testing.T, r *gittest.Repo, w croft.Workspace) {
			if err := os.Remove(admin(r, w, "index")); err != nil {
				t.Fatal(err)
			}
		}, []string{"Its git directory was damaged"}},
		"HeadEmpty": {func(t *testing.T, r *gittest.Repo, w croft.Workspace) {
			write(t, admin(r, w, "HEAD"), "")
		}, []string{"HEAD is not whole"}},
		"CommitEmpty": {func(t *testing.T, r *gittest.Repo, w croft.Workspace) {
			write(t, looseObject(t, r, w.Path, "HEAD"), "")
		}, []string{"Its last commit"}},
		"FileObjectEmpty": {func(t *testing.T, r *gittest.Repo, w croft.Workspace) {
			write(t, looseObject(t, r, w.Path, "HEAD:done.txt"), "")
		}, []string{"which its commits consist of, cannot be read"}},
		"TreeGone": {func(t *testing.T, r *gittest.Repo, w croft.Workspace) {
			if err := os.Remove(looseObject(t, r, w.Path, "HEAD^{tree}")); err != nil {
				t.Fatal(err)
			}
		}, []string{"Something that its commits consist of is missing"}},
		"StagedObjectEmpty": {func(t *testing.T, r *gittest.Repo, w croft.Workspace) {
			r.GitIn(w.Path, "add", "new.txt")
			write(t, looseObject(t, r, w.Path, ":new.txt"), "")
		}, []string{"What the index has of new.txt cannot be read"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, e, w := agency(t)
			restarted(t, r, w)
			tt.damage(t, r, w)
			got := suspicions(t, e)
			if len(got) != len(tt.want) {
				t.Fatalf("the doctor says %q, want %q", got, tt.want)
			}
			for i, want := range tt.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("the doctor says %q, want %q", got[i], want)
				}
			}
		})
	}
}

// TestVerifiedOnce: a workspace that was found good counts as good until the next start of
// the machine, also when an agent works in it again; one that was found bad is examined
// again.
func TestVerifiedOnce(t *testing.T) {
	t.Parallel()
	r, e, w := agency(t)
	restarted(t, r, w)
	if got := suspicions(t, e); len(got) != 0 {
		t.Fatalf("the doctor says %q", got)
	}
	if got := show(t, e, "a"); got.State != croft.Stopped {
		t.Errorf("it is %s: looking at it starts nothing", got.State)
	}
	if err := os.RemoveAll(filepath.Join(w.Path, "src")); err != nil {
		t.Fatal(err)
	}
	if got := suspicions(t, e); len(got) != 0 {
		t.Errorf("the doctor looks at an agent's own deletions: %q", got)
	}
	restarted(t, r, w)
	if got := suspicions(t, e); len(got) != 1 {
		t.Errorf("after another start the doctor says %q", got)
	}
	// An agent works in it before it was examined.
	lease, err := e.TakeLease(t.Context(), croft.LeaseRequest{Workspace: string(w.ID)})
	if err != nil {
		t.Fatal(err)
	}
	if got := show(t, e, "a"); got.State != croft.Ready {
		t.Errorf("held again, it is %s", got.State)
	}
	if got := suspicions(t, e); len(got) != 1 {
		t.Errorf("once it is held again the doctor says %q", got)
	}
	r.GitIn(w.Path, "checkout", "--quiet", "--", "src")
	if got := suspicions(t, e); len(got) != 0 {
		t.Errorf("once it is mended the doctor says %q", got)
	}
	if _, err := e.Release(t.Context(), croft.ReleaseRequest{Lease: lease.ID}); err != nil {
		t.Fatal(err)
	}
	// Removing and restoring a workspace does not make it count as good.
	restarted(t, r, w)
	if err := os.RemoveAll(filepath.Join(w.Path, "src")); err != nil {
		t.Fatal(err)
	}
	if res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce}); err != nil || len(res.Removed) != 1 {
		t.Fatalf("Remove = %+v, %v", res, err)
	}
	if _, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: "a"}); err != nil {
		t.Fatal(err)
	}
	if got := suspicions(t, e); len(got) != 1 {
		t.Errorf("once it is restored the doctor says %q", got)
	}
}
