package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestLookAtMany: a list of many workspaces comes in the time that it was given for looking
// at them, and names those that it did not look at. CROFT_LONG=1 takes 1,000 workspaces; half
// of them have a commit, a tenth has uncommitted work.
func TestLookAtMany(t *testing.T) {
	n := 100
	if os.Getenv("CROFT_LONG") != "" {
		n = 1000
	}
	r := gittest.New(t)
	for i := range 50 {
		r.Write(fmt.Sprint("f", i), "1\n2\n3\n")
	}
	r.Commit("files")
	e := engineIn(t, r, 0)
	for at := 0; at < n; at += 100 {
		var req croft.CreateAllRequest
		for i := range 100 {
			req.Workspaces = append(req.Workspaces, croft.CreateRequest{Name: fmt.Sprintf("w%04d", at+i)})
		}
		made, err := e.CreateAll(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range made.Workspaces {
			if i%2 == 0 {
				gittest.WriteFile(t, filepath.Join(w.Path, w.Name), "work\n")
				r.GitIn(w.Path, "add", "--all")
				r.GitIn(w.Path, "commit", "--quiet", "--message", "work")
			}
			if i%10 == 1 {
				gittest.WriteFile(t, filepath.Join(w.Path, "f1"), "more\n")
			}
		}
	}
	const moment = 300 * time.Millisecond
	took := map[croft.Duration]time.Duration{}
	for _, look := range []croft.Duration{0, croft.Duration(moment), croft.NoLimit} {
		var times []time.Duration
		var last *croft.List[croft.Workspace]
		for range 5 {
			start := time.Now()
			list, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{Look: look})
			if err != nil || len(list.Items) != n {
				t.Fatalf("%d workspaces, %v", len(list.Items), err)
			}
			times, last = append(times, time.Since(start)), list
		}
		slices.Sort(times)
		took[look] = times[len(times)/2]
		words := map[croft.Condition]int{}
		for _, w := range last.Items {
			words[w.Status]++
			isSeen := w.Work.Has(croft.AspectFiles) && w.Work.Has(croft.AspectCommits)
			if isUnseen := slices.Contains(last.Unseen, w.ID); look > 0 && isSeen == isUnseen {
				t.Errorf("%s: looked at: %v, named as not looked at: %v", w.Name, isSeen, isUnseen)
			}
		}
		t.Logf("%d workspaces, time to look %v: %v (median of 5, slowest %v), %d not looked at; %v", n, look, took[look], times[4], len(last.Unseen), words)
		if look == croft.NoLimit && (len(last.Unseen) > 0 || words["ahead"] != n/2 || words["dirty"] != n/10 || words["empty"] != n-n/2-n/10) {
			t.Errorf("without a limit: %d not looked at, %v", len(last.Unseen), words)
		}
	}
	// Processes that run when the time is over are killed; that, and a machine with other
	// load, is what the rest is for.
	if over := took[croft.Duration(moment)] - took[0] - moment; over > moment {
		t.Errorf("the list came %v after its time", over)
	}
}
