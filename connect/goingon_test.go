package connect_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/connect"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestWaitGoesOnWithoutTheDaemon: a merge lands although the daemon that had it has ended, and
// the user is told.
func TestWaitGoesOnWithoutTheDaemon(t *testing.T) {
	repo, stopped := gittest.New(t), make(chan struct{})
	path := serveUntil(t, repo.Env, nil, stopped)
	svc := open(t, repo.Dir, connect.Options{Environ: repo.Env})
	ws, err := svc.Create(t.Context(), croft.CreateRequest{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(ws.Path, "a.txt"), []byte("a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := svc.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a"})
	if err != nil || m.State != croft.MergeQueued {
		t.Fatalf("%+v, %v", m, err)
	}
	close(stopped)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, err := os.Lstat(path); err != nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the daemon does not end")
		}
	}
	if m, err = svc.WaitMerge(t.Context(), croft.WaitRequest{Merge: m.ID}); err != nil || m.Status != croft.MergeMerged {
		t.Fatalf("%+v, %v", m, err)
	}
	if told := svc.(*connect.Served).Notices(); !slices.Contains(told, "the daemon has ended; this process goes on without it") {
		t.Errorf("%q", told)
	}
}
