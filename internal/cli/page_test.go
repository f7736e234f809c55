package cli

import (
	"context"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

// paging is a call on a terminal of a height, with a pager that returns what it was given.
func paging(svc *fake, height int) (r *run, shown *string) {
	r, shown = newRun(svc), new(string)
	r.env.Width, r.env.Size = 80, func() (int, int) { return 80, height }
	r.env.Page = func(_ context.Context, text []byte) bool {
		*shown = string(text)
		return true
	}
	return r, shown
}

func longHistory(croft.HistoryRequest) ([]croft.Operation, error) {
	var list []croft.Operation
	for range 20 {
		list = append(list, croft.Operation{ID: "k3v9q2m7x4t1b8n5", Kind: "create", WorkspaceName: "fix-login", StartedAt: noon, State: "done", IsUndoable: true})
	}
	return list, nil
}

// TestPager: what is taller than the terminal is shown by the pager, and what is not, or is not to be, is printed.
func TestPager(t *testing.T) {
	plain := newRun(&fake{history: longHistory})
	plain.env.Width = 80
	want := plain.call(t, "history").stdout.String()
	rows := strings.Count(want, "\n")
	r, shown := paging(&fake{history: longHistory}, rows)
	if r.call(t, "history"); *shown != want || r.stdout.Len() > 0 || r.exit != croft.ExitOK {
		t.Errorf("the pager shows %q, and the terminal %q", *shown, r.stdout.String())
	}
	for name, args := range map[string][]string{"that fits": {"history"}, "--no-pager": {"history", "--no-pager"}, "--json": {"history", "--json"}} {
		height := rows
		if name == "that fits" {
			height++
		}
		r, shown := paging(&fake{history: longHistory}, height)
		if r.call(t, args...); *shown != "" || r.stdout.Len() == 0 {
			t.Errorf("%s: the pager shows %q, and the terminal %q", name, *shown, r.stdout.String())
		}
	}
	r, _ = paging(&fake{history: longHistory}, 5)
	r.env.Page = func(context.Context, []byte) bool { return false }
	r.call(t, "history").want(t, croft.ExitOK, want, r.stderr.String())
	r, shown = paging(&fake{history: longHistory}, 5)
	if r.env.Width = 0; r.call(t, "history").stdout.Len() == 0 || *shown != "" {
		t.Errorf("a pipe has a pager: %q", *shown)
	}
}

// TestPagerAndRemarks: what is remarked after a difference is seen after the pager, and an error, too.
func TestPagerAndRemarks(t *testing.T) {
	text := strings.Repeat("+line\n", 50)
	svc := &fake{diff: func(croft.DiffRequest) (*croft.Review, error) {
		return &croft.Review{WorkspaceName: "fix-login", HeldBack: []string{".env"}, Files: []croft.ReviewFile{{
			Path: "a.txt", Status: croft.FileAdded, NewMode: "100644", NewObject: "1234567890", Hunks: []croft.Hunk{{ID: 1, Header: "@@ -0,0 +1,50 @@", Text: text}},
		}}}, nil
	}}
	r, shown := paging(svc, 24)
	stderr := ""
	r.env.Page = func(_ context.Context, text []byte) bool {
		*shown, stderr = string(text), r.stderr.String()
		return true
	}
	if r.call(t, "diff", "fix-login"); strings.Count(*shown, "+line") != 50 || stderr != "" || !strings.Contains(r.stderr.String(), ".env") {
		t.Errorf("%q, %q before it, %q in the end", *shown, stderr, r.stderr.String())
	}
}
