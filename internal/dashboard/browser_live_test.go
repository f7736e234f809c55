package dashboard_test

import (
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/browsertest"
)

// testLiveFrame sees the title and the navigation follow what others do, but not under the focus; what was not
// shown because of that comes when the focus has gone.
func testLiveFrame(t *testing.T, b *browsertest.Browser) {
	s := newSite(t)
	ws := s.make("fix", map[string]string{"a.txt": "a\n"})
	p := b.Open(t, s.url, browsertest.ScriptOn)
	p.Go(s.url + "/new")
	p.WaitFor(`document.querySelector("#live").innerText==="live"`)
	p.Eval("window.stays=true", nil)
	p.Eval(`document.querySelector("#go-l").focus()`, nil)
	if _, err := s.svc.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: croft.ByID(ws.ID)}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.svc.ChangeQueue(t.Context(), croft.QueueRequest{Action: croft.QueueHold}); err != nil {
		t.Fatal(err)
	}
	s.make("second", nil)
	p.WaitFor(`document.querySelector("#totals").innerText.startsWith("2 workspaces")`)
	p.WaitFor(`document.activeElement.id==="go-l" && !document.querySelector("#go-l .count")`)
	p.Eval(`document.activeElement.blur()`, nil)
	p.WaitFor(`document.querySelector("#go-l .count")?.innerText==="1" && window.stays`)

	p.Go(s.url + "/")
	p.WaitFor(`document.querySelector("#live").innerText==="live"`)
	p.Eval("window.stays=document.title", nil)
	theirs := s.make("theirs", map[string]string{"b.txt": "theirs\n"})
	ours := s.make("ours", map[string]string{"b.txt": "ours\n"})
	s.merge(theirs)
	s.merge(ours)
	p.WaitFor(`document.title==="(1) Inbox · Croft" && document.querySelector("#go-i .count")?.innerText==="1" && window.stays==="Inbox · Croft"`)
}

// testOldChanges wants the changes of a workspace to stay while somebody reads them further down, and to be loaded again
// once that is over.
func testOldChanges(t *testing.T, b *browsertest.Browser) {
	s := newSite(t)
	ws := s.make("fix", map[string]string{"a.txt": numbered(300)})
	p := b.Open(t, s.url, browsertest.ScriptOn)
	p.Go(s.url + s.at(ws, ""))
	p.WaitFor(`document.querySelector("#live").innerText==="live"`)
	p.Eval("window.stays=true; scrollTo(0, 900)", nil)
	s.commit(ws, "more", map[string]string{"b.txt": "b\n"})
	s.snapshot(ws) // something is told
	p.WaitFor(`!document.querySelector("#old").hidden && window.stays && scrollY > 100`)
	p.Eval("scrollTo(0, 0)", nil)
	p.WaitFor(`!window.stays && document.querySelector("main").innerText.includes("b.txt")`)
}

// testOldReview wants a review to stay as it is, with what was chosen, and to say that it is old.
func testOldReview(t *testing.T, b *browsertest.Browser) {
	s, _, review := newReview(t)
	p := b.Open(t, s.url, browsertest.ScriptOn)
	p.Go(s.url + review)
	p.WaitFor(`document.querySelector("#live").innerText==="live" && document.querySelector("#old").hidden`)
	p.Eval("window.stays=true", nil)
	p.Click(`input[name=hunk]`)
	s.merge(s.make("elsewhere", map[string]string{"elsewhere.txt": "x\n"}))
	p.WaitFor(`!document.querySelector("#old").hidden && window.stays && !document.querySelector("input[name=hunk]").checked`)
	p.Follow(`#old a`)
	p.WaitFor(`document.querySelector("#old").hidden`)
}
