package engine_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// recording is a repository whose check fails if there is a file that begins with bad, and
// writes down the trees that pass.
func recording(t *testing.T, settings string) (r *gittest.Repo, passed string) {
	t.Helper()
	r = gittest.New(t)
	passed = filepath.Join(t.TempDir(), "passed")
	r.Write("croft.toml", fmt.Sprintf("[merge]\n%schecks = ['! ls | grep -q ^bad && echo $CROFT_TREE >> %s']\n", settings, passed))
	r.Commit("checks")
	return r, passed
}

// wantWholeQueue wants that each merge landed once, with a tree that passed the checks, or was
// rejected because it breaks them; that the target has nothing else; and that no attempt or
// check seems to run.
func wantWholeQueue(t *testing.T, r *gittest.Repo, e *engine.Engine, passed string, good map[string]bool) {
	t.Helper()
	trees := strings.Fields(read(t, passed))
	merges, err := e.Merges(t.Context(), croft.MergesRequest{Scope: croft.ScopeAll, Page: croft.Page{Limit: 1000}})
	if err != nil || len(merges.Items) != len(good) {
		t.Fatalf("%d merges of %d, %v", len(merges.Items), len(good), err)
	}
	line := strings.Fields(r.Git("log", "--first-parent", "--format=%H", "main"))
	landed := 0
	for _, m := range merges.Items {
		if m.State != croft.MergeDone || good[m.WorkspaceName] != (m.Status == croft.MergeMerged) || !good[m.WorkspaceName] && m.Reason != croft.CheckFailed {
			t.Errorf("%s (good: %v) ended as %s, %s, %s", m.WorkspaceName, good[m.WorkspaceName], m.State, m.Status, m.Reason)
		}
		for _, a := range m.Attempts {
			if a.State == croft.TryRunning || slices.ContainsFunc(a.Checks, func(c croft.Check) bool { return c.State == croft.TryRunning }) {
				t.Errorf("%s seems to be checked: %+v", m.WorkspaceName, a)
			}
		}
		if m.Status != croft.MergeMerged {
			continue
		}
		landed++
		i := slices.IndexFunc(m.Attempts, func(a croft.Attempt) bool { return a.State == croft.TryPassed && slices.Contains(line, a.Commit) })
		if i < 0 || !slices.Contains(trees, m.Attempts[i].Tree) || !slices.Contains(line, m.Commit) {
			t.Errorf("%s landed, and what it landed with was not checked: %+v", m.WorkspaceName, m.Attempts)
		}
	}
	if got := r.Git("rev-list", "--first-parent", "--merges", "--count", "main"); got != fmt.Sprint(landed) {
		t.Errorf("%s commits on the target, %d merges landed", got, landed)
	}
	wantChecksToldOnce(t, e)
}

// wantChecksToldOnce wants that every check that was told to begin was told to end, once.
func wantChecksToldOnce(t *testing.T, e *engine.Engine) {
	t.Helper()
	told := map[croft.ID]string{}
	for _, ev := range eventsOf(t, e, croft.EventCheckStarted, croft.EventCheckEnded) {
		told[ev.Check] += ev.Kind + " "
	}
	for id, story := range told {
		if story != "check.started check.ended " {
			t.Errorf("the check %s was told as %s", id, story)
		}
	}
}

// TestDriverKilledOften: the driver is killed again and again, at random times, while merges
// come in. Nothing is lost, nothing lands twice, and what landed was checked. With CROFT_LONG
// it is killed 50 times.
func TestDriverKilledOften(t *testing.T) {
	t.Parallel()
	kills := 8
	if os.Getenv("CROFT_LONG") != "" {
		kills = 50
	}
	r, passed := recording(t, "batch = 4\n")
	e := engineIn(t, r, 0)
	approveChecks(t, e)
	req, err := json.Marshal(untilStopped)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(14, 3))
	good := map[string]bool{}
	for kill := range kills {
		for range 1 + random.IntN(3) {
			name := fmt.Sprint("w", len(good))
			file := "file-" + name
			if good[name] = random.IntN(5) > 0; !good[name] {
				file = "bad-" + name
			}
			submitFile(t, e, name, "", file, "x")
		}
		cmd := helper(t, r, task{Call: "DriveLanes", Request: req})
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(50+random.IntN(400)) * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatalf("kill %d: %v", kill, err)
		}
		_ = cmd.Wait()
	}
	if _, err := e.DriveLanes(t.Context(), croft.DriveRequest{}); err != nil {
		t.Fatal(err)
	}
	wantWholeQueue(t, r, e, passed, good)
}

// TestChecksPerLandedMerge: the checks that a lane runs for each merge that lands, counted by the
// events, are at most twice those of the model in internal/merge. With CROFT_LONG it is
// measured at three rates of bad merges.
func TestChecksPerLandedMerge(t *testing.T) {
	t.Parallel()
	merges, model := 48, map[float64]float64{0.05: 0.43}
	if os.Getenv("CROFT_LONG") != "" {
		merges, model = 192, map[float64]float64{0.01: 0.14, 0.05: 0.43, 0.15: 1.03}
	}
	for rate, want := range model {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			t.Parallel()
			r, passed := recording(t, "")
			e := engineIn(t, r, 0)
			approveChecks(t, e)
			bad := rand.New(rand.NewPCG(14, 5)).Perm(merges)[:int(rate*float64(merges)+0.5)]
			good, landed := map[string]bool{}, 0
			for i := range merges {
				name, file := fmt.Sprint("w", i), fmt.Sprint("file-", i)
				if good[name] = !slices.Contains(bad, i); good[name] {
					landed++
				} else {
					file = fmt.Sprint("bad-", i)
				}
				submitFile(t, e, name, "", file, "x")
			}
			if _, err := e.DriveLanes(t.Context(), croft.DriveRequest{}); err != nil {
				t.Fatal(err)
			}
			wantWholeQueue(t, r, e, passed, good)
			got := float64(len(eventsOf(t, e, croft.EventCheckStarted))) / float64(landed)
			t.Logf("%d of %d bad: %.2f checks for each that landed, in theory %.2f", merges-landed, merges, got, want)
			if got > 2*want {
				t.Errorf("%.2f checks for each merge that landed, more than twice %.2f", got, want)
			}
		})
	}
}
