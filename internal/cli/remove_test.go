package cli

import (
	"context"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/google/go-cmp/cmp"
)

var errDirty = &croft.Error{
	Code: croft.WorkspaceDirty, Op: "remove", Workspace: "fix-login",
	Message: "fix-login holds uncommitted work", Hint: "croft remove --yes fix-login",
}

// dirtyService keeps fix-login unless it is forced.
func dirtyService(asked *[]croft.RemoveRequest) *fake {
	return &fake{
		workspace: found(fixLogin()),
		status: func(id croft.ID) (*croft.Status, error) {
			if id == "b2" {
				return &croft.Status{Workspace: id}, nil
			}
			return &croft.Status{Workspace: id, Staged: 1, Modified: 1, Untracked: 1, Ahead: 2}, nil
		},
		remove: func(req croft.RemoveRequest) (*croft.RemoveResult, error) {
			*asked = append(*asked, req)
			if req.Mode == croft.RemoveForce || req.Agreed != nil {
				return &croft.RemoveResult{Removed: []croft.Removed{
					{ID: "b2", Name: "b", Trash: "t2"}, {ID: "a1", Name: "fix-login", Trash: "t1", Branch: "croft/fix-login"},
				}}, nil
			}
			return &croft.RemoveResult{
				Removed: []croft.Removed{{ID: "b2", Name: "b", Trash: "t2"}},
				Kept:    []croft.Kept{{ID: "a1", Name: "fix-login", Reason: errDirty}},
			}, nil
		},
	}
}

func TestRemoveKeepsWithoutATerminal(t *testing.T) {
	var asked []croft.RemoveRequest
	r := newRun(dirtyService(&asked))
	r.call(t, "remove", "b", "fix-login").want(t, croft.ExitRefused, "b  trash t2\n",
		"croft: fix-login holds uncommitted work\nhint: croft remove --yes fix-login\n")
	want := []croft.RemoveRequest{{Repo: project, Workspaces: []string{"b", "fix-login"}}}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	r.call(t, "remove", "b", "fix-login", "--json").wantJSON(t, croft.ExitRefused, `{"version":1,
		"removed":[{"id":"b2","name":"b","trash":"t2"}],
		"kept":[{"id":"a1","name":"fix-login","reason":{"code":"WORKSPACE_DIRTY","op":"remove","workspace":"fix-login",
			"message":"fix-login holds uncommitted work","hint":"croft remove --yes fix-login"}}]}`)
}

func TestRemoveAsksOnATerminal(t *testing.T) {
	const question = "  fix-login  3 files not committed, 2 commits not in main → trash, 7 days\n" +
		"  b          nothing that main lacks, clean\nMove 2 workspaces to the trash? [y/N] "
	for answer, isRemoved := range map[string]bool{"y\n": true, "YES\n": true, "n\n": false, "\n": false, "": false, "yep\n": false} {
		var asked []croft.RemoveRequest
		r := newRun(dirtyService(&asked))
		r.env.Terminal = TerminalInteractive
		r.stdin = answer
		r.call(t, "remove", "b", "fix-login", "--keep-branch")
		if !strings.HasPrefix(r.stderr.String(), question) {
			t.Errorf("%q: stderr %q, want the question first", answer, r.stderr.String())
		}
		if !isRemoved {
			if r.exit != croft.ExitRefused || len(asked) != 1 || asked[0].DryRun != croft.DryRunOn {
				t.Errorf("%q: exit %d after %+v, want both kept", answer, r.exit, asked)
			}
			if out := r.stderr.String(); !strings.HasSuffix(out, "kept fix-login\nkept b\n") || strings.Contains(out, "hint") || r.stdout.Len() > 0 {
				t.Errorf("%q: stdout %q, stderr %q, want no error for what the user declined, and nothing removed", answer, r.stdout.String(), out)
			}
			continue
		}
		if r.exit != croft.ExitOK || r.stdout.String() != "b          trash t2\nfix-login  trash t1  deleted croft/fix-login\n" {
			t.Errorf("%q: exit %d, stdout %q", answer, r.exit, r.stdout.String())
		}
		agreed := croft.RemoveRequest{
			Repo: project, Workspaces: []string{"b", "fix-login"}, Branch: croft.BranchKeep,
			Agreed: &croft.Agreed{Workspaces: []croft.ID{"a1", "b2"}, WithWork: []croft.ID{"a1"}},
		}
		if diff := cmp.Diff(agreed, asked[len(asked)-1]); diff != "" {
			t.Errorf("%q: last request (-want +got):\n%s", answer, diff)
		}
	}
}

// TestRemoveAgreed: --yes agrees to what a question would ask, and to nothing more.
func TestRemoveAgreed(t *testing.T) {
	var asked []croft.RemoveRequest
	r := newRun(dirtyService(&asked))
	r.call(t, "remove", "b", "fix-login", "--yes")
	want := []croft.RemoveRequest{
		{Repo: project, Workspaces: []string{"b", "fix-login"}, DryRun: croft.DryRunOn},
		{Repo: project, Workspaces: []string{"b", "fix-login"}, Agreed: &croft.Agreed{Workspaces: []croft.ID{"a1", "b2"}, WithWork: []croft.ID{"a1"}}},
	}
	if diff := cmp.Diff(want, asked); diff != "" || r.exit != croft.ExitOK {
		t.Errorf("exit %d, requests (-want +got):\n%s", r.exit, diff)
	}
}

func TestRemoveNeverAsksAProgram(t *testing.T) {
	var asked []croft.RemoveRequest
	r := newRun(dirtyService(&asked))
	r.env.Terminal = TerminalInteractive
	r.stdin = "y\n"
	r.call(t, "remove", "fix-login", "--json")
	if r.exit != croft.ExitRefused || len(asked) != 1 || strings.Contains(r.stderr.String(), "[y/N]") {
		t.Errorf("exit %d, %d requests, stderr %q", r.exit, len(asked), r.stderr.String())
	}
}

var errLocked = &croft.Error{Code: croft.WorkspaceLocked, Op: "remove", Workspace: "kept", Message: "kept is locked"}

// lockedService has fix-login with uncommitted work, b, and one that is locked.
func lockedService(asked *[]croft.RemoveRequest) *fake {
	svc := dirtyService(asked)
	status, remove := svc.status, svc.remove
	svc.status = func(id croft.ID) (*croft.Status, error) {
		st, err := status(id)
		st.Stamp = "stamp-" + string(id)
		if id == "a1" {
			st.Conflicted = 1
		}
		return st, err
	}
	svc.remove = func(req croft.RemoveRequest) (*croft.RemoveResult, error) {
		result, err := remove(req)
		if req.Agreed == nil { // else only what was agreed to is told of
			result.Kept = append(result.Kept, croft.Kept{ID: "c3", Name: "kept", Reason: errLocked})
		}
		return result, err
	}
	return svc
}

// TestRemoveAllAsks: what the user was shown is what goes, and a workspace that stays is in the exit status.
func TestRemoveAllAsks(t *testing.T) {
	var asked []croft.RemoveRequest
	r := newRun(lockedService(&asked))
	r.env.Terminal, r.stdin = TerminalInteractive, "y\n"
	r.call(t, "remove", "--all")
	want := []croft.RemoveRequest{
		{Repo: project, Workspaces: []string{}, All: croft.ScopeAll, DryRun: croft.DryRunOn},
		{Repo: project, Workspaces: []string{}, All: croft.ScopeAll, Agreed: &croft.Agreed{
			Workspaces: []croft.ID{"b2", "a1"}, WithWork: []croft.ID{"a1"}, Stamps: map[croft.ID]string{"a1": "stamp-a1", "b2": "stamp-b2"},
		}},
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if want := errLocked.Code.ExitCode(); r.exit != want || !strings.Contains(r.stderr.String(), "kept kept: kept is locked\n") || !strings.Contains(r.stderr.String(), "  4 files not committed, 2 commits") {
		t.Errorf("exit %d, want %d, stderr %q", r.exit, want, r.stderr.String())
	}

	r = newRun(&fake{remove: func(croft.RemoveRequest) (*croft.RemoveResult, error) {
		return &croft.RemoveResult{Kept: []croft.Kept{{ID: "c3", Name: "kept", Reason: errLocked}}}, nil
	}})
	r.env.Terminal = TerminalInteractive
	r.call(t, "remove", "--all")
	if want := errLocked.Code.ExitCode(); r.exit != want || strings.Contains(r.stderr.String(), "[y/N]") {
		t.Errorf("with nothing to ask about: exit %d, want %d, stderr %q", r.exit, want, r.stderr.String())
	}
}

// TestRemoveOfWhatCannotBeRead: a workspace whose files nobody could look at may have uncommitted work, and goes as one that has.
func TestRemoveOfWhatCannotBeRead(t *testing.T) {
	var asked []croft.RemoveRequest
	svc := dirtyService(&asked)
	svc.status = func(croft.ID) (*croft.Status, error) { return nil, &croft.Error{Code: croft.GitFailed} }
	r := newRun(svc)
	r.env.Terminal, r.stdin = TerminalInteractive, "y\n"
	r.call(t, "remove", "--all")
	if last := asked[len(asked)-1]; last.Agreed == nil || cmp.Diff([]croft.ID{"b2", "a1"}, last.Agreed.WithWork) != "" {
		t.Errorf("exit %d after %+v", r.exit, last)
	}
}

// TestRemoveDeclinedTellsTheRest: an answer is about uncommitted work; why another workspace stays is told nevertheless.
func TestRemoveDeclinedTellsTheRest(t *testing.T) {
	var asked []croft.RemoveRequest
	r := newRun(lockedService(&asked))
	r.env.Terminal, r.stdin = TerminalInteractive, "n\n"
	r.call(t, "remove", "b", "fix-login", "kept")
	if out := r.stderr.String(); !strings.Contains(out, "kept fix-login\n") || !strings.Contains(out, "croft: kept is locked\n") {
		t.Errorf("stderr %q", out)
	}
}

// TestRemoveWithAKeyDoesNotAsk: the same call again could not show what the first one has done.
func TestRemoveWithAKeyDoesNotAsk(t *testing.T) {
	var asked []croft.RemoveRequest
	r := newRun(dirtyService(&asked))
	r.env.Terminal, r.stdin = TerminalInteractive, "y\n"
	r.call(t, "remove", "fix-login", "--key", "k")
	if r.exit != croft.ExitRefused || len(asked) != 1 || asked[0].DryRun != croft.DryRunOff || strings.Contains(r.stderr.String(), "[y/N]") {
		t.Errorf("exit %d after %+v, stderr %q", r.exit, asked, r.stderr.String())
	}
	asked = nil
	if r.call(t, "remove", "fix-login", "--key", "k", "--yes"); r.exit != croft.ExitUsage || len(asked) > 0 {
		t.Errorf("with --yes: exit %d after %+v", r.exit, asked)
	}
}

// TestRemoveAgreedToWorkThatIsNotSeen: --yes agrees to uncommitted work also where a look at the files does not see it by then.
func TestRemoveAgreedToWorkThatIsNotSeen(t *testing.T) {
	var asked []croft.RemoveRequest
	svc := dirtyService(&asked)
	svc.status = func(id croft.ID) (*croft.Status, error) { return &croft.Status{Workspace: id}, nil }
	r := newRun(svc)
	r.call(t, "remove", "fix-login", "--yes")
	if last := asked[len(asked)-1]; r.exit != croft.ExitOK || last.Agreed == nil || cmp.Diff([]croft.ID{"a1"}, last.Agreed.WithWork) != "" {
		t.Errorf("exit %d after %+v", r.exit, last)
	}
}

// silence is a terminal at which no user types.
type silence struct{ asked chan<- struct{} }

func (s silence) Read([]byte) (int, error) {
	close(s.asked)
	select {}
}

func TestInterruptedQuestion(t *testing.T) {
	var requests []croft.RemoveRequest
	svc := dirtyService(&requests)
	r := newRun(svc)
	asked := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	r.env.Terminal = TerminalInteractive
	r.env.Args, r.env.Stdin, r.env.Stdout, r.env.Stderr = []string{"remove", "fix-login"}, silence{asked}, &r.stdout, &r.stderr
	if exit := Main(ctx, r.env); exit != croft.ExitCanceled || len(requests) != 1 {
		t.Errorf("exit %d after %d requests, want %d after 1", exit, len(requests), croft.ExitCanceled)
	}
	if !strings.Contains(r.stderr.String(), "croft: the question was left unanswered, and nothing was done\n") {
		t.Errorf("%q", r.stderr.String())
	}
}

func TestRemoveUnknown(t *testing.T) {
	svc := &fake{remove: func(req croft.RemoveRequest) (*croft.RemoveResult, error) {
		return &croft.RemoveResult{Unknown: req.Workspaces}, nil
	}}
	r := newRun(svc)
	const answer = `{"version":1,"removed":[],"kept":[],"unknown":["gone"]}`
	r.call(t, "remove", "gone").want(t, croft.ExitConflict, "", "croft: there is no workspace \"gone\"\nhint: croft list\n")
	r.call(t, "remove", "gone", "--json").wantJSON(t, croft.ExitConflict, answer)
	r.call(t, "remove", "gone", "--missing-ok").want(t, croft.ExitOK, "", "no workspace \"gone\", nothing to remove\n")
	r.call(t, "remove", "gone", "--missing-ok", "--json").wantJSON(t, croft.ExitOK, answer)
}

func TestRemoveFlags(t *testing.T) {
	var asked []croft.RemoveRequest
	r := newRun(dirtyService(&asked))
	r.call(t, "remove", "--all", "--force", "--keep-branch")
	want := []croft.RemoveRequest{{
		Repo: project, Workspaces: []string{}, All: croft.ScopeAll, Mode: croft.RemoveForce, Branch: croft.BranchKeep,
	}}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestUpkeepFollowsAChange(t *testing.T) {
	newService := func() *fake {
		return &fake{
			repo: func(string) (*croft.Repo, error) { return &croft.Repo{Path: "/root"}, nil },
			createAll: func(croft.CreateAllRequest) ([]croft.Workspace, error) {
				ws := fixLogin()
				ws.Repo = "/root"
				return []croft.Workspace{ws}, nil
			},
			remove: func(req croft.RemoveRequest) (*croft.RemoveResult, error) {
				if req.Workspaces[0] == "gone" {
					return &croft.RemoveResult{Unknown: req.Workspaces}, nil
				}
				return &croft.RemoveResult{Removed: []croft.Removed{{Name: "x"}}}, nil
			},
			clean:      func(croft.CleanRequest) (*croft.CleanResult, error) { return &croft.CleanResult{}, nil },
			reap:       func(croft.ReapRequest) (*croft.CleanResult, error) { return &croft.CleanResult{}, nil },
			workspaces: func(croft.WorkspacesRequest) ([]croft.Workspace, error) { return nil, nil },
		}
	}
	for _, tt := range []struct {
		args  []string
		isDue bool
		want  [][]string
	}{
		{[]string{"new"}, true, [][]string{{"gc", "--auto", "--repo", "/root"}}},
		{[]string{"remove", "x"}, true, [][]string{{"gc", "--auto", "--repo", "/root"}}},
		{[]string{"clean", "--yes"}, true, [][]string{{"gc", "--auto", "--repo", "/root"}}},
		{[]string{"reap", "--yes"}, true, [][]string{{"gc", "--auto", "--repo", "/root"}}},
		{[]string{"new"}, false, nil},
		{[]string{"remove", "gone", "--missing-ok"}, true, nil},
		{[]string{"clean", "--dry-run"}, true, nil},
		{[]string{"reap", "--dry-run"}, true, nil},
		{[]string{"list"}, true, nil},
	} {
		r := newRun(newService())
		var started [][]string
		r.env.AutoGC = func(root string) bool {
			if root != "/root" {
				t.Errorf("%v: asked about %q", tt.args, root)
			}
			return tt.isDue
		}
		r.env.Detach = func(args ...string) error {
			started = append(started, args)
			return nil
		}
		r.call(t, tt.args...)
		if diff := cmp.Diff(tt.want, started); r.exit != croft.ExitOK || diff != "" {
			t.Errorf("%v: exit %d, started (-want +got):\n%s", tt.args, r.exit, diff)
		}
	}
}
