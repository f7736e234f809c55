package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/listing"
	"github.com/croft-sh/croft/internal/screen"
	"github.com/google/go-cmp/cmp"
)

// nine are workspaces in their states, as in a day with agents.
func nine() []croft.Workspace {
	type row struct {
		name           string
		state          croft.Condition
		why            string
		work           [4]int // lines and commits
		idle           time.Duration
		action, isLate string
	}
	var list []croft.Workspace
	for i, r := range []row{
		{"search-index", croft.ConditionConflict, "src/f1.txt with fix-login", [4]int{2, 1, 1, 9}, 4 * time.Minute, "merge --resolve", ""},
		{"rate-limit", croft.ConditionCheckFailed, "go test: TestRateLimit", [4]int{14, 3, 2, 9}, 2 * time.Minute, "logs", ""},
		{"dark-mode", croft.ConditionFailed, "the agent gave up", [4]int{41, 8, 1, 3}, 26 * time.Minute, "diff", ""},
		{"flaky-tests", croft.ConditionDirty, "2 files not committed", [4]int{9, 9, 0, 3}, 9 * 24 * time.Hour, "diff", ""},
		{"fix-login", croft.ConditionPending, "finished", [4]int{128, 40, 4, 0}, time.Minute, "merge", ""},
		{"csv-export", croft.ConditionChecking, "go test ./... 8s", [4]int{310, 0, 7, 0}, 8 * time.Second, "", ""},
		{"db-migration", croft.ConditionWorking, "claude, 12m", [4]int{64, 2, 1, 0}, 3 * time.Second, "", ""},
		{"upgrade-deps", croft.ConditionEmpty, "", [4]int{0, 0, 0, 12}, 2 * time.Hour, "sh", ""},
		{"api-docs", croft.ConditionMerged, "as 2527144", [4]int{}, time.Hour, "remove", ""},
	} {
		ws := fixLogin()
		ws.ID, ws.Name, ws.Status, ws.Why, ws.Next = croft.ID(fmt.Sprint(i)), r.name, r.state, r.why, nil
		ws.Path, ws.Branch = filepath.FromSlash("/home/ann/app.croft/")+r.name, "croft/"+r.name
		ws.Work = &croft.Work{
			Seen: []croft.Aspect{croft.AspectCommits, croft.AspectFiles}, Added: r.work[0], Deleted: r.work[1], Ahead: r.work[2], Behind: r.work[3],
			IdleSince: noon.Add(-r.idle),
		}
		if r.action != "" {
			ws.Next = &croft.Next{Command: "croft " + r.action + " " + r.name}
		}
		list = append(list, ws)
	}
	list[6], list[0] = list[0], list[6] // the order is not that of the kinds
	return list
}

func listOfAll(list []croft.Workspace) *run {
	r := newRun(&fake{workspaces: func(croft.WorkspacesRequest) ([]croft.Workspace, error) { return slices.Clone(list), nil }})
	r.env.Dir = filepath.FromSlash("/home/ann/app.croft/fix-login/src")
	return r
}

// compareGolden compares a text with a file; CROFT_UPDATE=1 writes it.
func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("CROFT_UPDATE") == "1" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// TestListOnTerminals: the list as it is at terminals of several widths, with and without colour,
// and in ASCII.
func TestListOnTerminals(t *testing.T) {
	var b strings.Builder
	show := func(what string, width int, change func(*Env)) {
		r := listOfAll(nine())
		r.env.Width = width
		change(&r.env)
		r.call(t, "list")
		fmt.Fprintf(&b, "== %s\n%s%s", what, r.stdout.String(), r.stderr.String())
	}
	for _, width := range []int{50, 60, 80, 100, 120, 140} {
		show(fmt.Sprint(width, " columns"), width, func(*Env) {})
	}
	show("ASCII", 80, func(e *Env) { e.IsASCII = true })
	show("a pipe", 0, func(*Env) {})
	show("colour", 80, func(e *Env) { e.Color, e.ErrColor = ColorTerminal, ColorTerminal })
	compareGolden(t, "list.golden", b.String())
}

// TestListFits: no line is wider than its terminal, and no command is cut, whatever workspaces are
// called.
func TestListFits(t *testing.T) {
	list := nine()
	list[0].Name = strings.Repeat("long-", 12)
	list[1].Name = strings.Repeat("検索", 15)
	list[2].Name = "🚀🚀-launch-👩‍🚀-🇩🇪-e\u0301"
	for i := range list[:3] {
		list[i].Branch, list[i].Why = "croft/"+list[i].Name, strings.Repeat("because ", 9)
		list[i].Next = &croft.Next{Command: "croft merge --resolve " + shellWord(list[i].Name)}
	}
	for width := 50; width <= 200; width++ {
		for _, isASCII := range []bool{false, true} {
			r := listOfAll(list)
			r.env.Width, r.env.IsASCII = width, isASCII
			r.call(t, "list")
			full := strings.Contains(r.stdout.String(), "croft merge --resolve")
			for line := range strings.Lines(r.stdout.String() + r.stderr.String()) {
				line = strings.TrimSuffix(line, "\n")
				if screen.Width(line) > width || strings.HasSuffix(line, " ") {
					t.Errorf("%d columns: %q", width, line)
				}
			}
			for _, ws := range list {
				if ws.Next == nil {
					continue
				}
				command := listing.ShortCommand(ws.Next.Command, ws.Name)
				if full {
					command = ws.Next.Command
				}
				command = printable(command) // a terminal does not show what has no width
				if !strings.Contains(r.stdout.String(), "  "+command+"\n") {
					t.Errorf("%d columns: no line ends in %q:\n%s", width, command, r.stdout.String())
				}
			}
		}
	}
}

// TestLongNameYields: one long name is cut before the reasons of all others go.
func TestLongNameYields(t *testing.T) {
	list := nine()
	list[len(list)-1].Name = strings.Repeat("long-", 12) + "name"
	for width, want := range map[int]string{100: "long-long-l…-long-name", 120: "long-long-long-l…g-long-long-name"} {
		r := listOfAll(list)
		r.env.Width = width
		r.call(t, "list")
		if got := r.stdout.String(); !strings.Contains(got, want+" ") || !strings.Contains(got, "  src/f1.txt") {
			t.Errorf("%d columns, want %q and reasons:\n%s", width, want, got)
		}
	}
}

// TestReasonStays: a reason has the columns that are free, down to ten of them. The question of an agent stays where
// other columns can go.
func TestReasonStays(t *testing.T) {
	asking := nine()
	asking[0].Status, asking[0].Why = croft.ConditionWaiting, "asks: drop the old table?"
	asking[1].Name = strings.Repeat("long-", 12)
	short := nine()[1:4]
	short[0].Next = nil
	for _, c := range []struct {
		list        []croft.Workspace
		width       int
		want, isNot string
	}{
		{nine()[:3], 80, "  go test: T…  ", "NEXT …"},
		{asking, 80, "  asks: drop the …  ", " IDLE "},
		{asking, 72, "  asks: drop the …\n", "WORK"},
		{short, 76, "  the agent gav…  ", "croft …"},
	} {
		r := listOfAll(c.list)
		r.env.Width = c.width
		r.call(t, "list")
		if got := r.stdout.String(); !strings.Contains(got, c.want) || strings.Contains(got, c.isNot) {
			t.Errorf("%d columns, want %q without %q:\n%s", c.width, c.want, c.isNot, got)
		}
	}
}

// TestListEndsWithUrgent: a list that is taller than the terminal ends with what needs somebody first, because its
// beginning is not seen; its heading stands there, too.
func TestListEndsWithUrgent(t *testing.T) {
	for height, isReversed := range map[int]bool{60: false, 13: false, 12: true, 5: true} {
		for _, order := range []string{"", "kind"} {
			r := listOfAll(nine())
			r.env.Width, r.env.Size = 100, func() (int, int) { return 100, height }
			args := []string{"list"}
			if order != "" {
				args = append(args, "--sort", order)
			}
			r.call(t, args...)
			lines := strings.Split(strings.TrimSpace(r.stdout.String()), "\n")
			last := lines[len(lines)-1]
			if want := isReversed && order == ""; want != strings.Contains(last, "NAME") || want && !strings.Contains(lines[len(lines)-2], "search-index") && !strings.Contains(lines[len(lines)-2], "rate-limit") {
				t.Errorf("%d rows, order %q: it ends in %q", height, order, last)
			}
		}
	}
}

// TestListOfProjects: the workspaces of several projects stand below the name of each.
func TestListOfProjects(t *testing.T) {
	list := nine()[:3]
	list[1].Repo = filepath.FromSlash("/home/ann/web")
	svc := &fake{workspaces: func(croft.WorkspacesRequest) ([]croft.Workspace, error) { return slices.Clone(list), nil }}
	svc.repos = []croft.Repo{{Path: project, Branch: "main", Head: "e00e2719aaaa"}, {Path: list[1].Repo}}
	r := newRun(svc)
	r.env.Width, r.env.Home = 80, filepath.FromSlash("/home/ann")
	r.call(t, "list", "-A").want(t, croft.ExitOK,
		"app  ~/app  main@e00e271\n"+
			"  ! dark-mode     failed        the agent …  +41 −8  ↑1 ↓3     26m  diff\n"+
			"  ◐ db-migration  working       claude, 12m  +64 −2  ↑1         3s\n"+
			"web  ~/web\n"+
			"  ✗ rate-limit    check failed  go test: T…  +14 −3  ↑2 ↓9      2m  logs\n",
		"    1 stuck, 1 to look at, 1 at work\n")
	r.env.Width = 0
	r.call(t, "list", "-A")
	for _, part := range []string{"PROJECT  NAME ", "\napp      db-migration ", "\nweb      rate-limit ", "croft logs rate-limit --repo /home/ann/web\n"} {
		if !strings.Contains(r.stdout.String(), part) {
			t.Errorf("no %q in\n%s", part, r.stdout.String())
		}
	}
}

// TestListOrders: the names alone, in each order.
func TestListOrders(t *testing.T) {
	list := nine()[:3]
	for i := range list {
		list[i].CreatedAt = noon.Add(time.Duration(i) * time.Minute)
	}
	r := listOfAll(list)
	r.call(t, "list", "--names").want(t, croft.ExitOK, "db-migration\nrate-limit\ndark-mode\n", "")
	r.call(t, "list", "--names", "--sort", "name").want(t, croft.ExitOK, "dark-mode\ndb-migration\nrate-limit\n", "")
	r.call(t, "list", "--names", "--sort", "kind").want(t, croft.ExitOK, "rate-limit\ndark-mode\ndb-migration\n", "")
	r.env.Width = 80
	r.call(t, "list", "--names").want(t, croft.ExitOK, "rate-limit\ndark-mode\ndb-migration\n", "")
	r.call(t, "list", "--names", "--sort", "age").want(t, croft.ExitOK, "db-migration\nrate-limit\ndark-mode\n", "")
	r.call(t, "list", "--json")
	if out := r.stdout.String(); strings.Index(out, "db-migration") > strings.Index(out, "rate-limit") {
		t.Errorf("with --json the order is that of a terminal: %s", out)
	}
	r.call(t, "list", "--sort", "size").want(t, croft.ExitUsage, "", "croft: unknown order \"size\": kind, age or name\nhint: croft list --help\n")
}

// TestShortCommand: what is left out of a command stands beside it.
func TestShortCommand(t *testing.T) {
	for command, want := range map[string]string{
		"croft merge --resolve x": "merge --resolve", "croft queue run": "queue run", "croft logs x --repo /p": "logs",
		"cd /p && croft config trust --target main": "show", "": "", "croft config trust --setup x": "config trust --setup",
	} {
		if got := listing.ShortCommand(command, "x"); got != want {
			t.Errorf("%q: %q, want %q", command, got, want)
		}
	}
}

// TestWatch: the list is shown in place of what the terminal has, again with every change, and the
// terminal gets that back. A workspace whose state has changed stands out.
func TestWatch(t *testing.T) {
	list := nine()
	looks, stop := 0, func() {}
	events := make(chan struct{})
	svc := &fake{events: events, workspaces: func(croft.WorkspacesRequest) ([]croft.Workspace, error) {
		switch looks++; looks {
		case 1:
			go func() { events <- struct{}{} }()
		case 2:
			list[0].Status = croft.ConditionQueued
			if len(list) > 1 { // of those that there is room for
				list[1].Status = croft.ConditionConflict
			}
		case 3:
			stop()
		}
		return slices.Clone(list), nil
	}}
	r := newRun(svc)
	watch := func(args ...string) string {
		looks = 0
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stop = cancel
		r.stdout.Reset()
		r.env.Args, r.env.Stdin, r.env.Stdout, r.env.Stderr = args, strings.NewReader(""), &r.stdout, &r.stderr
		if exit := Main(ctx, r.env); exit != croft.ExitOK {
			t.Errorf("%v: exit %d: %s", args, exit, r.stderr.String())
		}
		return r.stdout.String()
	}
	r.env.Width, r.env.Color = 80, ColorTerminal
	r.env.Size = func() (int, int) { return 80, 8 }
	shown := watch("list", "--watch")
	text, ok := strings.CutPrefix(shown, enterScreen)
	text, isBack := strings.CutSuffix(text, leaveScreen)
	if !ok || !isBack {
		t.Errorf("the terminal is not left as it was: %q", shown)
	}
	frames := strings.Split(strings.TrimPrefix(text, beginFrame), beginFrame)
	if len(frames) != 2 {
		t.Fatalf("%d frames", len(frames))
	}
	if strings.Contains(frames[0], "\x1b[1;31m") || strings.Count(frames[1], "\x1b[1;31m") != 1 || !strings.Contains(frames[1], "\x1b[1;31mconflict") {
		t.Errorf("what has changed does not stand out: %q", frames)
	}
	for i, frame := range frames {
		lines := strings.Split(strings.TrimSuffix(frame, endFrame), endLine)
		if len(lines) != 8 || !strings.Contains(lines[5], "and 5 more") || lines[7] != "    \x1b[2m· ctrl-c ends\x1b[0m" {
			t.Errorf("frame %d: %q", i, lines)
		}
	}
	list = list[:1]
	list[0].Status = croft.ConditionWorking
	lines := strings.Split(strings.TrimSpace(watch("list", "--watch", "--json")), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"status":"working"`) || !strings.Contains(lines[1], `"status":"queued"`) {
		t.Errorf("with --json: %q", lines)
	}
	changed := list[0]
	changed.Status, changed.Why = croft.ConditionQueued, "2nd"
	svc.workspaces = func(croft.WorkspacesRequest) ([]croft.Workspace, error) {
		switch looks++; looks {
		case 1:
			go func() { events <- struct{}{} }()
			first := changed
			first.Why = "1st"
			return []croft.Workspace{first}, nil
		case 2:
			go func() { events <- struct{}{} }()
			return []croft.Workspace{changed}, nil
		case 4:
			stop()
		}
		return nil, nil
	}
	lines = strings.Split(strings.TrimSpace(watch("list", "--watch", "--json")), "\n")
	if len(lines) != 3 || !strings.Contains(lines[1], `"why":"2nd"`) || !strings.Contains(lines[2], `"gone":["`+string(changed.ID)+`"]`) {
		t.Errorf("another reason, and gone: %q", lines)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // what is not refused ends at once
	refused := func(args ...string) {
		t.Helper()
		r.stderr.Reset()
		r.env.Args, r.env.Stdout, r.env.Stderr = append([]string{"list", "--watch"}, args...), &r.stdout, &r.stderr
		if exit := Main(ctx, r.env); exit != croft.ExitUsage || !strings.HasPrefix(r.stderr.String(), "croft: --watch ") {
			t.Errorf("%v: exit %d, stderr %q", args, exit, r.stderr.String())
		}
	}
	r.env.IsDumb = true
	refused()
	r.env.IsDumb = false
	for _, flag := range []string{"--names", "--foreign", "--limit=2"} {
		refused("--json", flag)
	}
	r.env.Width = 0
	r.call(t, "list", "--watch").want(t, croft.ExitUsage, "", "croft: --watch needs a terminal that can be written over; with --json it prints each change\nhint: croft list --help\n")
}
