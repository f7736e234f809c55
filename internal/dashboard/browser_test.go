package dashboard_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/browsertest"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestBrowser loads the pages in a real browser: one for all of them, because it takes a second to
// start.
func TestBrowser(t *testing.T) {
	b := browsertest.Launch(t)
	t.Run("looks", func(t *testing.T) { testLooks(t, b) })
	t.Run("hostile", func(t *testing.T) { testHostileInBrowser(t, b) })
	for _, script := range []browsertest.Script{browsertest.ScriptOn, browsertest.ScriptOff} {
		t.Run("buttons"+string(script), func(t *testing.T) { testButtons(t, b, script) })
	}
	t.Run("keys", func(t *testing.T) { testKeys(t, b) })
	t.Run("live", func(t *testing.T) { testLive(t, b) })
	t.Run("frame", func(t *testing.T) { testLiveFrame(t, b) })
	t.Run("changes", func(t *testing.T) { testOldChanges(t, b) })
	t.Run("old", func(t *testing.T) { testOldReview(t, b) })
	t.Run("long", func(t *testing.T) { testLongInBrowser(t, b) })
}

// testLooks looks at the pages of workspaces, queues and lists.
func testLooks(t *testing.T, b *browsertest.Browser) {
	s := newSite(t, "echo vetting", "test ! -e bad.txt || { echo '--- FAIL: TestReserve_Timeout (5.01s)'; exit 1; }")
	pages := s.furnish()
	lookAtPages(t, b.Open(t, s.url, browsertest.ScriptOn), s.url, pages)
}

type namedPage struct{ name, path string }

// furnish makes workspaces in many states, and returns the pages that show them.
func (s *site) furnish() []namedPage {
	t := s.t
	t.Helper()
	var lines strings.Builder
	for i := range 600 {
		fmt.Fprintf(&lines, "line %d\n", i)
	}
	ready := s.make("a11y-checkout", map[string]string{"web/checkout.tsx": "one\ntwo\n", "web/lock.json": lines.String(), "docs/a.md": "text\n"})
	s.commit(ready, "Keep keys for a day, sweep hourly, and say in the log how many went and how many are kept for the next hour\n\nA key that is older\nhas no use.", map[string]string{"web/keys.ts": "1\n2\n3\n"})
	s.finish(ready)
	gittest.WriteFile(t, filepath.Join(ready.Path, "web/late.ts"), "late\n")
	empty := s.make("upgrade-deps", nil)
	first := s.make("payments-refund", map[string]string{"src/main.txt": "ours\ntwo\nthree\n"})
	conflict := s.make("cart-rounding", map[string]string{"src/main.txt": "theirs\ntwo\nthree\n"})
	failing := s.make("fix-flaky-TestInventoryReservation-ConcurrentHoldsAcrossWarehouses", map[string]string{"bad.txt": "x\n"})
	later := s.make("docs-typos", map[string]string{"README.md": "# App\n"})
	for _, ws := range []*croft.Workspace{first, conflict, failing} {
		s.merge(ws)
	}
	docs := s.merge(later)
	s.merge(s.make("login-throttle", map[string]string{"src/main.txt": "ours, throttled\ntwo\nthree\n"}))
	if _, err := croft.Revert(t.Context(), s.svc, croft.RevertRequest{Merge: docs.ID}); err != nil {
		t.Fatal(err)
	}
	s.make("tax-vat", map[string]string{"src/main.txt": "vat\ntwo\nthree\n", "tax.go": "package tax\n"})
	s.make("tax-vat-2027", map[string]string{"tax.go": "package vat\n"})
	queued := s.make("rate-limit-login", map[string]string{"login.txt": "l\n"})
	if _, err := s.svc.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: croft.ByID(queued.ID)}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.svc.ChangeQueue(t.Context(), croft.QueueRequest{Action: croft.QueueHold, Reason: "after the demo"}); err != nil {
		t.Fatal(err)
	}
	gone := s.make("nat-cost", map[string]string{"n.txt": "n\n"})
	if _, err := s.svc.Discard(t.Context(), croft.DiscardRequest{Workspaces: []croft.Ref{croft.ByID(gone.ID)}}); err != nil {
		t.Fatal(err)
	}
	s.post(s.at(ready, "snapshot"), "reason", "before its rebase")
	s.post(s.at(ready, "lock"), "reason", "demo at three")
	undo := regexp.MustCompile(`href="([^"]*/undo/[a-z0-9]+)"`).FindStringSubmatch(s.get("/history"))
	log := regexp.MustCompile(`href="(/r/[^"]*/log\?check=[a-z0-9]+)"`).FindStringSubmatch(s.get(s.at(failing, "checks")))
	return []namedPage{
		{"inbox", "/"},
		{"filtered", "/?state=idle"},
		{"queues", "/queue"},
		{"queue", s.in("queue")},
		{"conflicts", s.in("conflicts")},
		{"history", "/history"},
		{"trash", "/trash"},
		{"workspace-ready", s.at(ready, "")},
		{"workspace-commits", s.at(ready, "commits")},
		{"workspace-commits-merged", s.at(first, "commits")},
		{"workspace-commits-empty", s.at(empty, "commits")},
		{"workspace-activity", s.at(ready, "activity")},
		{"workspace-activity-merged", s.at(first, "activity")},
		{"workspace-activity-failed", s.at(failing, "activity")},
		{"workspace-snapshots", s.at(ready, "snapshots")},
		{"workspace-conflict", s.at(conflict, "")},
		{"workspace-checks", s.at(failing, "checks")},
		{"workspace-merged", s.at(first, "")},
		{"workspace-held", s.at(queued, "")},
		{"file", s.at(ready, "file?path=web/lock.json")},
		{"log", log[1]},
		{"confirm-discard", s.at(ready, "discard")},
		{"confirm-revert", s.at(first, "revert")},
		{"confirm-undo", undo[1]},
		{"notfound", "/nosuch"},
		{"gone", s.in("w/login-throttle")},
		{"gone-discarded", s.in("w/nat-cost")},
		{"error", s.at(ready, "file?path=x")},
	}
}

// testHostileInBrowser: nothing that an agent chose runs. A dialog, an exception, a refusal by the policy
// and a request elsewhere fail the test.
func testHostileInBrowser(t *testing.T, b *browsertest.Browser) {
	s := newSite(t, `cat d/* ; printf '\033]0;x\007<script>alert(10)</script>\n'`)
	pages := s.furnishHostile()
	p := b.Open(t, s.url, browsertest.ScriptOn)
	for _, page := range pages {
		p.Go(s.url + page.path)
		if p.Has("main img, main script") {
			t.Errorf("%s has elements of an agent's", page.name)
		}
	}
}

// testButtons presses the buttons of a workspace's life, with and without scripts.
func testButtons(t *testing.T, b *browsertest.Browser, script browsertest.Script) {
	s := newSite(t)
	ws := s.make("fix", map[string]string{"a.txt": "a\n"})
	s.finish(ws)
	p := b.Open(t, s.url, script)

	p.Go(s.url + "/")
	if script == browsertest.ScriptOff { // the script does it without a load
		p.Follow(`.theme button[value=dark]`)
	} else {
		p.Click(`.theme button[value=dark]`)
	}
	p.Go(s.url + "/")
	p.WaitFor(`document.documentElement.dataset.theme==="dark"`)

	p.Click(`.scope summary`)
	p.Follow(`.scope a[href="` + s.in("") + `"]`)
	p.Follow(`#w-` + string(ws.ID) + ` .name`)
	p.Click(`.page-head .menu summary`)
	p.Follow(`form[action$="/snapshot"] button`)
	p.Follow(`.tabs a:nth-child(5)`)
	if !strings.Contains(p.Text("main"), "asked for by ada") {
		t.Errorf("no snapshot: %s", p.Text("main"))
	}
	p.Click(`#snapshots details summary`)
	p.Follow(`#snapshots form[action$="/snapshots"] button`)
	p.Click(`.page-head .menu summary`)
	p.Follow(`form[action$="/lock"] button`)
	p.Click(`.page-head .menu summary`)
	p.Follow(`form[action$="/unlock"] button`)

	p.Go(s.url + "/")
	p.Follow(`#t-` + string(ws.ID) + ` form button`)
	p.Go(s.url + s.in("queue"))
	p.Follow(`#waiting form[action$="/hold"] button`)
	p.Follow(`#waiting form[action$="/release"] button`)
	if _, err := s.svc.DriveLanes(t.Context(), croft.DriveRequest{}); err != nil {
		t.Fatal(err)
	}
	p.Go(s.url + s.at(ws, ""))
	p.Follow(`a[href$="/revert"]`)
	p.Follow(`main .btn.danger`)
	if path := p.Path(); path != s.in("queue")+"?target=main" {
		t.Errorf("the undo leads to %s", path)
	}
	if _, err := s.svc.DriveLanes(t.Context(), croft.DriveRequest{}); err != nil {
		t.Fatal(err)
	}
	p.Go(s.url + "/trash")
	p.Follow(`#trash form button`)
	if path := p.Path(); path != s.at(ws, "") {
		t.Errorf("the restoration leads to %s", path)
	}
	p.Click(`.page-head .menu summary`)
	p.Follow(`.menu-pop a.danger`)
	p.Follow(`main .btn.danger`)
	p.Go(s.url + "/history")
	p.Follow(`a[href*="/undo/"]`)
	p.Follow(`main form .btn`)
	if _, err := s.svc.Workspace(t.Context(), croft.WorkspaceRequest{Ref: croft.ByID(ws.ID)}); err != nil {
		t.Errorf("the discarding was not undone: %v", err)
	}
	p.Go(s.url + "/")
	p.Click(`#w-` + string(ws.ID) + ` input`)
	p.Follow(`.bulk button[value=snapshot]`)
	p.Go(s.url + "/?state=idle")
	p.Follow(`.chips a:first-child`)
	if s.forged > 0 {
		t.Errorf("%d forms had no token", s.forged)
	}
}

// testKeys goes through the pages with the keyboard alone.
func testKeys(t *testing.T, b *browsertest.Browser) {
	s := newSite(t)
	ws := s.make("fix", map[string]string{"a.txt": "a\n"})
	s.finish(ws)
	p := b.Open(t, s.url, browsertest.ScriptOn)
	p.Go(s.url + "/")
	p.Press("?")
	p.WaitFor(`document.querySelector("#keys").open`)
	p.Press("Escape")
	p.WaitFor(`!document.querySelector("#keys").open`)
	p.Press("j")
	p.PressAndLoad("Enter")
	if path := p.Path(); path != s.at(ws, "") {
		t.Fatalf("j and Enter lead to %s", path)
	}
	p.PressAndLoad("3")
	if path := p.Path(); path != s.at(ws, "activity") {
		t.Errorf("3 leads to %s", path)
	}
	p.Press("m")
	p.WaitFor(`document.activeElement.matches("[data-main]")`)
	p.Press("g")
	p.PressAndLoad("h")
	if path := p.Path(); path != s.in("history") {
		t.Errorf("g h leads to %s", path)
	}
	p.Press("/")
	p.Press("x")
	p.PressAndLoad("Enter")
	if path := p.Path(); path != s.in("history")+"?q=x" {
		t.Errorf("a search leads to %s", path)
	}
}

// testLive sees what others do without a load.
func testLive(t *testing.T, b *browsertest.Browser) {
	wait := t.TempDir()
	s := newSite(t, "echo first line; while [ ! -e "+wait+"/go ]; do sleep 0.05; done; echo last line")
	ws := s.make("fix", map[string]string{"a.txt": "a\n"})
	p := b.Open(t, s.url, browsertest.ScriptOn)
	p.Go(s.url + "/")
	p.Eval("window.stays=true", nil)
	s.finish(ws)
	p.WaitFor(`document.querySelector("#w-` + string(ws.ID) + ` .c-state").innerText==="ready to merge"`)
	p.WaitFor("window.stays") // the row came without a load

	m, err := s.svc.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: croft.ByID(ws.ID)})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan *croft.Merge, 1)
	go func() { done <- s.wait(m.ID) }()
	p.Go(s.url + s.in("queue"))
	p.WaitFor(`document.querySelector("#out")?.innerText.includes("first line")`)
	log := b.Open(t, s.url, browsertest.ScriptOn)
	log.Go(s.url + s.at(ws, "checks"))
	log.WaitFor(`document.querySelector("#out")?.innerText.includes("first line")`)
	log.Follow(`a[href*="/log?check="]`)
	log.WaitFor(`document.querySelector("h1 + .badge").innerText==="running"`)
	if err := os.WriteFile(wait+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-done
	log.WaitFor(`document.querySelector("h1 + .badge")?.innerText==="passed" && document.querySelector("#out").innerText.includes("\nlast line")`)
	p.WaitFor(`document.querySelector("#ended")?.innerText.includes("merged")`)
	if out := p.Text("#out"); strings.Count(out, "\nfirst line\n") > 1 || strings.Count(out, "\nlast line\n") > 1 {
		t.Errorf("output was added twice: %s", out)
	}
	// A page whose server has gone says so, and from when it is; it recovers by itself.
	p.Go(s.url + "/")
	p.WaitFor(`document.querySelector("#live").innerText==="live"`)
	s.isDown.Store(true)
	s.server.CloseClientConnections()
	p.WaitFor(`!document.querySelector("#banner").hidden && document.querySelector("#banner").innerText.includes("What you see is from")`)
	s.isDown.Store(false)
}

// testLongInBrowser opens a long file of a diff on request, and wants it to be quick.
func testLongInBrowser(t *testing.T, b *browsertest.Browser) {
	s := newSite(t)
	var long strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&long, "line %d\n", i)
	}
	ws := s.make("long", map[string]string{"long.txt": long.String()})
	p := b.Open(t, s.url, browsertest.ScriptOn)
	begun := time.Now()
	p.Go(s.url + s.at(ws, ""))
	p.Click("details.file summary")
	p.WaitFor(`document.querySelectorAll("details.file .cd").length===1500`)
	t.Logf("20,000 lines: shown after %v", time.Since(begun))
	p.Follow("details.file .note a")
	if !strings.Contains(p.Text(".pager"), "Lines 1501 to 3000 of 20,000") {
		t.Errorf("the next lines: %s", p.Text(".pager"))
	}
}
