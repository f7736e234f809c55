package cli

import (
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

// TestConfigTrustRefusesFirst: where nothing can be approved, the user is not asked.
func TestConfigTrustRefusesFirst(t *testing.T) {
	plan := croft.CheckPlan{Target: "main", Checks: []string{"make test"}, Hash: "abc", Refusal: &croft.Error{
		Code: croft.ChecksUntrusted, Message: "not from here", Hint: "cd /p && croft config trust --target main",
	}}
	r := newRun(&fake{checks: func(croft.ChecksRequest) (*croft.CheckPlan, error) { return &plan, nil }})
	r.env.Terminal, r.stdin = TerminalInteractive, "y\n"
	for _, args := range [][]string{{"config", "trust"}, {"config", "trust", "--yes"}} {
		r.call(t, args...).want(t, croft.ExitRefused, "", "croft: not from here\nhint: cd /p && croft config trust --target main\n")
	}
	r.call(t, "config", "trust", "-n")
	if r.exit != croft.ExitOK || r.stdout.String() != "make test\n" {
		t.Errorf("-n: exit %d, %q", r.exit, r.stdout.String())
	}
}

// Only a person at a terminal can approve checks, or a CROFT_TRUST with their hash, and the
// approval covers the checks that were shown.
func TestConfigTrust(t *testing.T) {
	for _, tt := range []struct {
		name     string
		args     []string
		terminal Terminal
		answer   string
		approved bool // from before
		named    bool // by CROFT_TRUST
		want     bool // it is approved now
		hash     bool // it is said, for a program
		exit     int
	}{
		{name: "asked, yes", terminal: TerminalInteractive, answer: "y\n", want: true},
		{name: "asked, no", terminal: TerminalInteractive, answer: "n\n", exit: croft.ExitRefused},
		{name: "asked, nothing said", terminal: TerminalInteractive, exit: croft.ExitRefused},
		{name: "nobody there", exit: croft.ExitRefused, hash: true},
		{name: "nobody there, a yes in the input", answer: "y\n", exit: croft.ExitRefused, hash: true},
		{name: "a program on a terminal", args: []string{"--json"}, terminal: TerminalInteractive, answer: "y\n", exit: croft.ExitRefused},
		{name: "flag, nobody there", args: []string{"--yes"}, exit: croft.ExitRefused, hash: true},
		{name: "flag, nobody there, in JSON", args: []string{"--yes", "--json"}, exit: croft.ExitRefused},
		{name: "flag", args: []string{"--yes"}, terminal: TerminalInteractive, want: true},
		{name: "flag, in JSON", args: []string{"--yes", "--json"}, terminal: TerminalInteractive, want: true},
		{name: "named", approved: true, named: true, want: true},
		{name: "named, in JSON", args: []string{"--json"}, approved: true, named: true, want: true},
		{name: "named, dry", args: []string{"-n"}, approved: true, named: true, hash: true},
		{name: "dry", args: []string{"-n"}, hash: true},
		{name: "dry at a terminal", args: []string{"-n", "--yes"}, terminal: TerminalInteractive, answer: "y\n", hash: true},
		{name: "approved already", approved: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plan := croft.CheckPlan{Target: "main", Commit: "0123456789", Checks: []string{"make test"}, Hash: "abc", IsApproved: tt.approved, IsNamed: tt.named}
			var got *croft.ApproveRequest
			svc := &fake{
				checks: func(req croft.ChecksRequest) (*croft.CheckPlan, error) {
					if req != (croft.ChecksRequest{Repo: project, Target: "rel"}) {
						t.Errorf("asked for %+v", req)
					}
					p := plan
					return &p, nil
				},
				approve: func(req croft.ApproveRequest) (*croft.CheckPlan, error) {
					got = &req
					p := plan
					p.IsApproved = true
					return &p, nil
				},
			}
			r := newRun(svc)
			r.env.Terminal, r.stdin = tt.terminal, tt.answer
			r.call(t, append([]string{"config", "trust", "--target", "rel"}, tt.args...)...)
			if r.exit != tt.exit || (got != nil) != tt.want {
				t.Fatalf("exit %d, approved %+v\n%s", r.exit, got, r.stderr.String())
			}
			if got != nil && *got != (croft.ApproveRequest{Repo: project, Target: "main", Hash: "abc", From: project}) {
				t.Errorf("approved %+v", got)
			}
			if strings.Contains(strings.Join(tt.args, " "), "--json") {
				want := map[bool]string{true: "true", false: "false"}[tt.want]
				if tt.named {
					want += `,"named":true`
				}
				r.wantJSON(t, tt.exit, `{"version":1,"trust":{"target":"main","commit":"0123456789","checks":["make test"],"hash":"abc","approved":`+want+`}}`)
			} else if r.stdout.String() != "make test\n" || strings.Contains(r.stderr.String(), "CROFT_TRUST=abc") != tt.hash {
				t.Errorf("stdout %q, stderr %q", r.stdout.String(), r.stderr.String())
			}
		})
	}
}
