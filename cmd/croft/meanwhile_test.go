package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/connect"
	"github.com/croft-sh/croft/internal/cli"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// person answers yes to every question, after a pause in which a test can change something.
type person struct {
	meanwhile func()
	answers   io.Reader
}

func (p *person) Read(b []byte) (int, error) {
	if p.meanwhile != nil {
		p.meanwhile()
		p.meanwhile = nil
	}
	return p.answers.Read(b)
}

// TestYesTakesWhatWasShown: while the user reads the question, another process creates a
// workspace, queues a merge, and writes to a workspace that was clean. The yes covers none
// of that.
func TestYesTakesWhatWasShown(t *testing.T) {
	t.Parallel()
	type stage struct {
		t   *testing.T
		r   *gittest.Repo
		svc croft.Service
	}
	create := func(s stage, name string) croft.Workspace {
		w, err := s.svc.Create(s.t.Context(), croft.CreateRequest{Name: name})
		if err != nil {
			s.t.Fatal(err)
		}
		return *w
	}
	work := func(s stage, w croft.Workspace) { gittest.WriteFile(s.t, filepath.Join(w.Path, "work"), w.Name) }
	pending := func(s stage, name string) croft.Workspace {
		w := create(s, name)
		gittest.WriteFile(s.t, filepath.Join(w.Path, name), name)
		s.r.GitIn(w.Path, "add", "--all")
		s.r.GitIn(w.Path, "commit", "--quiet", "-m", name)
		if _, err := s.svc.SubmitMerge(s.t.Context(), croft.MergeRequest{Workspace: name}); err != nil {
			s.t.Fatal(err)
		}
		return w
	}
	tests := []struct {
		args      string
		make      func(s stage, name string) croft.Workspace
		meanwhile func(s stage, a, b croft.Workspace)
		exit      int
		live      []string // workspaces
		waiting   []string // merges
	}{
		{
			args: "remove --all", make: create, exit: croft.ExitRefused, live: []string{"b", "c"},
			meanwhile: func(s stage, _, b croft.Workspace) { work(s, create(s, "c")); work(s, b) },
		},
		{
			args: "clean --all", make: create, exit: croft.ExitRefused, live: []string{"b", "c"},
			meanwhile: func(s stage, _, b croft.Workspace) { work(s, create(s, "c")); work(s, b) },
		},
		{
			args: "reap --older-than 1ns", make: create, live: []string{"b", "c"},
			meanwhile: func(s stage, _, b croft.Workspace) { create(s, "c"); work(s, b) },
		},
		{
			args: "discard --all-pending", make: pending, exit: croft.ExitRefused, live: []string{"b", "c"}, waiting: []string{"b", "c"},
			meanwhile: func(s stage, _, b croft.Workspace) { pending(s, "c"); work(s, b) },
		},
		{
			args: "queue cancel", make: pending, live: []string{"a", "b", "c"}, waiting: []string{"c"},
			meanwhile: func(s stage, _, _ croft.Workspace) { pending(s, "c") },
		},
		{
			args: "remove a b", exit: croft.ExitRefused, live: []string{"b"},
			make: func(s stage, name string) croft.Workspace {
				w := create(s, name)
				work(s, w)
				return w
			},
			meanwhile: func(s stage, _, _ croft.Workspace) {
				if _, err := s.svc.Lock(s.t.Context(), croft.LockRequest{Workspace: "b", Reason: "mine"}); err != nil {
					s.t.Fatal(err)
				}
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			open := func(ctx context.Context, project string, flags map[string]string) (croft.Service, error) {
				return connect.Open(ctx, project, &connect.Options{Environ: r.Env, Flags: flags, Actor: "ann", From: project})
			}
			svc, err := open(t.Context(), r.Dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = svc.Close() })
			s := stage{t, r, svc}
			a, b := tt.make(s, "a"), tt.make(s, "b")
			var stdout, stderr bytes.Buffer
			exit := cli.Main(t.Context(), cli.Env{
				Args: strings.Fields(tt.args), Dir: r.Dir, Now: time.Now, Terminal: cli.TerminalInteractive, Open: open,
				Stdin:  &person{func() { tt.meanwhile(s, a, b) }, strings.NewReader("y\n")},
				Stdout: &stdout, Stderr: &stderr,
			})
			list, err := svc.Workspaces(t.Context(), croft.WorkspacesRequest{})
			if err != nil {
				t.Fatal(err)
			}
			var live, waiting []string
			for _, w := range list.Items {
				live = append(live, w.Name)
			}
			merges, err := svc.Merges(t.Context(), croft.MergesRequest{})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range merges.Items {
				waiting = append(waiting, m.WorkspaceName)
			}
			slices.Sort(live)
			slices.Sort(waiting)
			if exit != tt.exit || !slices.Equal(live, tt.live) || !slices.Equal(waiting, tt.waiting) {
				t.Errorf("exit %d, want %d; live %v, want %v; waiting %v, want %v; stdout %q, stderr %q",
					exit, tt.exit, live, tt.live, waiting, tt.waiting, stdout.String(), stderr.String())
			}
		})
	}
}

// TestUninstallTakesWhatWasShown: a repository that becomes known while the user reads the
// question is kept, and so is the state, which has its records.
func TestUninstallTakesWhatWasShown(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	open := func(ctx context.Context, project string, flags map[string]string) (croft.Service, error) {
		return connect.Open(ctx, project, &connect.Options{Environ: r.Env, Flags: flags, Actor: "ann", From: project})
	}
	other := filepath.Join(r.Home, "other")
	use := func(dir string, f func(svc croft.Service) error) {
		t.Helper()
		svc, err := open(t.Context(), dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer svc.Close()
		if err := f(svc); err != nil {
			t.Fatal(err)
		}
	}
	create := func(svc croft.Service) error {
		_, err := svc.Create(t.Context(), croft.CreateRequest{Name: "a"})
		return err
	}
	use(r.Dir, create)
	r.Git("clone", "--quiet", r.Dir, other)
	var stdout, stderr bytes.Buffer
	exit := cli.Main(t.Context(), cli.Env{
		Args: []string{"uninstall", "--all"}, Dir: r.Dir, Now: time.Now, Terminal: cli.TerminalInteractive, Open: open,
		Stdin:  &person{func() { use(other, create) }, strings.NewReader("y\n")},
		Stdout: &stdout, Stderr: &stderr,
	})
	if exit != croft.ExitRefused {
		t.Errorf("exit %d, stdout %q, stderr %q", exit, stdout.String(), stderr.String())
	}
	for dir, want := range map[string]int{r.Dir: 0, other: 1} {
		use(dir, func(svc croft.Service) error {
			list, err := svc.Workspaces(t.Context(), croft.WorkspacesRequest{})
			if len(list.Items) != want {
				t.Errorf("%s has %v, want %d", dir, list, want)
			}
			return err
		})
	}
}
