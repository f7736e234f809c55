package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/proc"
)

// stubborn is a git that starts a child and then does not answer. Both process IDs are in a
// file.
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
			repo := open(t, r, func(o *gitcmd.Options) { o.Path = path })
			w = repo.Linked("croft-wt", w.Path)
			gittest.WriteFile(t, filepath.Join(w.Path, "new"), "git is not needed to know that nothing is new\n")
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

// waitFor waits until a condition holds, and fails the test if it never does.
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
	if err := repo.UpdateRefs(ctx, refs.Update{Ref: "refs/croft/x", New: head}); !errors.Is(err, context.Canceled) {
		t.Errorf("UpdateRefs: %v", err)
	}
	if _, err := repo.List(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("List: %v", err)
	}
	if all, err := repo.Refs(t.Context(), "refs/croft/"); err != nil || len(all) > 0 {
		t.Errorf("refs: %v, %v", all, err)
	}
}
