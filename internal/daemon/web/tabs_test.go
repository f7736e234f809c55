package web_test

import (
	"testing"

	"github.com/croft-sh/croft/internal/browsertest"
)

const isLive = `document.querySelector("#live")?.innerText==="live"`

// TestTabs: seven tabs are open, although a browser has six connections to a server and each page that is live
// takes one: those that are hidden give theirs back, and a tab that is shown again is live again.
func TestTabs(t *testing.T) {
	b := browsertest.Launch(t)
	v := newVictim(t)
	v.make("first", "x\n")
	tabs := []*browsertest.Page{b.Open(t, v.url, browsertest.ScriptOn)}
	v.logIn(tabs[0])
	tabs[0].WaitFor(isLive)
	for len(tabs) < 7 {
		tab := tabs[0].Beside()
		tab.Front()
		tab.Go(v.url + "/")
		tabs = append(tabs, tab)
	}
	tabs[6].WaitFor(isLive)
	tabs[0].WaitFor("document.hidden")
	tabs[0].Eval("window.was=true", nil)
	v.make("second", "x\n")
	tabs[6].WaitFor(`document.querySelector("#totals").innerText.startsWith("2 workspaces")`)
	tabs[0].Front()
	tabs[0].WaitFor(isLive + ` && document.querySelector("#totals").innerText.startsWith("2 workspaces")`)
}

// TestSessionEnds: a page whose session has ended, in another tab, leads to the login, and the login back to the page.
func TestSessionEnds(t *testing.T) {
	b := browsertest.Launch(t)
	v := newVictim(t)
	v.make("first", "x\n")
	p := b.Open(t, v.url, browsertest.ScriptOn)
	v.logIn(p)
	p.Go(v.url + "/history")
	p.WaitFor(isLive)
	other := p.Beside()
	other.Front()
	other.Go(v.url + "/settings")
	p.Front()
	other.Eval(`document.querySelector("form[action='/logout']").submit()`, nil)
	p.WaitFor(`document.querySelector("#tok") && location.pathname+location.search`)
	if path := p.Path(); path != "/login?next=%2Fhistory" {
		t.Errorf("the page of a session that has ended leads to %s", path)
	}
}
