package dashboard_test

import (
	"os"
	"testing"

	"github.com/croft-sh/croft/internal/browsertest"
)

// TestBrowser loads the pages in a real browser: one for all of them, because it takes a second to
// start.
func TestBrowser(t *testing.T) {
	b := browsertest.Launch(t)
	t.Run("looks", func(t *testing.T) { testLooks(t, b) })
}

// screenshots is where pictures are put, for people to look at.
func screenshots() string { return os.Getenv("CROFT_SCREENSHOTS") }

// testLooks loads every page, in light and dark and on a phone, and wants none to be wider
// than its screen.
func testLooks(t *testing.T, b *browsertest.Browser) {
	s := newSite(t)
	pages := s.furnish()
	p := b.Open(t, s.url, browsertest.ScriptOn)
	for name, look := range map[string]browsertest.Look{"light": browsertest.Desktop, "dark": browsertest.Dark, "phone": browsertest.Phone} {
		p.Show(look)
		for _, page := range pages {
			p.Go(s.url + page.path)
			var over int
			p.Eval("document.documentElement.scrollWidth-innerWidth", &over)
			if over > 0 {
				t.Errorf("%s, %s: %d pixels too wide", page.name, name, over)
			}
			p.Screenshot(screenshots(), page.name+"-"+name)
		}
	}
}

type namedPage struct{ name, path string }

// furnish makes workspaces in many states, and returns the pages that show them.
func (s *site) furnish() []namedPage {
	s.t.Helper()
	ready := s.make("a11y-checkout", map[string]string{"web/checkout.tsx": "one\ntwo\n"})
	s.finish(ready)
	s.make("idle-one", nil)
	return []namedPage{{"inbox", "/"}, {"queues", "/queue"}, {"notfound", "/nosuch"}}
}
