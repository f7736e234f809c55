//go:build unix

package engine_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/rules"
)

// TestRunningCheck: while a merge is checked, its record names the check that runs;
// afterwards it names none.
func TestRunningCheck(t *testing.T) {
	t.Parallel()
	const second = `until test -e "$CROFT_REPO/../go"; do sleep 0.05; done`
	checks := []string{"true", second}
	r := gittest.New(t)
	r.Write("croft.toml", "[merge]\nchecks = ['true', '"+second+"']\n")
	r.Commit("checks")
	e, err := engine.Open(t.Context(), r.Dir, &engine.Options{Environ: append(r.Env, rules.TrustVariable+"="+rules.ChecksHash(checks))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	w := create(t, e, croft.CreateRequest{Name: "a"})
	gittest.WriteFile(t, filepath.Join(w.Path, "work.txt"), "work\n")
	m, err := e.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a"})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan *croft.Merge, 1)
	go func() {
		done, _ := e.WaitMerge(t.Context(), croft.WaitRequest{Merge: m.ID})
		ended <- done
	}()
	running := ""
	for deadline := time.Now().Add(30 * time.Second); running != second && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		list, err := e.Merges(t.Context(), croft.MergesRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Items) == 1 {
			running = list.Items[0].Check
		}
	}
	if running != second {
		t.Errorf("the check that runs is %q, want %q", running, second)
	}
	gittest.WriteFile(t, filepath.Join(r.Dir, "..", "go"), "")
	if done := <-ended; done == nil || done.Status != croft.MergeMerged || done.Check != "" {
		t.Errorf("the merge ended as %+v", done)
	}
}
