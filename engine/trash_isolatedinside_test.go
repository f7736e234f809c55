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
)

// gcOfInside removes the isolated workspace a, lets its time pass, and returns why gc keeps
// its directory, or "" if gc deletes it.
func gcOfInside(t *testing.T, r *gittest.Repo, e *engine.Engine, w croft.Workspace) string {
	t.Helper()
	if res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce}); err != nil || len(res.Removed) != 1 {
		t.Fatalf("Remove: %+v, %v", res, err)
	}
	res, err := engineIn(t, r, 8*24*time.Hour, "trash.notice", "0s").GC(t.Context(), croft.GCRequest{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Lstat(trashedAt(r, w))
	if (err == nil) != (len(res.Kept) == 1) {
		t.Fatalf("the directory: %v; gc: %+v", err, res)
	}
	if len(res.Kept) == 0 {
		return ""
	}
	if hint := "croft restore " + string(w.ID); !strings.Contains(res.Kept[0].Reason.Hint, hint) {
		t.Errorf("the hint is %q, want %q", res.Kept[0].Reason.Hint, hint)
	}
	items, err := e.Trash(t.Context(), croft.TrashRequest{})
	if err != nil || len(items.Items) != 1 || items.Items[0].Stays != res.Kept[0].Reason.Details {
		t.Errorf("trash %+v, %v, want one that stays because of %q", items, err, res.Kept[0].Reason.Details)
	}
	return res.Kept[0].Reason.Details
}

// TestSubmoduleCommitsStayInTheTrash: commits in a submodule of an isolated workspace are
// only in its own git directory, so gc keeps the directory. gc deletes one without such
// commits.
func TestSubmoduleCommitsStayInTheTrash(t *testing.T) {
	t.Parallel()
	for name, work := range map[string]func(r *gittest.Repo, sub string){
		"none":   func(*gittest.Repo, string) {},
		"branch": func(r *gittest.Repo, sub string) { r.GitIn(sub, "commit", "--quiet", "--allow-empty", "-m", "more") },
		"detached": func(r *gittest.Repo, sub string) {
			r.GitIn(sub, "checkout", "--quiet", "--detach")
			r.GitIn(sub, "commit", "--quiet", "--allow-empty", "-m", "more")
		},
		"amended away": func(r *gittest.Repo, sub string) {
			r.GitIn(sub, "commit", "--quiet", "--allow-empty", "-m", "more")
			r.GitIn(sub, "reset", "--quiet", "--hard", "HEAD~1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, e, w := isolated(t)
			lib := gittest.New(t)
			r.GitIn(w.Path, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib.Dir, "sub")
			r.GitIn(w.Path, "commit", "--quiet", "-m", "sub")
			work(r, filepath.Join(w.Path, "sub"))
			why := gcOfInside(t, r, e, w)
			if (why == "") != (name == "none") || why != "" && !strings.Contains(why, `commits of the submodule "sub" are only there`) {
				t.Errorf("it stays because of %q", why)
			}
		})
	}
}

// TestInnerWorktreeStaysInTheTrash: of a worktree that the agent added to its own git
// directory, only the checked-out commit is pulled. While the worktree has other work, gc
// keeps the directory.
func TestInnerWorktreeStaysInTheTrash(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{
		"none": "", "MERGE_HEAD": "MERGE_HEAD", "CHERRY_PICK_HEAD": "CHERRY_PICK_HEAD", "REVERT_HEAD": "REVERT_HEAD",
		"rebase-merge": "rebase-merge/onto", "rebase-apply": "rebase-apply/onto", "BISECT_LOG": "BISECT_LOG", "refs": "refs/worktree/own",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, e, w := isolated(t)
			inner := filepath.Join(t.TempDir(), "inner")
			r.GitIn(w.Path, "worktree", "add", "--quiet", "--detach", inner)
			commit := commitIn(t, r, inner, "inner")
			if file != "" {
				gittest.WriteFile(t, filepath.Join(w.Path, ".git", "worktrees", "inner", filepath.FromSlash(file)), commit+"\n")
			}
			why := gcOfInside(t, r, e, w)
			if (why == "") != (file == "") || !strings.Contains(why, strings.TrimPrefix(name, "none")) {
				t.Errorf("it stays because of %q", why)
			}
		})
	}
}
