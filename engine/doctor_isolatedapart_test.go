//go:build unix

package engine_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestHintForDivergedIsolatedBranch: the branch of an isolated workspace cannot follow the
// agent's branch, because Croft's sync state is lost and the agent amended a commit, or
// because another process moved the branch. The error and the doctor give the same hint: a
// command after which the work can be merged.
func TestHintForDivergedIsolatedBranch(t *testing.T) {
	t.Parallel()
	for kind, tear := range map[string]func(t *testing.T, r *gittest.Repo, w croft.Workspace){
		"empty": func(t *testing.T, r *gittest.Repo, w croft.Workspace) {
			for _, file := range syncStates(t, r) {
				gittest.WriteFile(t, file, "")
			}
			r.GitIn(w.Path, "commit", "--quiet", "--amend", "-m", "amended")
		},
		"lost": func(t *testing.T, r *gittest.Repo, w croft.Workspace) {
			for _, file := range syncStates(t, r) {
				if err := os.RemoveAll(filepath.Dir(file)); err != nil {
					t.Fatal(err)
				}
			}
			r.GitIn(w.Path, "commit", "--quiet", "--amend", "-m", "amended")
		},
		"moved": func(t *testing.T, r *gittest.Repo, w croft.Workspace) {
			r.Git("update-ref", "refs/heads/"+w.Branch, r.Git("commit-tree", "-p", "main", "-m", "another's", "main^{tree}"))
			r.GitIn(w.Path, "commit", "--quiet", "--amend", "-m", "amended")
		},
		"unmoved": func(t *testing.T, r *gittest.Repo, w croft.Workspace) {
			r.Git("update-ref", "refs/heads/"+w.Branch, r.Git("commit-tree", "-p", "main", "-m", "another's", "main^{tree}"))
			gittest.WriteFile(t, filepath.Join(w.Path, "more.txt"), "more\n")
			r.GitIn(w.Path, "add", "more.txt")
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r, e, w := isolated(t)
			if _, err := e.Status(t.Context(), croft.StatusRequest{Workspace: w.ID}); err != nil {
				t.Fatal(err)
			}
			tear(t, r, w)
			_, err := e.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a"})
			refused, ok := errors.AsType[*croft.Error](err)
			if !ok || refused.Code != croft.WrongBranch {
				t.Fatalf("Merge: %v", err)
			}
			command := refused.Hint
			list, err := e.Doctor(t.Context(), croft.DoctorRequest{})
			if err != nil || len(list.Findings) != 1 || list.Findings[0].Code != "BRANCH_APART" || list.Findings[0].CanFix || !strings.Contains(list.Findings[0].Message, command) {
				t.Errorf("the doctor finds %+v, %v, want %q", list, err, command)
			}
			cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
			cmd.Dir, cmd.Env = w.Path, r.Env
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v: %s", command, err, out)
			}
			if _, err := e.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a"}); err != nil {
				t.Fatalf("after %s: %v", command, err)
			}
			if _, err := e.DriveLanes(t.Context(), croft.DriveRequest{}); err != nil {
				t.Fatal(err)
			}
			if got := r.Git("show", "main:work.txt"); got != "work" {
				t.Errorf("work.txt landed as %q", got)
			}
			if list, err := e.Doctor(t.Context(), croft.DoctorRequest{}); err != nil || len(list.Findings) != 0 {
				t.Errorf("afterwards the doctor finds %+v, %v", list, err)
			}
		})
	}
}

// syncStates lists the files in which Croft records what it last pulled from isolated
// workspaces.
func syncStates(t *testing.T, r *gittest.Repo) []string {
	t.Helper()
	for _, v := range r.Env {
		if dir, ok := strings.CutPrefix(v, "CROFT_STATE_DIR="); ok {
			list, err := filepath.Glob(filepath.Join(dir, "repos", "*", "synced", "*", "state"))
			if err != nil || len(list) == 0 {
				t.Fatalf("states in %s: %v, %v", dir, list, err)
			}
			return list
		}
	}
	t.Fatal("no state directory")
	return nil
}
