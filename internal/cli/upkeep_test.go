package cli

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/google/go-cmp/cmp"
)

func jsonField(t *testing.T, r *run, key string) any {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal(r.stdout.Bytes(), &object); err != nil {
		t.Fatal(err)
	}
	value, ok := object[key]
	if !ok {
		t.Fatalf("no %q in %s", key, r.stdout.String())
	}
	return value
}

func cleanAnswer() *croft.CleanResult {
	return &croft.CleanResult{
		Removed:  []croft.Removed{{ID: "a1", Name: "old", Trash: "t1", Branch: "croft/old"}},
		Kept:     []croft.Kept{{Name: "b", Reason: &croft.Error{Code: croft.WorkspaceBusy, Op: "reap", Message: "a process is inside"}}},
		Branches: []string{"croft/left"},
	}
}

// clean is the status of an unchanged workspace.
func clean(id croft.ID) (*croft.Status, error) { return &croft.Status{Workspace: id}, nil }

func TestReap(t *testing.T) {
	var asked croft.ReapRequest
	svc := &fake{status: clean, reap: func(req croft.ReapRequest) (*croft.CleanResult, error) {
		asked = req
		return cleanAnswer(), nil
	}}
	r := newRun(svc)
	r.call(t, "reap", "--older-than", "7d", "--force").want(t, croft.ExitOK,
		"old         trash t1                  deleted croft/old\ncroft/left  branch deleted, tip kept\n",
		"kept b: a process is inside\n")
	want := croft.ReapRequest{Repo: project, OlderThan: croft.Duration(7 * 24 * time.Hour), Mode: croft.RemoveForce}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	r.call(t, "reap", "-n", "--json").wantJSON(t, croft.ExitOK, `{"version":1,"dryRun":true,
		"removed":[{"id":"a1","name":"old","trash":"t1","branch":"croft/old"}],
		"kept":[{"name":"b","reason":{"code":"WORKSPACE_BUSY","op":"reap","message":"a process is inside"}}],
		"branches":["croft/left"]}`)
	if diff := cmp.Diff(croft.ReapRequest{Repo: project, DryRun: croft.DryRunOn}, asked); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

// TestImportAsksWhatItDoes: the question names the directories that were found, and is not
// asked if none of them can be imported.
func TestImportAsksWhatItDoes(t *testing.T) {
	lost := croft.Finding{Code: "RECORD_LOST", Subject: "/w/b", Message: "no record", Seen: "1", CanFix: true}
	replaced := croft.Finding{Code: "WORKSPACE_REPLACED", Subject: "fix-login", Message: "a copy", Seen: "2", CanFix: true}
	other := croft.Finding{Code: "LOCK_STALE", Subject: "index.lock", Message: "a lock"}
	for _, tt := range []struct {
		findings []croft.Finding
		question string
	}{
		{[]croft.Finding{lost}, "Make a record of it? "},
		{[]croft.Finding{lost, lost, other}, "Make records of them? "},
		{[]croft.Finding{replaced}, "Take the copy at the path of fix-login for the workspace? "},
		{[]croft.Finding{replaced, replaced}, "Take the copies at the paths of fix-login, fix-login for the workspaces? "},
		{[]croft.Finding{replaced, lost}, "Make records of what has none, and take the copy at the path of fix-login for the workspace? "},
		{[]croft.Finding{other}, ""},
	} {
		r := newRun(&fake{doctor: func(croft.DoctorRequest) ([]croft.Finding, error) { return tt.findings, nil }})
		r.env.Terminal, r.stdin = TerminalInteractive, "n\n"
		r.call(t, "doctor", "--import")
		said := strings.ReplaceAll(r.stderr.String(), "\n", " ")
		if tt.question != "" && !strings.HasPrefix(said, tt.question) || tt.question == "" && strings.Contains(said, "?") {
			t.Errorf("asks %q, want %q", said, tt.question)
		}
	}
}

// TestDoctorIsNotCut: at a terminal a finding is wrapped and not cut, so that its remedy,
// which comes last, can be read.
func TestDoctorIsNotCut(t *testing.T) {
	found := []croft.Finding{
		{Code: "BORROWS_ELSEWHERE", Subject: "fix-login", Message: "Its git directory borrows objects from a place that it does not have. Look at what it names, then run croft doctor --fix once more."},
		{Code: "LOCK_STALE", Subject: "index.lock", Message: "A lock is left.", Fixed: true},
	}
	r := newRun(&fake{doctor: func(croft.DoctorRequest) ([]croft.Finding, error) { return found, nil }})
	r.env.Width = 60
	r.call(t, "doctor").want(t, croft.ExitFailure, `✗ fix-login
      Its git directory borrows objects from a place that it
      does not have. Look at what it names, then run
      croft doctor --fix once more.
✓ index.lock  mended  A lock is left.
`, "1 finding left to fix\n")
	r.env.Width = 0
	r.call(t, "doctor").want(t, croft.ExitFailure, "found  BORROWS_ELSEWHERE  fix-login   "+found[0].Message+"\n"+
		"fixed  LOCK_STALE         index.lock  A lock is left.\n", "1 finding left to fix\n")
}

func TestReapNothing(t *testing.T) {
	svc := &fake{reap: func(croft.ReapRequest) (*croft.CleanResult, error) { return &croft.CleanResult{}, nil }}
	r := newRun(svc)
	r.call(t, "reap", "--yes").want(t, croft.ExitOK, "", "nothing to reap\n")
	r.call(t, "reap", "--yes", "--json").wantJSON(t, croft.ExitOK, `{"version":1,"removed":[],"kept":[],"branches":[]}`)
}

// TestCleanNamesEmpty: the command that removes empty workspaces fits into the terminal, however many there are.
func TestCleanNamesEmpty(t *testing.T) {
	svc := &fake{clean: func(croft.CleanRequest) (*croft.CleanResult, error) { return &croft.CleanResult{}, nil }}
	svc.workspaces = func(croft.WorkspacesRequest) ([]croft.Workspace, error) {
		a, b := fixLogin(), fixLogin()
		a.Work, b.Name, b.Work = &croft.Work{Seen: []croft.Aspect{croft.AspectFiles}}, "search-index", &croft.Work{Seen: []croft.Aspect{croft.AspectFiles}}
		return []croft.Workspace{a, b}, nil
	}
	r := newRun(svc)
	r.call(t, "clean", "--yes").want(t, croft.ExitOK, "", "nothing to clean\n2 are empty: croft remove fix-login search-index\n")
	r.env.Width, r.env.ErrWidth = 40, 40
	r.call(t, "clean", "--yes")
	if said := r.stderr.String(); !strings.Contains(said, "croft remove $(croft list --state empty --names)") {
		t.Errorf("says %q", said)
	}
}

func TestClean(t *testing.T) {
	for _, tt := range []struct {
		name     string
		args     []string
		terminal Terminal
		answer   string
		want     []croft.CleanRequest
		exit     int
		stdout   string
	}{
		{
			name: "dry run", args: []string{"--dry-run"},
			want:   []croft.CleanRequest{{Repo: project, DryRun: croft.DryRunOn}},
			stdout: "old         to the trash\ncroft/left  branch to be deleted, tip kept\n",
		},
		{
			name: "yes", args: []string{"--yes"},
			want:   []croft.CleanRequest{{Repo: project}},
			stdout: "old         trash t1                  deleted croft/old\ncroft/left  branch deleted, tip kept\n",
		},
		{
			name: "all, and something is kept", args: []string{"--yes", "--all"},
			want:   []croft.CleanRequest{{Repo: project, All: croft.ScopeAll}},
			exit:   croft.ExitRefused,
			stdout: "old         trash t1                  deleted croft/old\ncroft/left  branch deleted, tip kept\n",
		},
		{
			name: "asked, yes", terminal: TerminalInteractive, answer: "y\n",
			want: []croft.CleanRequest{{Repo: project, DryRun: croft.DryRunOn}, {
				Repo: project, Agreed: &croft.Agreed{Workspaces: []croft.ID{"a1"}, Branches: []string{"croft/left"}},
			}},
			stdout: "old         trash t1                  deleted croft/old\ncroft/left  branch deleted, tip kept\n",
		},
		{
			name: "asked, no", terminal: TerminalInteractive, answer: "n\n",
			want: []croft.CleanRequest{{Repo: project, DryRun: croft.DryRunOn}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var asked []croft.CleanRequest
			r := newRun(&fake{status: clean, clean: func(req croft.CleanRequest) (*croft.CleanResult, error) {
				asked = append(asked, req)
				return cleanAnswer(), nil
			}})
			r.env.Terminal, r.stdin = tt.terminal, tt.answer
			r.call(t, append([]string{"clean"}, tt.args...)...)
			if r.exit != tt.exit || r.stdout.String() != tt.stdout {
				t.Errorf("exit %d, stdout %q, want %d, %q", r.exit, r.stdout.String(), tt.exit, tt.stdout)
			}
			if diff := cmp.Diff(tt.want, asked); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCleanShowsThePlan(t *testing.T) {
	r := newRun(&fake{status: clean, clean: func(croft.CleanRequest) (*croft.CleanResult, error) { return cleanAnswer(), nil }})
	r.env.Terminal = TerminalInteractive
	r.call(t, "clean").want(t, croft.ExitOK, "",
		"  old         to the trash\n  croft/left  branch to be deleted, tip kept\nMove 1 workspace to the trash and delete 1 branch? [y/N] \n")
}

// --all takes what is finished and what is not: the question says what is not.
func TestCleanAllShowsWhatIsNotCommitted(t *testing.T) {
	svc := &fake{
		clean: func(croft.CleanRequest) (*croft.CleanResult, error) { return cleanAnswer(), nil },
		workspace: func(req croft.WorkspaceRequest) (*croft.Workspace, error) {
			if req.Ref != "a1" {
				t.Errorf("asked for %q", req.Ref)
			}
			return &croft.Workspace{ID: "a1", Name: "old", Target: "main"}, nil
		},
		status: func(croft.ID) (*croft.Status, error) { return &croft.Status{Modified: 2, Ahead: 1}, nil },
	}
	r := newRun(svc)
	r.env.Terminal = TerminalInteractive
	r.call(t, "clean", "--all").want(t, croft.ExitOK, "",
		"  old         2 files not committed, 1 commit not in main → trash, 7 days\n  croft/left  branch to be deleted, tip kept\nMove 1 workspace to the trash and delete 1 branch? [y/N] \n")
	r.call(t, "clean", "--all", "--dry-run").want(t, croft.ExitOK,
		"old         2 files not committed, 1 commit not in main → trash, 7 days\ncroft/left  branch to be deleted, tip kept\n",
		"kept b: a process is inside\n")
}

func TestGC(t *testing.T) {
	svc := &fake{gc: func(repo string) (*croft.GCResult, error) {
		if repo != project {
			t.Errorf("repo %q", repo)
		}
		return &croft.GCResult{
			Purged: []croft.ID{"t1"}, Reduced: []croft.ID{"t2", "t7"}, Unseen: []croft.ID{"t7"}, Stripped: []croft.ID{"t2", "t3"}, Bytes: 1234567, Inodes: 89, Branches: []string{"croft/x"}, Forgotten: 3,
			Announced: []croft.Announcement{
				{ID: "t2", Name: "gone", Left: croft.LeftDirectory, At: noon, Reason: croft.TrashExpired}, // deleted at once
				{ID: "t4", Name: "wip", Left: croft.LeftDirectory, At: noon.Add(24 * time.Hour), Reason: croft.TrashOverBudget},
				{ID: "t5", Name: "old", Left: croft.LeftSnapshot, At: noon.Add(24 * time.Hour), Reason: croft.TrashExpired},
			},
			Kept: []croft.Kept{{ID: "t6", Name: "bad", Reason: &croft.Error{Message: "its directory stays", Details: "one\ntwo", Hint: "croft restore t6"}}},
		}, nil
	}}
	r := newRun(svc)
	r.call(t, "gc").want(t, croft.ExitOK,
		"t3       directories deleted that can be made again\n"+
			"t2       directory deleted, its work kept: croft restore t2\n"+
			"t7       its directory was never seen again; its commits, and what was staged, are kept: croft restore t7\n"+
			"t1       trash deleted\n"+
			"croft/x  branch deleted, tip kept\n",
		"1.2 MB and 89 inodes freed\n"+
			"forgotten, because nothing was left of them for long: 3 removed workspaces\n"+
			"wip: its directory goes from the trash in 24h, because the trash is over its budget; before that: croft restore t4\n"+
			"old: what is left of it goes from the trash in 24h, because its time is over; before that: croft restore t5\n"+
			"bad: its directory stays (one, two); croft restore t6\n")
	svc.gc = func(string) (*croft.GCResult, error) {
		return &croft.GCResult{
			Reduced: []croft.ID{"t7"}, Unseen: []croft.ID{"t7"},
			Announced: []croft.Announcement{{ID: "t4444444", Name: "wip", Left: croft.LeftDirectory, At: noon.Add(24 * time.Hour)}, {ID: "t5555555", Name: "twice", Left: croft.LeftDirectory, At: noon.Add(24 * time.Hour)}},
		}, nil
	}
	svc.trash = func(string) ([]croft.TrashItem, error) {
		return []croft.TrashItem{{ID: "t7", Name: "g1"}, {ID: "t4444444", Name: "wip"}, {ID: "t5555555", Name: "twice"}, {ID: "t6666666", Name: "twice"}}, nil
	}
	r.env.Width = 60                                                                                                                                                                           // the command at the end is not cut off
	r.call(t, "gc").want(t, croft.ExitOK, "✓ 1 directory deleted from the trash\ng1  its directory was never seen again; its commits, and\n    what was staged, are kept: croft restore g1\n", // by the name, where that is there once
		"wip: its directory goes from the trash in 24h, because its time is over; before that: croft restore wip\ntwice: its directory goes from the trash in 24h, because its time is over; before that: croft restore t555\n")
	svc.gc = func(string) (*croft.GCResult, error) {
		return &croft.GCResult{Reduced: []croft.ID{"t1", "t2"}, Stripped: []croft.ID{"t2", "t3"}, Branches: []string{"croft/x"}, Bytes: 1234567}, nil
	}
	r.env.Width = 100
	r.call(t, "gc", "--dry-run").want(t, croft.ExitOK, "○ 2 directories would be deleted from the trash  1.2 MB; their work stays restorable\n"+
		"○ 1 removed workspace would be rid of what can be made again\n○ 1 branch would be deleted  croft/x; the tips are kept\n", "")
	r.call(t, "gc").want(t, croft.ExitOK, "✓ 2 directories deleted from the trash  1.2 MB; their work stays restorable\n"+
		"✓ 1 removed workspace rid of what can be made again\n✓ 1 branch deleted  croft/x; the tips are kept\n", "")
	r.env.Width = 0
	svc.gc = func(string) (*croft.GCResult, error) {
		return &croft.GCResult{
			Bytes: 5, Forgotten: 3, Announced: []croft.Announcement{{ID: "t4", Name: "wip", Left: croft.LeftDirectory, At: noon, Reason: croft.TrashOverBudget}},
		}, nil
	}
	r.call(t, "gc", "--json").wantJSON(t, croft.ExitOK, `{"version":1,"purged":[],"reduced":[],"stripped":[],"bytes":5,"inodes":0,"branches":[],"forgotten":3,
		"announced":[{"id":"t4","name":"wip","left":"directory","at":"2026-01-02T12:00:00Z","reason":"budget"}],"kept":[]}`)
}

func TestTrash(t *testing.T) {
	whole := croft.TrashItem{
		ID: "t1", Name: "wip", Branch: "croft/wip", Path: "/w/wip", Bytes: 1234567, Inodes: 89, Left: croft.LeftDirectory,
		RemovedAt: noon.Add(-time.Hour), ExpiresAt: noon.Add(168 * time.Hour), PurgeAt: noon.Add(5 * time.Hour), Stripped: []string{"node_modules"},
	}
	saved := croft.TrashItem{
		ID: "t2", Name: "old", Path: "/w/old", Left: croft.LeftSnapshot, RemovedAt: noon.Add(-240 * time.Hour), ExpiresAt: noon.Add(480 * time.Hour),
	}
	svc := &fake{
		repo:  func(string) (*croft.Repo, error) { return &croft.Repo{Path: "/root"}, nil },
		trash: func(string) ([]croft.TrashItem, error) { return []croft.TrashItem{whole, saved}, nil },
	}
	r := newRun(svc)
	const table = "ID  NAME  BRANCH     SIZE      INODES  REMOVED  KEPT FOR\n" +
		"t1  wip   croft/wip  1.2 MB    89      1h ago   5h\n" +
		"t2  old   -          snapshot  0       10d ago  20d\n"
	const announced = "wip goes from the trash in 5h, and is not in its target; before that: croft restore t1\n"
	r.call(t, "trash").want(t, croft.ExitOK, table, "in all 1.2 MB, 89 inodes\n"+announced)
	r.env.Config = func(root string, _ map[string]string) (ConfigView, error) {
		if root != "/root" {
			t.Errorf("root %q", root)
		}
		return ConfigView{Values: []ConfigValue{{Key: "trash.max_bytes", Value: "2000000", Source: "default"}, {Key: "trash.max_inodes", Value: "100", Source: "default"}}}, nil
	}
	r.call(t, "trash").want(t, croft.ExitOK, table, "in all 1.2 MB of 2.0 MB, 89 of 100 inodes\n"+announced)
	r.call(t, "trash", "--json").wantJSON(t, croft.ExitOK, `{"version":1,"bytes":1234567,"inodes":89,"maxBytes":2000000,"maxInodes":100,"trash":[
		{"id":"t1","name":"wip","branch":"croft/wip","path":"/w/wip","bytes":1234567,"inodes":89,"left":"directory","stripped":["node_modules"],
			"removedAt":"2026-01-02T11:00:00Z","expiresAt":"2026-01-09T12:00:00Z","purgeAt":"2026-01-02T17:00:00Z"},
		{"id":"t2","name":"old","path":"/w/old","bytes":0,"inodes":0,"left":"snapshot",
			"removedAt":"2025-12-23T12:00:00Z","expiresAt":"2026-01-22T12:00:00Z"}]}`)
}

// TestTrashSaysWhatStays: the trash does not announce the deletion of an entry that gc
// could not delete, and gives no time for the one that the next gc deletes.
func TestTrashSaysWhatStays(t *testing.T) {
	over := croft.TrashItem{
		ID: "t1", Name: "over", Left: croft.LeftDirectory, RemovedAt: noon.Add(-240 * time.Hour), ExpiresAt: noon.Add(-72 * time.Hour), PurgeAt: noon.Add(-time.Hour),
	}
	stays := over
	stays.ID, stays.Name, stays.Stays = "t2", "stays", "one\ntwo"
	svc := &fake{
		repo:  func(string) (*croft.Repo, error) { return &croft.Repo{Path: "/root"}, nil },
		trash: func(string) ([]croft.TrashItem, error) { return []croft.TrashItem{over, stays}, nil },
	}
	newRun(svc).call(t, "trash").want(t, croft.ExitOK, "ID  NAME   BRANCH  SIZE  INODES  REMOVED  KEPT FOR\n"+
		"t1  over   -       0 B   0       10d ago  until the next gc\n"+
		"t2  stays  -       0 B   0       10d ago  stays\n",
		"in all 0 B, 0 inodes\n"+
			"over goes from the trash with the next croft gc, and is not in its target; before that: croft restore t1\n"+
			"stays stays in the trash, because not all of it could be kept otherwise (one, two): croft restore t2\n")
}

func TestRestoreSaysWhatIsGone(t *testing.T) {
	ws := fixLogin()
	ws.Notes = []string{"gone from the trash, to be made again: node_modules"}
	svc := &fake{restore: func(croft.RestoreRequest) (*croft.Workspace, error) { return &ws, nil }}
	newRun(svc).call(t, "restore", "fix-login").want(t, croft.ExitOK, "",
		"fix-login: restored\nfix-login: gone from the trash, to be made again: node_modules\n")
}

func TestAutoGC(t *testing.T) {
	reaped, collected := 0, 0
	svc := &fake{
		reap: func(req croft.ReapRequest) (*croft.CleanResult, error) {
			reaped++
			if diff := cmp.Diff(croft.ReapRequest{Repo: project}, req); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			return nil, errors.New("no")
		},
		gc: func(string) (*croft.GCResult, error) { collected++; return &croft.GCResult{}, nil },
	}
	r, stepped := newRun(svc), 0
	r.env.Background = func() { stepped++ }
	r.call(t, "gc", "--auto").want(t, croft.ExitFailure, "", "")
	if reaped != 1 || collected != 1 || stepped != 1 {
		t.Errorf("reaped %d times, collected %d times, stepped back %d times", reaped, collected, stepped)
	}
	if r.call(t, "gc"); stepped != 1 {
		t.Error("stepped back although somebody waits")
	}
}

func TestDoctor(t *testing.T) {
	open := croft.Finding{Code: "WORKSPACE_MISSING", Subject: "fix-login", Message: "its directory is gone"}
	fixed := croft.Finding{Code: "RECORD_LOST", Subject: "b", Message: "its record was rebuilt", Fixed: true, CanFix: true}
	fixable := croft.Finding{Code: "RECORD_LOST", Subject: "b", Message: "its record is lost", CanFix: true}
	for _, tt := range []struct {
		args     []string
		findings []croft.Finding
		want     croft.DoctorRequest
		exit     int
		stdout   string
		stderr   string
	}{
		{args: nil, want: croft.DoctorRequest{Repo: project}, stderr: "all is well\n"},
		{
			args: nil, findings: []croft.Finding{open}, want: croft.DoctorRequest{Repo: project}, exit: croft.ExitFailure,
			stdout: "found  WORKSPACE_MISSING  fix-login  its directory is gone\n",
			stderr: "1 finding left to fix\n",
		},
		{
			args: nil, findings: []croft.Finding{fixable}, want: croft.DoctorRequest{Repo: project}, exit: croft.ExitFailure,
			stdout: "found  RECORD_LOST  b  its record is lost\n",
			stderr: "1 finding left to fix\n  next: croft doctor --fix\n",
		},
		{
			args: []string{"--fix"}, findings: []croft.Finding{fixed}, want: croft.DoctorRequest{Repo: project, Fix: croft.FixAll},
			stdout: "fixed  RECORD_LOST  b  its record was rebuilt\n",
		},
		{
			args: []string{"--fix"}, findings: []croft.Finding{fixed, open}, want: croft.DoctorRequest{Repo: project, Fix: croft.FixAll}, exit: croft.ExitFailure,
			stdout: "fixed  RECORD_LOST        b          its record was rebuilt\nfound  WORKSPACE_MISSING  fix-login  its directory is gone\n",
			stderr: "1 finding that croft does not fix by itself\n",
		},
	} {
		svc := &fake{doctor: func(req croft.DoctorRequest) ([]croft.Finding, error) {
			if diff := cmp.Diff(tt.want, req); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			return tt.findings, nil
		}}
		newRun(svc).call(t, append([]string{"doctor"}, tt.args...)...).want(t, tt.exit, tt.stdout, tt.stderr)
	}
	svc := &fake{doctor: func(croft.DoctorRequest) ([]croft.Finding, error) { return []croft.Finding{open}, nil }}
	newRun(svc).call(t, "doctor", "--json").wantJSON(t, croft.ExitFailure, `{"version":1,"findings":[
		{"code":"WORKSPACE_MISSING","subject":"fix-login","message":"its directory is gone","fixed":false}]}`)
}
