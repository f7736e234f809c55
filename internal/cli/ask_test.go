package cli

import (
	"context"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/google/go-cmp/cmp"
)

// acting counts the calls that change something, apart from those that only read.
type acting struct {
	croft.Service
	acts int
}

func (*acting) Workspaces(context.Context, croft.WorkspacesRequest) (*croft.List[croft.Workspace], error) {
	return &croft.List[croft.Workspace]{}, nil
}

func (s *acting) Close() error { return nil }

func (s *acting) Repo(context.Context, croft.RepoRequest) (*croft.Repo, error) {
	return &croft.Repo{Path: "/root"}, nil
}

func (s *acting) Workspace(context.Context, croft.WorkspaceRequest) (*croft.Workspace, error) {
	w := fixLogin()
	return &w, nil
}

func (s *acting) Status(context.Context, croft.StatusRequest) (*croft.Status, error) {
	return &croft.Status{}, nil
}

func (s *acting) act(dry croft.DryRun) {
	if dry == croft.DryRunOff {
		s.acts++
	}
}

func (s *acting) Remove(_ context.Context, req croft.RemoveRequest) (*croft.RemoveResult, error) {
	s.act(req.DryRun)
	return &croft.RemoveResult{Removed: []croft.Removed{{ID: "a1", Name: "fix-login"}}}, nil
}

func (s *acting) Discard(_ context.Context, req croft.DiscardRequest) (*croft.DiscardResult, error) {
	s.act(req.DryRun)
	return &croft.DiscardResult{Merges: []croft.Merge{{State: croft.MergeDone, Status: croft.MergeDiscarded}}}, nil
}

func (s *acting) sweep(dry croft.DryRun) (*croft.CleanResult, error) {
	s.act(dry)
	answer := cleanAnswer()
	answer.Kept = nil
	return answer, nil
}

func (s *acting) Clean(_ context.Context, req croft.CleanRequest) (*croft.CleanResult, error) {
	return s.sweep(req.DryRun)
}

func (s *acting) Reap(_ context.Context, req croft.ReapRequest) (*croft.CleanResult, error) {
	return s.sweep(req.DryRun)
}

func (s *acting) PlanUndo(context.Context, croft.UndoRequest) (*croft.UndoPlan, error) {
	return &croft.UndoPlan{}, nil
}

func (s *acting) Undo(context.Context, croft.UndoRequest) (*croft.Operation, error) {
	s.acts++
	return &croft.Operation{}, nil
}

func (s *acting) PlanRevert(context.Context, croft.RevertRequest) (*croft.RevertPlan, error) {
	return &croft.RevertPlan{Later: 2}, nil
}

func (s *acting) SubmitRevert(context.Context, croft.RevertRequest) (*croft.Merge, error) {
	s.acts++
	return &croft.Merge{State: croft.MergeDone, Status: croft.MergeMerged}, nil
}

func (s *acting) Restore(context.Context, croft.RestoreRequest) (*croft.Workspace, error) {
	s.acts++
	w := fixLogin()
	return &w, nil
}

func (s *acting) ChangeQueue(_ context.Context, req croft.QueueRequest) (*croft.QueueResult, error) {
	s.act(req.DryRun)
	return &croft.QueueResult{Merges: []croft.Merge{{WorkspaceName: "b", State: croft.MergeQueued}}}, nil
}

func (s *acting) Uninstall(_ context.Context, req croft.UninstallRequest) (*croft.UninstallResult, error) {
	s.act(req.DryRun)
	return &croft.UninstallResult{Repos: []croft.UninstalledRepo{{Path: project}}}, nil
}

// TestOneRuleOfAsking: a command that names its workspaces acts at once. One that reaches
// further shows what it would do, asks once, takes --yes for the answer, and is refused
// where the user cannot be asked.
func TestOneRuleOfAsking(t *testing.T) {
	try := func(t *testing.T, terminal Terminal, stdin string, args ...string) (r *run, acts int) {
		t.Helper()
		svc := &acting{}
		r = newRun(nil)
		r.env.Open = func(context.Context, string, map[string]string) (croft.Service, error) { return svc, nil }
		r.env.Terminal, r.stdin = terminal, stdin
		r.call(t, args...)
		return r, svc.acts
	}
	questions := func(r *run) int { return strings.Count(r.stderr.String(), "[y/N]") }

	for _, line := range []string{
		"remove b", "discard b", "undo 0123456789abcdef", "revert b", "restore b", "queue cancel b",
		"remove --all --force", "reap --force", "undo --force",
	} {
		for _, terminal := range []Terminal{TerminalNone, TerminalInteractive} {
			r, acts := try(t, terminal, "n\n", strings.Fields(line)...)
			if r.exit != croft.ExitOK || acts != 1 || questions(r) != 0 {
				t.Errorf("%s: exit %d, %d acts, stderr %q; want it done without a question", line, r.exit, acts, r.stderr.String())
			}
		}
	}
	for _, line := range []string{
		"clean", "clean --all", "reap", "remove --all", "discard --all-pending", "undo", "uninstall", "uninstall --all", "queue cancel",
	} {
		args := strings.Fields(line)
		for _, json := range []bool{false, true} {
			terminal, said := TerminalNone, args
			if json { // a program cannot be asked
				terminal, said = TerminalInteractive, append(args, "--json")
			}
			r, acts := try(t, terminal, "y\n", said...)
			if r.exit != croft.ExitRefused || acts != 0 || questions(r) != 0 {
				t.Errorf("%v with nobody to ask: exit %d, %d acts, stderr %q", said, r.exit, acts, r.stderr.String())
			}
			if !json && !strings.HasSuffix(r.stderr.String(), "hint: croft "+line+" --yes\n") {
				t.Errorf("%s: stderr %q lacks the command to run next", line, r.stderr.String())
			}
		}
		for answer, want := range map[string]int{"y\n": 1, "n\n": 0, "": 0} {
			if r, acts := try(t, TerminalInteractive, answer, args...); r.exit != croft.ExitOK || acts != want || questions(r) != 1 {
				t.Errorf("%s, answered %q: exit %d, %d acts, stderr %q", line, answer, r.exit, acts, r.stderr.String())
			} else if line == "undo" && strings.Contains(r.stderr.String(), "nothing was taken back") != (want == 0) {
				t.Errorf("undo, answered %q: stderr %q", answer, r.stderr.String())
			}
		}
		if r, acts := try(t, TerminalNone, "", append(args, "--yes")...); r.exit != croft.ExitOK || acts != 1 {
			t.Errorf("%s --yes: exit %d, %d acts, stderr %q", line, r.exit, acts, r.stderr.String())
		}
		if r, acts := try(t, TerminalNone, "", append(args, "--dry-run")...); r.exit != croft.ExitOK || acts != 0 {
			t.Errorf("%s --dry-run: exit %d, %d acts, stderr %q", line, r.exit, acts, r.stderr.String())
		}
	}
}

// TestHintStandsBeforeTheDash: a flag in a hint stands before a "--" that the user typed,
// behind which it would be a name.
func TestHintStandsBeforeTheDash(t *testing.T) {
	for line, want := range map[string]string{
		"remove --all --":             "croft remove --all --yes --",
		"queue cancel --":             "croft queue cancel --yes --",
		"queue cancel --into main --": "croft queue cancel --into main --yes --",
		"clean --repo=-- --all":       "croft clean --repo=-- --all --yes",
	} {
		r := newRun(nil)
		r.env.Open = func(context.Context, string, map[string]string) (croft.Service, error) { return &acting{}, nil }
		r.call(t, strings.Fields(line)...)
		if r.exit != croft.ExitRefused || !strings.HasSuffix(r.stderr.String(), "hint: "+want+"\n") {
			t.Errorf("%s: exit %d, stderr %q, want the hint %q", line, r.exit, r.stderr.String(), want)
			continue
		}
		if r.call(t, strings.Fields(want)[1:]...); r.exit != croft.ExitOK {
			t.Errorf("%s: exit %d, stderr %q", want, r.exit, r.stderr.String())
		}
	}
}

// leaving is a queue from which one of two merges lands while the user reads that both
// wait.
type leaving struct {
	acting
	looks int
	taken []string
}

func (s *leaving) ChangeQueue(_ context.Context, req croft.QueueRequest) (*croft.QueueResult, error) {
	waiting := []croft.Merge{{ID: "1", WorkspaceName: "a", State: croft.MergeQueued}, {ID: "2", WorkspaceName: "b", State: croft.MergeQueued}}
	if req.DryRun == croft.DryRunOff {
		s.taken = req.Merges
		return &croft.QueueResult{Merges: waiting[1:]}, nil
	}
	s.looks++
	return &croft.QueueResult{Merges: waiting[min(s.looks-1, 1):]}, nil
}

// TestCancelTakesWhatStillWaits: a merge that has landed while the user read the question
// is named, and the others are canceled.
func TestCancelTakesWhatStillWaits(t *testing.T) {
	svc, r := &leaving{}, newRun(nil)
	r.env.Open = func(context.Context, string, map[string]string) (croft.Service, error) { return svc, nil }
	r.env.Terminal, r.stdin = TerminalInteractive, "y\n"
	r.call(t, "queue", "cancel")
	if r.exit != croft.ExitOK || strings.Join(svc.taken, " ") != "2" || !strings.Contains(r.stderr.String(), "a does not wait any more\n") {
		t.Errorf("exit %d, taken out %q, stderr %q", r.exit, svc.taken, r.stderr.String())
	}
}

// cancelable is a queue in which one merge is being checked, and one has ended and is tried again.
type cancelable struct {
	acting
	taken []string
}

func (s *cancelable) ChangeQueue(_ context.Context, req croft.QueueRequest) (*croft.QueueResult, error) {
	all := []croft.Merge{
		{ID: "1", WorkspaceName: "a", State: croft.MergeQueued},
		{ID: "2", WorkspaceName: "b", State: croft.MergeChecking},
		{ID: "3", WorkspaceName: "c", State: croft.MergeDone, Status: croft.MergePending},
	}
	if req.DryRun == croft.DryRunOff {
		s.taken = req.Merges
	}
	return &croft.QueueResult{Merges: all}, nil
}

// TestCancelLeavesWhatIsMerged: what is being merged cannot be taken out, and is not asked about.
func TestCancelLeavesWhatIsMerged(t *testing.T) {
	svc, r := &cancelable{}, newRun(nil)
	r.env.Open = func(context.Context, string, map[string]string) (croft.Service, error) { return svc, nil }
	r.env.Terminal, r.stdin = TerminalInteractive, "y\n"
	r.call(t, "queue", "cancel")
	if out := r.stderr.String(); strings.Join(svc.taken, " ") != "1 3" || !strings.Contains(out, "kept b: it is being merged\n") || !strings.Contains(out, "Take 2 merges out of the queue? [y/N]") {
		t.Errorf("exit %d, taken out %q, stderr %q", r.exit, svc.taken, out)
	}
}

// shown keeps what a user has agreed to.
type shown struct {
	acting
	agreed *croft.Agreed
}

func (s *shown) Discard(_ context.Context, req croft.DiscardRequest) (*croft.DiscardResult, error) {
	s.agreed = req.Agreed
	return &croft.DiscardResult{Merges: []croft.Merge{
		{Workspace: "a1", WorkspaceName: "a", State: croft.MergeDone, Status: croft.MergeDiscarded},
		{Workspace: "b2", WorkspaceName: "b", State: croft.MergeDone, Status: croft.MergePending, Reason: croft.WorkspaceLocked, Message: "b is locked"},
	}}, nil
}

func (s *shown) Status(_ context.Context, req croft.StatusRequest) (*croft.Status, error) {
	return &croft.Status{Ahead: 2, Stamp: "seen"}, nil
}

// TestDiscardIsOfWhatWasShown: only what was shown is discarded; commits are no uncommitted work; what stays is in the exit status.
func TestDiscardIsOfWhatWasShown(t *testing.T) {
	svc, r := &shown{}, newRun(nil)
	r.env.Open = func(context.Context, string, map[string]string) (croft.Service, error) { return svc, nil }
	r.env.Terminal, r.stdin = TerminalInteractive, "y\n"
	r.call(t, "discard", "--all-pending")
	want := &croft.Agreed{Workspaces: []croft.ID{"a1"}, Stamps: map[croft.ID]string{"a1": "seen"}}
	if diff := cmp.Diff(want, svc.agreed); diff != "" || r.exit != croft.ExitRefused {
		t.Errorf("exit %d, stderr %q, agreed (-want +got):\n%s", r.exit, r.stderr.String(), diff)
	}
}
