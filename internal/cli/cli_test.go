package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/google/go-cmp/cmp"
)

// fake is a Service of which a test sets the calls that it needs. Any other call is a nil
// dereference, which fails the test.
type fake struct {
	croft.Service
	repo       func(dir string) (*croft.Repo, error)
	createAll  func(croft.CreateAllRequest) ([]croft.Workspace, error)
	workspaces func(croft.WorkspacesRequest) ([]croft.Workspace, error)
	workspace  func(croft.WorkspaceRequest) (*croft.Workspace, error)
	worktrees  func(repo string) ([]croft.Worktree, error)
	status     func(croft.ID) (*croft.Status, error)
	remove     func(croft.RemoveRequest) (*croft.RemoveResult, error)
	copyRole   func(croft.RoleRequest) (*croft.Role, error)
	lock       func(croft.LockRequest) (*croft.Workspace, error)
	unlock     func(croft.LockRequest) (*croft.Workspace, error)
	reap       func(croft.ReapRequest) (*croft.CleanResult, error)
	clean      func(croft.CleanRequest) (*croft.CleanResult, error)
	gc         func(repo string) (*croft.GCResult, error)
	trash      func(repo string) ([]croft.TrashItem, error)
	restore    func(croft.RestoreRequest) (*croft.Workspace, error)
	doctor     func(croft.DoctorRequest) ([]croft.Finding, error)
	checks     func(croft.ChecksRequest) (*croft.CheckPlan, error)
	approve    func(croft.ApproveRequest) (*croft.CheckPlan, error)
	diff       func(croft.DiffRequest) (*croft.Review, error)
	review     func(croft.ReviewRequest) (*croft.Review, error)
	apply      func(croft.ApplyRequest) (*croft.Merge, error)
	history    func(croft.HistoryRequest) ([]croft.Operation, error)
	merges     []croft.Merge
	operation  func(croft.GetRequest) (*croft.Operation, error)
	forecast   *croft.Forecast
	repos      []croft.Repo
	events     chan struct{} // something happens whenever it is sent to
	closed     int
}

func (f *fake) Repos(context.Context, croft.ReposRequest) (*croft.List[croft.Repo], error) {
	return &croft.List[croft.Repo]{Items: f.repos}, nil
}

func (f *fake) Events(ctx context.Context, _ croft.EventsRequest) iter.Seq2[croft.Event, error] {
	return func(yield func(croft.Event, error) bool) {
		for {
			select {
			case <-ctx.Done():
				return
			case <-f.events:
				if !yield(croft.Event{}, nil) {
					return
				}
			}
		}
	}
}

// listOf makes the items of an answer a list of one page.
func listOf[T any](items []T, err error) (*croft.List[T], error) {
	return &croft.List[T]{Items: items}, err
}

// Merges returns none.
func (f *fake) Merges(context.Context, croft.MergesRequest) (*croft.List[croft.Merge], error) {
	return &croft.List[croft.Merge]{Items: f.merges}, nil
}

func (f *fake) Close() error { f.closed++; return nil }

func (f *fake) Repo(_ context.Context, req croft.RepoRequest) (*croft.Repo, error) {
	if f.repo == nil { // what a command says besides is left out
		return nil, &croft.Error{Code: croft.NotARepo}
	}
	return f.repo(req.Repo)
}

func (f *fake) PlanProvision(context.Context, croft.PlanProvisionRequest) (*croft.ProvisionPlan, error) {
	return &croft.ProvisionPlan{}, nil
}

func (f *fake) CreateAll(_ context.Context, req croft.CreateAllRequest) (*croft.CreateResult, error) {
	made, err := f.createAll(req)
	return &croft.CreateResult{Workspaces: made}, err
}

func (f *fake) Workspaces(_ context.Context, req croft.WorkspacesRequest) (*croft.List[croft.Workspace], error) {
	if f.workspaces == nil { // likewise
		return listOf[croft.Workspace](nil, nil)
	}
	return listOf(f.workspaces(req))
}

func (f *fake) Workspace(_ context.Context, req croft.WorkspaceRequest) (*croft.Workspace, error) {
	if f.workspace == nil { // what a command says besides is left out
		return nil, &croft.Error{Code: croft.WorktreeNotFound}
	}
	return f.workspace(req)
}

func (f *fake) Worktrees(_ context.Context, req croft.WorktreesRequest) (*croft.List[croft.Worktree], error) {
	return listOf(f.worktrees(req.Repo))
}

func (f *fake) Status(_ context.Context, req croft.StatusRequest) (*croft.Status, error) {
	if f.status == nil {
		return nil, errors.New("there is no status")
	}
	return f.status(req.Workspace)
}

func (f *fake) Remove(_ context.Context, req croft.RemoveRequest) (*croft.RemoveResult, error) {
	return f.remove(req)
}

func (f *fake) CopyRole(_ context.Context, req croft.RoleRequest) (*croft.Role, error) {
	return f.copyRole(req)
}

func (f *fake) Lock(_ context.Context, req croft.LockRequest) (*croft.Workspace, error) {
	return f.lock(req)
}

func (f *fake) Unlock(_ context.Context, req croft.LockRequest) (*croft.Workspace, error) {
	return f.unlock(req)
}

func (f *fake) Reap(_ context.Context, req croft.ReapRequest) (*croft.CleanResult, error) {
	return f.reap(req)
}

func (f *fake) Clean(_ context.Context, req croft.CleanRequest) (*croft.CleanResult, error) {
	return f.clean(req)
}

func (f *fake) GC(_ context.Context, req croft.GCRequest) (*croft.GCResult, error) {
	return f.gc(req.Repo)
}

func (f *fake) History(_ context.Context, req croft.HistoryRequest) (*croft.List[croft.Operation], error) {
	if f.history == nil {
		return listOf[croft.Operation](nil, nil)
	}
	return listOf(f.history(req))
}

func (f *fake) Operation(_ context.Context, req croft.GetRequest) (*croft.Operation, error) {
	if f.operation == nil {
		return nil, errors.New("there is no such operation")
	}
	return f.operation(req)
}

func (f *fake) Trash(_ context.Context, req croft.TrashRequest) (*croft.List[croft.TrashItem], error) {
	if f.trash == nil {
		return listOf[croft.TrashItem](nil, nil)
	}
	return listOf(f.trash(req.Repo))
}

func (f *fake) Restore(_ context.Context, req croft.RestoreRequest) (*croft.Workspace, error) {
	return f.restore(req)
}

func (f *fake) Doctor(_ context.Context, req croft.DoctorRequest) (*croft.DoctorResult, error) {
	findings, err := f.doctor(req)
	return &croft.DoctorResult{Findings: findings}, err
}

func (f *fake) Checks(_ context.Context, req croft.ChecksRequest) (*croft.CheckPlan, error) {
	return f.checks(req)
}

func (f *fake) Approve(_ context.Context, req croft.ApproveRequest) (*croft.CheckPlan, error) {
	return f.approve(req)
}

// noon is the time in these tests.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// project is the working directory in these tests.
var project = filepath.FromSlash("/home/ann/app")

// run is a call of the program and its result.
type run struct {
	env    Env
	svc    *fake
	flags  map[string]string // what Open got
	dir    string            // what Open got
	opened int
	stdin  string

	exit           int
	stdout, stderr bytes.Buffer
}

func newRun(svc *fake) *run {
	r := &run{svc: svc}
	r.env = Env{
		Dir: project, Version: "v1.2.3",
		Now: func() time.Time { return noon },
		Open: func(_ context.Context, dir string, flags map[string]string) (croft.Service, error) {
			r.opened++
			r.dir, r.flags = dir, flags
			return svc, nil
		},
		Config: func(string, map[string]string) (ConfigView, error) {
			return ConfigView{
				Values:   []ConfigValue{{Key: "layout", Value: "default", Source: "default"}, {Key: "trash.retention", Value: "168h", Source: "croft.toml:3"}},
				Template: "# layout = \"default\"\n",
				Schema:   []byte(`{"type":"object"}`),
			}, nil
		},
	}
	return r
}

func (r *run) call(t *testing.T, args ...string) *run {
	t.Helper()
	r.stdout.Reset()
	r.stderr.Reset()
	r.env.Args = args
	r.env.Stdin = strings.NewReader(r.stdin)
	r.env.Stdout, r.env.Stderr = &r.stdout, &r.stderr
	r.exit = Main(t.Context(), r.env)
	if r.svc != nil && r.svc.closed != r.opened {
		t.Errorf("%v: opened %d times, closed %d times", args, r.opened, r.svc.closed)
	}
	return r
}

// want compares the whole result of a call.
func (r *run) want(t *testing.T, exit int, stdout, stderr string) {
	t.Helper()
	if r.exit != exit {
		t.Errorf("%v: exit %d, want %d", r.env.Args, r.exit, exit)
	}
	if diff := cmp.Diff(stdout, r.stdout.String()); diff != "" {
		t.Errorf("%v: stdout (-want +got):\n%s", r.env.Args, diff)
	}
	if diff := cmp.Diff(stderr, r.stderr.String()); diff != "" {
		t.Errorf("%v: stderr (-want +got):\n%s", r.env.Args, diff)
	}
}

// wantJSON compares stdout as JSON, ignoring white space.
func (r *run) wantJSON(t *testing.T, exit int, want string) {
	t.Helper()
	if r.exit != exit {
		t.Errorf("%v: exit %d, want %d; stderr %s", r.env.Args, r.exit, exit, r.stderr.String())
	}
	var got, wanted any
	dec := json.NewDecoder(&r.stdout)
	if err := dec.Decode(&got); err != nil {
		t.Fatalf("%v: %v", r.env.Args, err)
	}
	if dec.More() {
		t.Errorf("%v: more than one JSON value", r.env.Args)
	}
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatalf("the wanted JSON: %v", err)
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("%v: JSON (-want +got):\n%s", r.env.Args, diff)
	}
}

func fixLogin() croft.Workspace {
	return croft.Workspace{
		ID: "a1", Name: "fix-login", Mode: croft.ModeWorktree, State: croft.Ready, Status: croft.ConditionEmpty,
		Path:   filepath.FromSlash("/home/ann/app.croft/fix-login"),
		Branch: "croft/fix-login",
		Head:   "1a2b3c4d5e6f", Base: "1a2b3c4d5e6f", BaseRef: "main", Target: "main",
		Host: "box", Repo: project, CreatedAt: noon.Add(-3 * time.Hour),
		Env:  map[string]string{"CROFT_WORKSPACE": "fix-login", "CROFT_REPO": project},
		Next: &croft.Next{What: "empty", Action: croft.ActionWork, Command: "croft sh fix-login"},
		Work: &croft.Work{Seen: []croft.Aspect{croft.AspectFiles}},
	}
}

const fixLoginJSON = `{"id":"a1","name":"fix-login","mode":"worktree","state":"ready","status":"empty",
	"path":"/home/ann/app.croft/fix-login","branch":"croft/fix-login",
	"head":"1a2b3c4d5e6f","base":"1a2b3c4d5e6f","baseRef":"main","target":"main",
	"host":"box","repo":"/home/ann/app","isLocked":false,"createdAt":"2026-01-02T09:00:00Z",
	"mergeStatus":null,"mergeCommitSha":null,
	"env":{"CROFT_REPO":"/home/ann/app","CROFT_WORKSPACE":"fix-login"},
	"next":{"what":"empty","action":"work","command":"croft sh fix-login"},
	"work":{"seen":["files"],"ahead":0,"behind":0,"added":0,"deleted":0,"changed":0,"uncommitted":0,"unmerged":0}}`

func found(ws croft.Workspace) func(croft.WorkspaceRequest) (*croft.Workspace, error) {
	return func(croft.WorkspaceRequest) (*croft.Workspace, error) { return &ws, nil }
}

var errLost = &croft.Error{
	Code: croft.WorktreeNotFound, Op: "workspace", Workspace: "nope",
	Message: `no workspace "nope"`, Details: "looked in\n/home/ann/app\x1b[31m", Hint: "croft list",
}

func TestErrors(t *testing.T) {
	svc := &fake{workspace: func(croft.WorkspaceRequest) (*croft.Workspace, error) { return nil, errLost }}
	r := newRun(svc)
	r.call(t, "path", "nope").want(t, croft.ExitConflict, "",
		"croft: no workspace \"nope\"\n  looked in\n  /home/ann/app\uFFFD[31m\nhint: croft list\n")
	r.call(t, "path", "nope", "--json").wantJSON(t, croft.ExitConflict,
		`{"version":1,"error":{"code":"WORKTREE_NOT_FOUND","op":"workspace","workspace":"nope",
		"message":"no workspace \"nope\"","details":"looked in\n/home/ann/app\u001b[31m","hint":"croft list"}}`)
	if !strings.HasPrefix(r.stderr.String(), "croft: no workspace") {
		t.Errorf("with --json the error is not told on stderr: %q", r.stderr.String())
	}
}

func TestEveryCodeHasItsExitStatus(t *testing.T) {
	for _, code := range croft.Codes() {
		svc := &fake{workspaces: func(croft.WorkspacesRequest) ([]croft.Workspace, error) {
			return nil, &croft.Error{Code: code, Op: "list", Message: "no"}
		}}
		if r := newRun(svc).call(t, "list"); r.exit != code.ExitCode() {
			t.Errorf("%s: exit %d, want %d", code, r.exit, code.ExitCode())
		}
	}
}

func TestErrorsWithoutACode(t *testing.T) {
	for _, tt := range []struct {
		err    error
		exit   int
		stderr string
	}{
		{errors.New("boom"), croft.ExitFailure, "croft: unexpected failure\n  boom\n"},
		{context.Canceled, croft.ExitCanceled, "croft: canceled before it was done\n"},
	} {
		svc := &fake{workspaces: func(croft.WorkspacesRequest) ([]croft.Workspace, error) { return nil, tt.err }}
		newRun(svc).call(t, "list").want(t, tt.exit, "", tt.stderr)
	}
}

func TestOpenFails(t *testing.T) {
	r := newRun(nil)
	r.env.Open = func(context.Context, string, map[string]string) (croft.Service, error) {
		return nil, &croft.Error{Code: croft.GitTooOld, Op: "open", Message: "git 2.20 is too old"}
	}
	r.call(t, "new", "x").want(t, croft.ExitEnvironment, "", "croft: git 2.20 is too old\n")
}

func TestUsage(t *testing.T) {
	for _, tt := range []struct {
		args   []string
		stderr string
	}{
		{[]string{"lst"}, "croft: unknown command \"lst\"\nhint: croft list\n"},
		{[]string{"--repo", "x", "frobnicate", "--hard"}, "croft: unknown command \"frobnicate\"\nhint: croft --help\n"},
		{[]string{"list", "--al"}, "croft: unknown flag: --al\nhint: croft list --help\n"},
		{[]string{"list", "extra"}, "croft: unexpected argument \"extra\"\nhint: croft list --help\n"},
		{[]string{"remove", "--yes", "a", ""}, "croft: an argument is empty: is a variable not set?\nhint: croft remove --help\n"},
		{[]string{"new", ""}, "croft: an argument is empty: is a variable not set?\nhint: croft new --help\n"},
		{[]string{"queue", "cancel", ""}, "croft: an argument is empty: is a variable not set?\nhint: croft queue cancel --help\n"},
		{[]string{"show", "a", "b"}, "croft: one workspace at a time, unexpected argument \"b\"\nhint: croft show --help\n"},
		{[]string{"remove", "a", "--all"}, "croft: either names or --all\nhint: croft remove --help\n"},
		{[]string{"role"}, "croft: which of its commands?\nhint: croft role --help\n"},
		{[]string{"help", "lst"}, "croft: unknown command \"lst\"\nhint: croft list\n"},
		{[]string{"help", "z1", "z2"}, "croft: unknown command \"z1\"\nhint: croft --help\n"},
		{[]string{"help", "session", "z2"}, "croft: unknown command \"z2\"\nhint: croft session --help\n"},
		{[]string{"help", "merge", "z2"}, "croft: unknown command \"z2\"\nhint: croft merge --help\n"},
		{[]string{"session", "end"}, "croft: which session? give its name\nhint: croft session list\n"},
		{[]string{"session", "end", "a", "b", "c"}, "croft: one session at a time, unexpected argument \"b\"\nhint: croft session end --help\n"},
		{[]string{"role", "updat"}, "croft: unknown command \"updat\"\nhint: croft role update\n"},
		{[]string{"config", "scheme"}, "croft: unknown command \"scheme\"\nhint: croft config schema\n"},
		{[]string{"queue", "rum"}, "croft: unknown command \"rum\"\nhint: croft queue run\n"},
		{[]string{"new", "x", "--from", "main"}, "croft: unknown flag: --from\nhint: croft new x --base main\n"},
		{[]string{"merge", "x", "--onto=main"}, "croft: unknown flag: --onto\nhint: croft merge x --into=main\n"},
		{[]string{"completion", "csh"}, "croft: unknown shell \"csh\": bash, zsh, fish or powershell\nhint: croft completion --help\n"},
		{[]string{"shell-init"}, "croft: which shell? bash, zsh, fish or powershell\nhint: croft shell-init --help\n"},
		{[]string{"reap", "--older-than", "soon"}, "croft: invalid argument \"soon\" for \"--older-than\" flag: \"soon\" is no duration such as 90m, 24h, 7d or 2w\nhint: croft reap --help\n"},
		{[]string{"new", "--mode", "magic"}, "croft: unknown mode \"magic\": auto, worktree, isolated or legacy\nhint: croft new --help\n"},
		{[]string{"new", "a", "b", "--branch", "x"}, "croft: one branch cannot be checked out in 2 workspaces\nhint: croft new --help\n"},
		{[]string{"watch"}, "croft: unknown command \"watch\"\nhint: croft list --watch\n"},
		{[]string{"list", "--state", "dirt"}, "croft: unknown state \"dirt\"\nhint: croft list --state dirty\n"},
		{[]string{"list", "--record", "redy"}, "croft: unknown word \"redy\"\nhint: croft list --record ready\n"},
		{[]string{"list", "--set", "layout"}, "croft: --set needs KEY=VALUE, not \"layout\"\nhint: croft config\n"},
	} {
		r := newRun(&fake{})
		r.call(t, tt.args...).want(t, croft.ExitUsage, "", tt.stderr)
		if r.opened > 0 {
			t.Errorf("%v: the Service was opened for a call that is wrong", tt.args)
		}
	}
}

func TestUsageInJSON(t *testing.T) {
	newRun(nil).call(t, "lst", "--json").wantJSON(t, croft.ExitUsage,
		`{"version":1,"error":{"code":"INVALID_REQUEST","op":"parse",
		"message":"unknown command \"lst\"","hint":"croft list"}}`)
	newRun(nil).call(t, "list", "--wrong", "--json").wantJSON(t, croft.ExitUsage,
		`{"version":1,"error":{"code":"INVALID_REQUEST","op":"parse",
		"message":"unknown flag: --wrong","hint":"croft list --help"}}`)
}

func TestGitCroft(t *testing.T) {
	r := newRun(nil)
	r.env.Program = "git croft"
	r.call(t, "new", "--help")
	if r.exit != croft.ExitOK || !strings.Contains(r.stdout.String(), "git croft new [NAME...]") {
		t.Errorf("exit %d, help:\n%s", r.exit, r.stdout.String())
	}
	r.call(t, "list", "--wrong").want(t, croft.ExitUsage, "", "croft: unknown flag: --wrong\nhint: git croft list --help\n")
}

func TestRepoFlag(t *testing.T) {
	svc := &fake{workspaces: func(f croft.WorkspacesRequest) ([]croft.Workspace, error) {
		if f.Repo != filepath.FromSlash("/home/ann/other") {
			t.Errorf("Filter.Repo = %q", f.Repo)
		}
		return nil, nil
	}}
	r := newRun(svc)
	for _, flag := range []string{"--repo", "-C"} {
		r.call(t, flag, "../other", "--set", "layout=swarm", "--set", "path=a=b", "list", "-q").want(t, croft.ExitOK, "", "")
		if r.dir != filepath.FromSlash("/home/ann/other") {
			t.Errorf("opened %q", r.dir)
		}
		if diff := cmp.Diff(map[string]string{"layout": "swarm", "path": "a=b"}, r.flags); diff != "" {
			t.Errorf("flags (-want +got):\n%s", diff)
		}
	}
}

func TestOutputThatCannotBeWritten(t *testing.T) {
	svc := &fake{workspaces: func(croft.WorkspacesRequest) ([]croft.Workspace, error) {
		return []croft.Workspace{fixLogin()}, nil
	}}
	var stderr bytes.Buffer
	r := newRun(svc)
	r.env.Args, r.env.Stdin, r.env.Stdout, r.env.Stderr = []string{"list"}, strings.NewReader(""), fullDisk{}, &stderr
	if exit := Main(t.Context(), r.env); exit != croft.ExitFailure {
		t.Errorf("exit %d, want %d", exit, croft.ExitFailure)
	}
	if !strings.Contains(stderr.String(), "no space left") {
		t.Errorf("stderr %q", stderr.String())
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }
