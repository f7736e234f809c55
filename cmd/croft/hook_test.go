package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/connect"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/hook"
	"github.com/croft-sh/croft/internal/hook/act"
)

// TestManyCreations: 50 hooks want a worktree of one name at once. There is one workspace, and all
// get its path.
func TestManyCreations(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	open := func(ctx context.Context, dir string, _ map[string]string) (croft.Service, error) {
		return connect.Open(ctx, dir, &connect.Options{Environ: r.Env})
	}
	const many = 50
	paths := make([]string, many)
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			h := act.Hook{
				Agent: hook.Claude, Stdin: strings.NewReader(fmt.Sprintf(`{"session_id": "s%d", "cwd": %q, "name": "same"}`, i, r.Dir)), Dir: "/", Open: open,
				Say: func(sentence string) { t.Errorf("said: %s", sentence) },
			}
			var err error
			if paths[i], err = h.Create(t.Context()); err != nil {
				t.Errorf("creation %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	for _, p := range paths {
		if p != paths[0] || !filepath.IsAbs(p) {
			t.Errorf("the path %q, and %q", p, paths[0])
		}
	}
	svc, err := open(t.Context(), r.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	if list, err := svc.Workspaces(t.Context(), croft.WorkspacesRequest{}); err != nil || len(list.Items) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}
