//go:build unix

package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitconfig"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/object"
)

// inTime fails if f takes longer than any git call does.
func inTime(t *testing.T, what string, f func() error) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- f() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(20 * time.Second):
		t.Fatalf("%s hangs", what)
		return nil
	}
}

// TestPipesDoNotHang puts a pipe, and a link to another user's file, in the place of every
// file that git or Croft opens.
func TestPipesDoNotHang(t *testing.T) {
	for _, name := range []string{
		"config", "info/exclude", "info/attributes", "shallow", "HEAD", "index", "objects/info/alternates", "refs/heads/zz",
		"worktrees/croft-wt/HEAD", "worktrees/croft-wt/index", "worktrees/croft-wt/commondir", "worktrees/croft-wt/gitdir",
		"worktrees/croft-wt/MERGE_HEAD", "worktrees/croft-wt/locked", "worktrees/croft-wt/logs/HEAD", "worktrees/croft-wt/config.worktree",
		"worktrees/croft-wt/FETCH_HEAD",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			repo := open(t, r)
			w := addWorktree(t, r, repo, "wt")
			gittest.WriteFile(t, filepath.Join(w.Path, "new.txt"), "new\n")
			file := filepath.Join(r.Dir, ".git", filepath.FromSlash(name))
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.RemoveAll(file), syscall.Mkfifo(file, 0o644)); err != nil {
				t.Fatal(err)
			}
			ctx := t.Context()
			one := func(_ any, err error) error { return err }
			for what, do := range map[string]func() error{
				"status":   func() error { return drain(w.Status(ctx, UntrackedAll, RefreshIndex)) },
				"discover": func() error { return one(gitdir.Discover(w.Path)) },
				"main":     func() error { return drain(repo.Main().Status(ctx, UntrackedAll, RefreshNothing)) },
				"pending":  func() error { return one(w.Pending(ctx)) },
				"index":    func() error { return one(w.Index(ctx)) },
				"admin":    w.CheckAdmin,
				"refs":     func() error { return one(repo.ReadRef(ctx, "refs/heads/zz")) },
				"list":     func() error { return one(repo.List(ctx)) },
				"commit": func() error {
					return one(w.CommitWork(ctx, Work{Branch: "wt", Paths: []string{"new.txt"}, Commit: object.Commit{Signature: object.Signature("A <a@b>", time.Unix(1, 0)), Message: "m"}}))
				},
				"lend":   func() error { return one(repo.AssignStore(ctx, "croft-x")) },
				"links":  func() error { return one(repo.readSpecialEntries(ctx, w.location())) },
				"hosts":  func() error { repo.Hosts("wt"); index.Count(w.Admin); return nil },
				"reopen": func() error { return one(Open(gitcmd.New(options(r)), r.Dir)) },
			} {
				_ = inTime(t, what, do)
			}
			if name == "config" || name == "info/exclude" || name == "shallow" {
				if err := drain(w.Status(ctx, UntrackedAll, RefreshNothing)); !errors.Is(err, gitconfig.ErrConfig) || !errors.Is(err, fsx.ErrNotRegular) {
					t.Errorf("status: %v, want ErrConfig", err)
				}
			}
			if strings.HasSuffix(name, "croft-wt/HEAD") || strings.HasSuffix(name, "croft-wt/index") {
				if err := drain(w.Status(ctx, UntrackedAll, RefreshNothing)); !errors.Is(err, fsx.ErrNotPlain) {
					t.Errorf("status: %v, want ErrNotPlain", err)
				}
			}
		})
	}
}

// TestPipeAsIncludeIsNotOpened makes the configuration include a pipe, through which a
// filter is sent to each reader.
func TestPipeAsIncludeIsNotOpened(t *testing.T) {
	v := newVictim(t)
	pipe := filepath.Join(v.Home, "pipe")
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	v.Git("config", "include.path", pipe)
	gittest.WriteFile(t, filepath.Join(v.Dir, ".git", "more"), "[include]\n\tpath = "+pipe+"\n")
	gittest.WriteFile(t, filepath.Join(v.Dir, ".git", "config"), readFile(t, filepath.Join(v.Dir, ".git", "config"))+"[include]\n\tpath = more\n")
	payload := []byte(v.payload(t, "piped"))
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		// This blocks until a process opens the pipe for reading, for however short.
		if f, err := os.OpenFile(pipe, os.O_WRONLY, 0); err == nil {
			_, _ = f.Write(payload)
			_ = f.Close()
		}
	}()
	for i := range raceRuns() / 10 {
		v.disturb(t)
		_ = inTime(t, "status", func() error { return drain(v.wt.Status(t.Context(), UntrackedAll, RefreshNothing)) })
		_ = inTime(t, "commit", func() error {
			_, err := v.wt.CommitWork(t.Context(), Work{Branch: onBranch(t, v.wt), Paths: []string{"new.txt"}, Commit: object.Commit{Signature: object.Signature("A <a@b>", time.Unix(1, 0)), Message: "m"}})
			return err
		})
		if ran := v.sang(t); len(ran) > 0 {
			t.Fatalf("run %d: %v ran", i, ran)
		}
	}
	select {
	case <-opened:
		t.Error("the pipe was opened")
	default:
		f, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		<-opened
		_ = f.Close()
	}
}
