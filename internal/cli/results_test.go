package cli

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/listing"
	"github.com/croft-sh/croft/internal/cli/live"
	"github.com/croft-sh/croft/internal/cli/results"
	"github.com/croft-sh/croft/internal/screen"
)

// TestResultsOnTerminals: what commands say at a terminal about what became of what.
func TestResultsOnTerminals(t *testing.T) {
	second := fixLogin()
	second.ID, second.Name, second.Branch, second.Path = "b2", "search-index", "croft/search-index", "/home/ann/app.croft/search-index"
	failed := nine()[1]
	failed.ID, failed.Actor, failed.IsLocked, failed.LockReason, failed.Agent = "8k6xmqt6k8vx0g51", "ada", true, "waiting for QA", "claude"
	failed.Finished = &croft.Finished{Outcome: croft.Succeeded, At: noon.Add(-2 * time.Minute)}
	failed.Work = &croft.Work{Seen: []croft.Aspect{croft.AspectProcesses}}
	gone := fixLogin()
	gone.State, gone.Status, gone.MergeStatus, gone.MergeCommit = croft.Trashed, croft.ConditionMerged, croft.MergeMerged, "2527144aaaaa"
	gone.RemovedAt, gone.KeptUntil = noon.Add(-time.Minute), noon.Add(7*24*time.Hour)
	gone.Next = &croft.Next{Action: croft.ActionRestore, Command: "croft restore fix-login"}
	shown := failed
	svc := &fake{
		createAll: func(croft.CreateAllRequest) ([]croft.Workspace, error) {
			return []croft.Workspace{fixLogin(), second}, nil
		},
		workspaces: func(croft.WorkspacesRequest) ([]croft.Workspace, error) {
			return []croft.Workspace{{ID: "8k6ymqt6k8vx0g51"}, {ID: "8k6xnqt6k8vx0g51"}}, nil
		},
		merges: []croft.Merge{
			{Kind: croft.KindMerge, State: croft.MergeDone, Workspace: failed.ID, Target: "main", EndedAt: noon.Add(-2 * time.Minute)},
			{Kind: croft.KindMerge, State: croft.MergeDone, Workspace: failed.ID, Target: "main", EndedAt: noon.Add(-time.Hour)},
		},
		workspace: func(croft.WorkspaceRequest) (*croft.Workspace, error) { ws := shown; return &ws, nil },
		status: func(croft.ID) (*croft.Status, error) {
			return &croft.Status{Ahead: 2, Behind: 9, Modified: 1, Untracked: 1, Paths: []string{"a", "b"}}, nil
		},
		remove: func(croft.RemoveRequest) (*croft.RemoveResult, error) {
			return &croft.RemoveResult{Removed: []croft.Removed{{Name: "dark-mode", Trash: "t1"}, {Name: "old", Branch: "croft/old"}}}, nil
		},
		restore: func(croft.RestoreRequest) (*croft.Workspace, error) { ws := fixLogin(); return &ws, nil },
		trash: func(string) ([]croft.TrashItem, error) {
			return []croft.TrashItem{
				{ID: "k3v9", Name: "fix-login", As: croft.ConditionMerged, Bytes: 1400, RemovedAt: noon.Add(-time.Minute), ExpiresAt: noon.Add(7 * 24 * time.Hour)},
				{ID: "m7x4", Name: "dark-mode", As: croft.ConditionDiscarded, Bytes: 12e6, Left: croft.LeftDirectory, RemovedAt: noon.Add(-2 * time.Hour), ExpiresAt: noon.Add(6 * 24 * time.Hour)},
			}, nil
		},
		history: func(croft.HistoryRequest) ([]croft.Operation, error) {
			return []croft.Operation{
				{ID: "gn5cmqt6k8vx0g51", Kind: "merge", WorkspaceName: "fix-login", Target: "main", Commit: "2527144aaaaaaaaa", Actor: "ada", State: "done", IsUndoable: true, StartedAt: noon.Add(-12 * time.Second)},
				{ID: "mx7kmqt6k8vx0g51", Kind: "undo", Undoes: "long ago", WorkspaceName: "old", Actor: "ada", State: "done", IsUndoable: true, StartedAt: noon.Add(-20 * time.Second)},
				{ID: "4e0bmqt6k8vx0g51", Kind: "revert", WorkspaceName: "api", Target: "main", Commit: "859d7adaaaaaaaaa", Actor: "ada", State: "done", IsUndoable: true, StartedAt: noon.Add(-time.Minute)},
				{ID: "29mfmqt6k8vx0g51", Kind: "merge", WorkspaceName: "api", Target: "main", Commit: "3b95395aaaaaaaaa", IsReverted: true, Actor: "ada", State: "done", StartedAt: noon.Add(-2 * time.Minute)},
				{ID: "gn5dmqt6k8vx0g51", Kind: "merge", WorkspaceName: "upgrade-deps", Actor: "ada", State: "undone", StartedAt: noon.Add(-3 * time.Minute)},
				{ID: "7366mqt6k8vx0g51", Kind: "create", WorkspaceName: "fix-login search-index a b c d e f", Actor: "agent in a\x1b[2J", State: "done", IsUndoable: true, StartedAt: noon.Add(-8 * time.Minute)},
			}, nil
		},
		operation: func(req croft.GetRequest) (*croft.Operation, error) {
			return &croft.Operation{ID: croft.ID(req.Ref), Kind: "remove", WorkspaceName: "old"}, nil
		},
	}
	var b strings.Builder
	for _, width := range []int{80, 60} {
		for _, args := range []string{"new fix-login search-index", "show rate-limit", "show gone", "remove dark-mode old --yes", "restore fix-login", "trash", "trash --ids", "history"} {
			if shown = failed; args == "show gone" {
				shown = gone
			}
			svc.closed = 0
			r := newRun(svc)
			r.env.Width, r.env.ErrWidth = width, width
			r.call(t, strings.Fields(args)...)
			fmt.Fprintf(&b, "== %d columns: croft %s\n%s%s", width, args, r.stdout.String(), r.stderr.String())
			for line := range strings.Lines(r.stdout.String() + r.stderr.String()) {
				if screen.Width(strings.TrimSuffix(line, "\n")) > width {
					t.Errorf("%s: wider than %d columns: %q", args, width, line)
				}
			}
		}
	}
	compareGolden(t, "results.golden", b.String())
}

// checking is a Service that has one merge, and what its check printed.
type checking struct {
	merge  croft.Merge
	output string
}

func (c *checking) Merge(context.Context, croft.GetRequest) (*croft.Merge, error) {
	m := c.merge
	return &m, nil
}

func (c *checking) CheckLog(_ context.Context, req croft.CheckLogRequest) (*croft.CheckLog, error) {
	return &croft.CheckLog{Data: []byte(c.output[req.Offset:]), Size: int64(len(c.output)), Next: int64(len(c.output))}, nil
}

// TestLiveMerge: a person who waits for checks sees which one runs, since when and for the second
// time, and after a failure the end of what it printed; the results come last.
func TestLiveMerge(t *testing.T) {
	var b strings.Builder
	at := noon.Add(20 * time.Second)
	check := func(id, command string, state croft.TryState, took, since time.Duration) croft.Check {
		return croft.Check{
			ID: croft.ID(id), Command: command, State: state, Passed: state == croft.TryPassed, Took: croft.Duration(took),
			Usual: croft.Duration(12 * time.Second), StartedAt: at.Add(-since), Log: "/home/ann/state/checks/1.log",
		}
	}
	attempt := func(merges int, state croft.TryState, checks ...croft.Check) croft.Attempt {
		return croft.Attempt{Batch: "b", Size: 1, Position: 1, Merges: merges, State: state, Checks: checks, EndedAt: at}
	}
	vet := check("1", "go vet ./...", croft.TryPassed, 3100*time.Millisecond, 20*time.Second)
	first := check("2", "go test ./...", croft.TryFailed, 11800*time.Millisecond, 17*time.Second)
	running := check("2", "go test ./...", croft.TryRunning, 0, 5*time.Second)
	second := check("4", "go test ./...", croft.TryRunning, 0, 8*time.Second)
	alone := check("5", "go test ./...", croft.TryRunning, 0, 5*time.Second)
	aloneDone := check("5", "go test ./...", croft.TryPassed, time.Second, 5*time.Second)
	flaky := first
	flaky.Passed, flaky.IsFlaky, flaky.State = true, true, croft.TryPassed
	m := croft.Merge{ID: "m", Workspace: "a1", WorkspaceName: "rate-limit", Target: "main", State: croft.MergeChecking}
	svc := &checking{output: "\x1b[31mok\x1b[0m    app/internal/auth\t0.214s\n\n--- FAIL: TestRateLimit (0.00s)\n\x07    limit_test.go:41: got 101 requests, want 100\n"}
	var w bytes.Buffer
	a := &app{env: Env{Stderr: &w, Stdout: &w, Width: 80, ErrWidth: 80, Now: func() time.Time { return noon }}, out: &output{w: &w}}
	l := &live.Merges{
		On: a.liveScreen(), Svc: svc, Merges: []croft.Merge{m}, Tip: "e00e2719aaaa", Begun: noon,
		Works: map[croft.ID]*croft.Work{"a1": {Seen: []croft.Aspect{croft.AspectCommits}, Added: 14, Deleted: 3, Changed: 3}},
	}
	show := func(what string, attempts ...croft.Attempt) {
		svc.merge = m
		svc.merge.Attempts = attempts
		l.Look(t.Context())
		fmt.Fprintf(&b, "== %s\n", what)
		for _, line := range l.Lines(a.stderr(), at) {
			fmt.Fprintln(&b, a.stderr().Line(line...))
		}
	}
	end := func(what string, m croft.Merge) {
		l.Merges = []croft.Merge{m}
		l.End(t.Context())
		a.printOutcomes(results.OfMerge(m, l.Works["a1"], a.stdout().Signs(), l.Tip))
		a.remarkMerge(m)
		fmt.Fprintf(&b, "== %s\n%s", what, w.String())
		w.Reset()
	}
	l.Others = []croft.Merge{{WorkspaceName: "one"}, {WorkspaceName: "t\x1bwo"}, {WorkspaceName: "three"}, {WorkspaceName: "four"}}
	show("queued, with others")
	waited := l.Others[:1]
	l.Others = nil
	show("queued")
	show("the first check has ended", attempt(1, croft.TryRunning, vet, running))
	l.Others = waited
	show("the first check has ended, with another", attempt(1, croft.TryRunning, vet, running))
	l.Others = nil
	show("it failed", attempt(1, croft.TryRunning, vet, first))
	vetAgain := check("3", "go vet ./...", croft.TryRunning, 0, time.Second)
	show("the second try, of a check that had passed", attempt(1, croft.TryRunning, vet, first, vetAgain))
	show("the second try", attempt(1, croft.TryRunning, vet, first, check("3", "go vet ./...", croft.TryPassed, time.Second, time.Second), second))
	show("the target alone", attempt(1, croft.TryFailed, vet, first), attempt(0, croft.TryRunning, alone))
	ended := m
	ended.State, ended.Status, ended.Reason, ended.Hint = croft.MergeDone, croft.MergePending, croft.CheckFailed, "croft logs rate-limit"
	ended.Attempts = []croft.Attempt{attempt(1, croft.TryFailed, vet, first), attempt(0, croft.TryPassed, aloneDone)}
	ended.Checks = []croft.Check{vet, first}
	end("failed", ended)
	l = &live.Merges{On: l.On, Svc: svc, Tip: l.Tip, Works: l.Works}
	merged := m
	merged.State, merged.Status, merged.Commit = croft.MergeDone, croft.MergeMerged, "2527144aaaa"
	merged.Attempts, merged.Checks = []croft.Attempt{attempt(1, croft.TryPassed, vet, flaky)}, []croft.Check{vet, flaky}
	end("flaky", merged)
	l = &live.Merges{On: l.On, Svc: svc, Tip: l.Tip}
	for what, change := range map[string]func(*croft.Merge){
		"conflict": func(m *croft.Merge) {
			m.Reason, m.Hint = croft.Conflict, "croft merge --resolve rate-limit"
			m.Conflicts = []croft.ConflictedPath{{Path: "src/f1.txt", Kind: "contents", Against: "fix-login", At: noon.Add(-4 * time.Minute), Hunks: []croft.ConflictHunk{{Line: 3}}}}
		},
		"blocked": func(m *croft.Merge) { m.Reason, m.Details = croft.HostDirty, "src/f1.txt" },
		"empty":   func(m *croft.Merge) { m.Status = "" },
	} {
		one := m
		one.State, one.Status = croft.MergeDone, croft.MergePending
		change(&one)
		var was strings.Builder
		was.WriteString(b.String())
		b.Reset()
		end(what, one)
		compareGolden(t, "merge-"+what+".golden", b.String())
		b.Reset()
		b.WriteString(was.String())
	}
	l.Merges = []croft.Merge{merged, m, m}
	l.Merges[1].Attempts = []croft.Attempt{attempt(1, croft.TryRunning, vet, second)}
	l.Merges[2].State, l.Merges[2].WorkspaceName = croft.MergeQueued, "csv-export"
	b.WriteString("== several\n")
	for _, line := range l.Lines(a.stderr(), at) {
		fmt.Fprintln(&b, a.stderr().Line(line...))
	}
	l.Merges = []croft.Merge{merged, merged}
	l.Merges[1].WorkspaceName = "csv-export"
	if l.End(t.Context()); w.String() != "  ! go test ./...  passed at the second try: flaky, with rate-limit, csv-export\n" {
		t.Errorf("of several merges it is said: %q", w.String())
	}
	compareGolden(t, "merge.golden", b.String())
	if strings.Contains(b.String(), "\x1b") || strings.Contains(b.String(), "\x07") {
		t.Error("what a check printed is obeyed by the terminal")
	}
}

// TestRegion: lines are written over where they stand, and taken away.
func TestRegion(t *testing.T) {
	var w bytes.Buffer
	r := screen.Region{W: &w}
	r.Show([]string{"a", "b"})
	r.Show([]string{"c"})
	r.Erase()
	r.Erase()
	if got, want := w.String(), "a\x1b[K\nb\x1b[K\n\x1b[J\r\x1b[2Ac\x1b[K\n\x1b[J\r\x1b[1A\x1b[J"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestYieldingTables: in a table whose last column are commands the others make room, and no command is
// cut.
func TestYieldingTables(t *testing.T) {
	var w bytes.Buffer
	a := &app{env: Env{Width: 40}, out: &output{w: &w}}
	a.printYielding([][]cell{
		headingRow("WHEN", "NAME", "STATE", "UNDO"),
		append(plainRow("0s ago", "upgrade-dependencies-of-the-frontend", "done"), cell{command: "croft undo gzy7bmqt6k8vx0g5"}),
		plainRow("0s ago", "fix-login", "done", "-"),
	}, yield{"NAME", yieldName}, yield{"WHEN", yieldWhole})
	if want := "NAME              STATE  UNDO\n" +
		"upgrade-…rontend  done   croft undo gzy7bmqt6k8vx0g5\n" +
		"fix-login         done   -\n"; w.String() != want {
		t.Errorf("got\n%s\nwant\n%s", w.String(), want)
	}
}

// TestTakenBackText: what an undo took back is said as the history says it, and without a raw ID where it is not known.
func TestTakenBackText(t *testing.T) {
	known := []croft.Operation{
		{ID: "u2", Kind: "undo", Undoes: "u1", WorkspaceName: "a"}, {ID: "u1", Kind: "undo", Undoes: "m1", WorkspaceName: "a"}, {ID: "m1", Kind: "merge", WorkspaceName: "a"},
	}
	for i, want := range []string{"did again: merged a", "took back: merged a", "merged a"} {
		if got := listing.ActText(known[i], known); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := listing.ActText(known[1], nil); got != "took back an act on a" {
		t.Errorf("of an act that is not known: %q", got)
	}
}
