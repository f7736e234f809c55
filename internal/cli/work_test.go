package cli

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/google/go-cmp/cmp"
)

func TestNewRequest(t *testing.T) {
	part := func(name string) croft.CreateRequest { return croft.CreateRequest{Name: name} }
	swarm := func(role string) croft.CreateRequest {
		return croft.CreateRequest{Name: role, Role: role, Session: "1", Layout: "swarm"}
	}
	for _, tt := range []struct {
		args []string
		want croft.CreateAllRequest
	}{
		{nil, croft.CreateAllRequest{Workspaces: []croft.CreateRequest{part("")}}},
		{
			[]string{"a", "b", "--key", "k"},
			croft.CreateAllRequest{Key: "k", Workspaces: []croft.CreateRequest{part("a"), part("b")}},
		},
		{
			[]string{"--role", "reviewer"},
			croft.CreateAllRequest{Workspaces: []croft.CreateRequest{{Name: "reviewer", Role: "reviewer"}}},
		},
		{
			[]string{"second", "--role", "reviewer", "--no-role-files"},
			croft.CreateAllRequest{Workspaces: []croft.CreateRequest{{
				Name: "second", Role: "reviewer", RoleFiles: croft.RoleFilesSkip,
			}}},
		},
		{
			[]string{"researcher", "developer", "--layout", "swarm", "--session", "1"},
			croft.CreateAllRequest{Workspaces: []croft.CreateRequest{swarm("researcher"), swarm("developer")}},
		},
		{
			[]string{"--role", "tester", "--layout", "swarm", "--session", "1"},
			croft.CreateAllRequest{Workspaces: []croft.CreateRequest{swarm("tester")}},
		},
		{
			[]string{
				"x", "--base", "v1", "--branch", "feat/x", "--target", "dev", "--fresh",
				"--agent", "opus", "--mode", "worktree", "--layout", "sibling",
			},
			croft.CreateAllRequest{Workspaces: []croft.CreateRequest{{
				Name: "x", Base: "v1", Branch: "feat/x", Target: "dev", Fetch: croft.FetchFirst,
				Agent: "opus", Mode: croft.ModeWorktree, Layout: "sibling",
			}}},
		},
	} {
		tt.want.Repo = project
		var got croft.CreateAllRequest
		svc := &fake{createAll: func(req croft.CreateAllRequest) ([]croft.Workspace, error) {
			got = req
			return nil, nil
		}}
		newRun(svc).call(t, append([]string{"new"}, tt.args...)...).want(t, croft.ExitOK, "", "")
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("new %v (-want +got):\n%s", tt.args, diff)
		}
	}
}

func TestNew(t *testing.T) {
	second := fixLogin()
	second.Name, second.Branch, second.Path = "b", "croft/b", filepath.FromSlash("/home/ann/app.croft/b")
	second.Notes = []string{"a.txt shows as modified in a fresh checkout"}
	svc := &fake{createAll: func(croft.CreateAllRequest) ([]croft.Workspace, error) {
		return []croft.Workspace{fixLogin(), second}, nil
	}}
	r := newRun(svc)
	r.call(t, "new", "fix-login", "b").want(t, croft.ExitOK,
		"fix-login  croft/fix-login  ../app.croft/fix-login\n"+
			"b          croft/b          ../app.croft/b\n",
		"from main@1a2b3c4 → main\nb: a.txt shows as modified in a fresh checkout\n")
	r.call(t, "new", "fix-login", "b", "-q").want(t, croft.ExitOK,
		"fix-login  croft/fix-login  ../app.croft/fix-login\n"+
			"b          croft/b          ../app.croft/b\n", "")
}

func TestNewInJSON(t *testing.T) {
	svc := &fake{createAll: func(croft.CreateAllRequest) ([]croft.Workspace, error) {
		return []croft.Workspace{fixLogin()}, nil
	}}
	newRun(svc).call(t, "new", "--json").wantJSON(t, croft.ExitOK, `{"version":1,"workspaces":[`+fixLoginJSON+`]}`)
}

func TestOrigin(t *testing.T) {
	const commit = "1a2b3c4d5e6f"
	for _, tt := range []struct {
		ws   croft.Workspace
		want string
	}{
		{croft.Workspace{Base: commit, BaseRef: "main", Target: "dev"}, "from main@1a2b3c4 → dev"},
		{croft.Workspace{Base: commit, BaseRef: commit, Target: "dev"}, "from 1a2b3c4 → dev"},
		{croft.Workspace{Base: commit, BaseRef: "v1"}, "from v1@1a2b3c4, no target: merge it with --into BRANCH"},
		{croft.Workspace{}, ""},
	} {
		if got := originText(tt.ws); got != tt.want {
			t.Errorf("origin(%+v) = %q, want %q", tt.ws, got, tt.want)
		}
	}
}

func TestList(t *testing.T) {
	locked := fixLogin()
	locked.Name, locked.Branch, locked.Head = "b", "croft/b", "ffff3c4d5e6f"
	locked.Status, locked.Why, locked.Next = croft.ConditionCheckFailed, "mine\x1b[2J", nil
	svc := &fake{workspaces: func(f croft.WorkspacesRequest) ([]croft.Workspace, error) {
		if diff := cmp.Diff(croft.WorkspacesRequest{Repo: project, Session: "s", Role: "r", Look: croft.Duration(300 * time.Millisecond)}, f); diff != "" {
			t.Errorf("filter (-want +got):\n%s", diff)
		}
		return []croft.Workspace{fixLogin(), locked}, nil
	}}
	const want = "NAME       STATE         WHY       WORK  AHEAD  BEHIND  TARGET  IDLE  COLLIDES WITH  BRANCH           HEAD     AGE  NEXT\n" +
		"fix-login  empty         -         -     ?      ?       main    -     -              croft/fix-login  1a2b3c4  3h   croft sh fix-login\n" +
		"b          check failed  mine\uFFFD[2J  -     ?      ?       main    -     -              croft/b          ffff3c4  3h   -\n"
	newRun(svc).call(t, "list", "--session", "s", "--role", "r").want(t, croft.ExitOK, want, "")
}

func TestListAlone(t *testing.T) {
	svc := &fake{workspaces: func(croft.WorkspacesRequest) ([]croft.Workspace, error) { return nil, nil }}
	r := newRun(svc)
	r.call(t).want(t, croft.ExitOK, "", "no workspaces here yet\n"+
		"  croft new fix-login       a checkout and a branch of its own, beside this one\n"+
		"  croft new a b c           three of them, or none\n"+
		"  croft --help              the rest\n")
	r.call(t, "--json").wantJSON(t, croft.ExitOK, `{"version":1,"workspaces":[]}`)
}

func TestListAll(t *testing.T) {
	svc := &fake{
		workspaces: func(croft.WorkspacesRequest) ([]croft.Workspace, error) { return []croft.Workspace{fixLogin()}, nil },
		worktrees: func(repo string) ([]croft.Worktree, error) {
			if repo != project {
				t.Errorf("repo %q", repo)
			}
			return []croft.Worktree{
				{Path: project, Branch: "main", Head: "1a2b3c4d5e6f", IsMain: true},
				{Path: "/x/fix-login", Branch: "croft/fix-login", Workspace: "a1"},
				{Path: "/x", Head: "1a2b3c4d5e6f", IsLocked: true, LockReason: "usb"},
			}, nil
		},
	}
	r := newRun(svc)
	r.call(t, "list", "--all").want(t, croft.ExitOK,
		"NAME       STATE  WHY  WORK  AHEAD  BEHIND  TARGET  IDLE  COLLIDES WITH  BRANCH           HEAD     AGE  NEXT\n"+
			"fix-login  empty  -    -     ?      ?       main    -     -              croft/fix-login  1a2b3c4  3h   croft sh fix-login\n"+
			"WORKTREE  BRANCH  HEAD     NOT CROFT'S\n"+
			".         main    1a2b3c4  main checkout\n"+
			"/x        -       1a2b3c4  git worktree, locked: usb\n", "")
	r.call(t, "list", "--all", "--json").wantJSON(t, croft.ExitOK, `{"version":1,"workspaces":[`+fixLoginJSON+`],"worktrees":[
		{"path":"/home/ann/app","branch":"main","head":"1a2b3c4d5e6f","isMain":true,"isLocked":false},
		{"path":"/x","branch":"","head":"1a2b3c4d5e6f","isMain":false,"isLocked":true,"lockReason":"usb"}]}`)
}

func TestListInColour(t *testing.T) {
	svc := &fake{workspaces: func(croft.WorkspacesRequest) ([]croft.Workspace, error) {
		return []croft.Workspace{fixLogin()}, nil
	}}
	r := newRun(svc)
	r.env.Color, r.env.Width = ColorTerminal, 60
	r.call(t, "list").want(t, croft.ExitOK,
		"    \x1b[2mNAME\x1b[0m       \x1b[2mSTATE\x1b[0m  \x1b[2mWHY\x1b[0m  \x1b[2mWORK\x1b[0m  \x1b[2m↑↓ main\x1b[0m  \x1b[2mIDLE\x1b[0m  \x1b[2mNEXT croft …\x1b[0m\n"+
			"  \x1b[2m○\x1b[0m \x1b[2mfix-login\x1b[0m  \x1b[2mempty\x1b[0m                            \x1b[2;36msh\x1b[0m\n", "    1 empty\n")
	r.call(t, "list", "--color=never").want(t, croft.ExitOK,
		"    NAME       STATE  WHY  WORK  ↑↓ main  IDLE  NEXT croft …\n"+
			"  ○ fix-login  empty                            sh\n", "    1 empty\n")
	r.env.Width = 0
	const plain = "NAME       STATE  WHY  WORK  AHEAD  BEHIND  TARGET  IDLE  COLLIDES WITH  BRANCH           HEAD     AGE  NEXT\n" +
		"fix-login  empty  -    -     ?      ?       main    -     -              croft/fix-login  1a2b3c4  3h   croft sh fix-login\n"
	r.call(t, "list", "--no-color").want(t, croft.ExitOK, plain, "")
	r.env.Color = ColorNever
	r.call(t, "list").want(t, croft.ExitOK, plain, "")
	if r.call(t, "list", "--color=always"); !strings.Contains(r.stdout.String(), "\x1b[2mempty\x1b[0m") {
		t.Errorf("no colour, although it was asked for: %q", r.stdout.String())
	}
	r.call(t, "list", "--color=some").want(t, croft.ExitUsage, "", "croft: invalid argument \"some\" for \"--color\" flag: \"some\" is none of always, never and auto\nhint: croft list --help\n")
}

func TestShow(t *testing.T) {
	var asked croft.WorkspaceRequest
	ws := fixLogin()
	svc := &fake{
		workspace: func(req croft.WorkspaceRequest) (*croft.Workspace, error) {
			asked = req
			return &ws, nil
		},
		status: func(id croft.ID) (*croft.Status, error) {
			return &croft.Status{Workspace: id, Head: ws.Head, Modified: 1, Untracked: 2, Ahead: 3, Behind: 4}, nil
		},
	}
	r := newRun(svc)
	r.call(t, "show").want(t, croft.ExitOK, `name     fix-login
id       a1
state    empty
path     ../app.croft/fix-login
branch   croft/fix-login
head     1a2b3c4
base     main@1a2b3c4 → main
created  2026-01-02T09:00:00Z (3h ago)
changes  1 modified, 2 untracked
commits  3 not in main, 4 of main not here
next     croft sh fix-login
`, "")
	if diff := cmp.Diff(croft.WorkspaceRequest{Repo: project, Scope: croft.ScopeAll, Look: croft.NoLimit}, asked); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	r.call(t, "show", "fix-login", "--json").wantJSON(t, croft.ExitOK, `{"version":1,"workspace":`+fixLoginJSON+`,
		"status":{"workspace":"a1","head":"1a2b3c4d5e6f","staged":0,"modified":1,"untracked":2,"conflicted":0,"ahead":3,"behind":4}}`)
	if asked.Ref != "fix-login" {
		t.Errorf("asked for %q", asked.Ref)
	}

	ws.State = croft.Broken // its files are not examined
	svc.status = nil
	r.call(t, "show", "--json")
	if r.exit != croft.ExitOK || !cmp.Equal(jsonField(t, r, "status"), nil) {
		t.Errorf("exit %d, status %v, want null", r.exit, jsonField(t, r, "status"))
	}
}

func TestPath(t *testing.T) {
	var asked []string
	svc := &fake{workspace: func(req croft.WorkspaceRequest) (*croft.Workspace, error) {
		asked = append(asked, req.Ref)
		ws := fixLogin()
		return &ws, nil
	}}
	r := newRun(svc)
	r.call(t, "path", "feat/login").want(t, croft.ExitOK, filepath.FromSlash("/home/ann/app.croft/fix-login\n"), "")
	r.call(t, "path", "../app.croft/fix-login", "--json").wantJSON(t, croft.ExitOK,
		`{"version":1,"path":"/home/ann/app.croft/fix-login"}`)
	want := []string{"feat/login", filepath.FromSlash("/home/ann/app.croft/fix-login")}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
}

func TestSh(t *testing.T) {
	r := newRun(&fake{workspace: found(fixLogin())})
	status := 0
	var dir string
	var env []string
	r.env.Shell = func(_ context.Context, d string, e []string) (int, error) {
		dir, env = d, e
		return status, nil
	}
	r.call(t, "sh", "fix-login").want(t, croft.ExitOK, "", "fix-login: ../app.croft/fix-login on croft/fix-login, leave with exit\n")
	if dir != fixLogin().Path {
		t.Errorf("the shell runs in %q", dir)
	}
	want := []string{
		"CROFT=1", "CROFT_REPO=" + project, "CROFT_WORKSPACE=fix-login", "CROFT_WORKSPACE_BASE=1a2b3c4d5e6f", "CROFT_WORKSPACE_BRANCH=croft/fix-login",
		"CROFT_WORKSPACE_ID=a1", "CROFT_WORKSPACE_NAME=fix-login", "CROFT_WORKSPACE_PATH=/home/ann/app.croft/fix-login", "CROFT_WORKSPACE_TARGET=main",
	}
	if diff := cmp.Diff(want, env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	status = 7
	r.call(t, "sh", "-q").want(t, 7, "", "")
	r.env.Shell = func(context.Context, string, []string) (int, error) { return 0, errors.New("no such shell") }
	r.call(t, "sh", "-q").want(t, croft.ExitFailure, "", "croft: unexpected failure\n  no such shell\n")
	r.call(t, "sh", "--json").wantJSON(t, croft.ExitUsage, `{"version":1,"error":{"code":"INVALID_REQUEST","op":"sh",
		"message":"a shell has no JSON, use `+"`croft path --json` or `croft show --json`"+`","hint":"croft sh --help"}}`)
}

func TestShInWhatIsNotReady(t *testing.T) {
	ws := fixLogin()
	ws.State = croft.Creating
	newRun(&fake{workspace: found(ws)}).call(t, "sh", "fix-login").want(t, croft.ExitRefused, "",
		"croft: fix-login: no shell in a workspace that is creating\nhint: croft show fix-login\n")
}

func TestCdExplains(t *testing.T) {
	newRun(nil).call(t, "cd", "fix-login").want(t, croft.ExitUsage, "",
		"croft: changing the directory needs croft's shell function\n"+
			"  add the hint's line to the start-up file of your shell; `croft sh NAME` works without it\n"+
			"hint: eval \"$(croft shell-init bash)\"\n")
}

func TestLockAndUnlock(t *testing.T) {
	var asked croft.LockRequest
	answer := func(req croft.LockRequest) (*croft.Workspace, error) {
		asked = req
		ws := fixLogin()
		return &ws, nil
	}
	r := newRun(&fake{lock: answer, unlock: answer})
	r.call(t, "lock", "fix-login", "--reason", "review").want(t, croft.ExitOK, "", "fix-login: locked\n")
	if diff := cmp.Diff(croft.LockRequest{Repo: project, Workspace: "fix-login", Reason: "review"}, asked); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	r.call(t, "unlock", "fix-login").want(t, croft.ExitOK, "", "fix-login: unlocked\n")
	if diff := cmp.Diff(croft.LockRequest{Repo: project, Workspace: "fix-login"}, asked); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	r.call(t, "lock", "fix-login", "--json").wantJSON(t, croft.ExitOK, `{"version":1,"workspace":`+fixLoginJSON+`}`)
}

func TestRoleUpdate(t *testing.T) {
	svc := &fake{
		workspace: found(fixLogin()),
		copyRole: func(req croft.RoleRequest) (*croft.Role, error) {
			if diff := cmp.Diff(croft.RoleRequest{Repo: project, Workspace: "a1"}, req); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			return &croft.Role{Name: "reviewer", Dir: "/r", Files: []string{"AGENTS.md", "CLAUDE.md"}}, nil
		},
	}
	r := newRun(svc)
	r.call(t, "role", "update").want(t, croft.ExitOK, "", "fix-login: copied AGENTS.md, CLAUDE.md of role reviewer\n")
	r.call(t, "role", "update", "fix-login", "--json").wantJSON(t, croft.ExitOK, `{"version":1,"workspace":"fix-login",
		"role":{"name":"reviewer","dir":"/r","files":["AGENTS.md","CLAUDE.md"]}}`)
}

// vanishing has a workspace that is removed between two looks at it.
type vanishing struct{ looks int }

func (v *vanishing) Workspace(_ context.Context, req croft.WorkspaceRequest) (*croft.Workspace, error) {
	v.looks++
	if v.looks == 1 {
		return &croft.Workspace{ID: "x", State: croft.Ready}, nil
	}
	if req.Ref != croft.ByID("x") {
		return nil, errors.New("another workspace may have the name by now")
	}
	return &croft.Workspace{ID: "x", State: croft.Trashed}, nil
}

func (v *vanishing) Status(context.Context, croft.StatusRequest) (*croft.Status, error) {
	return nil, &croft.Error{Code: croft.WorktreeNotFound}
}

// TestShowVanishing: a workspace that is merged and removed while show looks at it is shown as removed.
func TestShowVanishing(t *testing.T) {
	ws, status, err := lookAtOne(t.Context(), &vanishing{}, croft.WorkspaceRequest{Ref: "name"})
	if err != nil || ws.State != croft.Trashed || status != nil {
		t.Errorf("%+v, %+v, %v", ws, status, err)
	}
}
