package cli

import (
	"encoding/json"
	"errors"
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

func TestReap(t *testing.T) {
	var asked croft.ReapRequest
	svc := &fake{reap: func(req croft.ReapRequest) (*croft.CleanResult, error) {
		asked = req
		return cleanAnswer(), nil
	}}
	r := newRun(svc)
	r.call(t, "reap", "--older-than", "7d", "--force").want(t, croft.ExitOK,
		"old         trash t1                  deleted croft/old\ncroft/left  branch deleted, tip kept\n",
		"kept b: a process is inside\n")
	want := croft.ReapRequest{Repo: project, OlderThan: 7 * 24 * time.Hour, Mode: croft.RemoveForce}
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

func TestReapNothing(t *testing.T) {
	svc := &fake{reap: func(croft.ReapRequest) (*croft.CleanResult, error) { return &croft.CleanResult{}, nil }}
	r := newRun(svc)
	r.call(t, "reap").want(t, croft.ExitOK, "", "nothing to reap\n")
	r.call(t, "reap", "--json").wantJSON(t, croft.ExitOK, `{"version":1,"removed":[],"kept":[],"branches":[]}`)
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
			want:   []croft.CleanRequest{{Repo: project, DryRun: croft.DryRunOn}, {Repo: project}},
			stdout: "old         trash t1                  deleted croft/old\ncroft/left  branch deleted, tip kept\n",
		},
		{
			name: "asked, no", terminal: TerminalInteractive, answer: "n\n",
			want: []croft.CleanRequest{{Repo: project, DryRun: croft.DryRunOn}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var asked []croft.CleanRequest
			r := newRun(&fake{clean: func(req croft.CleanRequest) (*croft.CleanResult, error) {
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
	r := newRun(&fake{clean: func(croft.CleanRequest) (*croft.CleanResult, error) { return cleanAnswer(), nil }})
	r.env.Terminal = TerminalInteractive
	r.call(t, "clean").want(t, croft.ExitOK, "",
		"old  to the trash\ncroft/left  branch to be deleted, tip kept\nRemove 1 workspace and 1 branch? [y/N] \n")
}

func TestGC(t *testing.T) {
	svc := &fake{gc: func(repo string) (*croft.GCResult, error) {
		if repo != project {
			t.Errorf("repo %q", repo)
		}
		return &croft.GCResult{Purged: []croft.ID{"t1"}, Bytes: 1234567, Branches: []string{"croft/x"}}, nil
	}}
	r := newRun(svc)
	r.call(t, "gc").want(t, croft.ExitOK, "t1       trash deleted\ncroft/x  branch deleted, tip kept\n", "1.2 MB freed\n")
	r.call(t, "gc", "--json").wantJSON(t, croft.ExitOK, `{"version":1,"purged":["t1"],"bytes":1234567,"branches":["croft/x"]}`)
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
	newRun(svc).call(t, "gc", "--auto").want(t, croft.ExitFailure, "", "")
	if reaped != 1 || collected != 1 {
		t.Errorf("reaped %d times, collected %d times", reaped, collected)
	}
}

func TestDoctor(t *testing.T) {
	open := croft.Finding{Code: "WORKSPACE_MISSING", Subject: "fix-login", Message: "its directory is gone"}
	fixed := croft.Finding{Code: "RECORD_LOST", Subject: "b", Message: "its record was rebuilt", Fixed: true}
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
			stderr: "1 finding left to fix\nhint: croft doctor --fix\n",
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
