package dashboard_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/croft-sh/croft/internal/browsertest"
)

// screenshots is where pictures are put, for people to look at.
func screenshots() string { return os.Getenv("CROFT_SCREENSHOTS") }

// widths are those of a small phone, a tablet, a laptop and a large screen.
var widths = []int{360, 768, 1280, 1920}

// lookAtPages loads pages in light and dark and on a phone, lets axe-core look at each, and wants none to scroll sideways at
// any width.
func lookAtPages(t *testing.T, p *browsertest.Page, url string, pages []namedPage) {
	t.Helper()
	axe := axeSource(t)
	for name, look := range map[string]browsertest.Look{"light": browsertest.Desktop, "dark": browsertest.Dark, "phone": browsertest.Phone} {
		p.Show(look)
		for _, page := range pages {
			p.Go(url + page.path)
			p.Screenshot(screenshots(), page.name+"-"+name)
			audit(t, p, page.name+", "+name, axe)
			if name == "light" {
				for _, width := range widths {
					checkWidth(t, p, page.name, width)
				}
				p.Show(look)
			}
		}
	}
}

// checkWidth tries to scroll a page sideways at a width.
func checkWidth(t *testing.T, p *browsertest.Page, name string, width int) {
	t.Helper()
	p.Show(browsertest.Look{Width: width, Height: 900, Theme: "light"})
	var seen struct {
		Inner, Scrolled, Over float64
		Widest                string
	}
	p.Eval(`(() => {
		const root = document.scrollingElement;
		scrollTo(10000, 0);
		const scrolled = scrollX;
		scrollTo(0, 0);
		const isInside = (e) => { for (let p = e.parentElement; p; p = p.parentElement) if (getComputedStyle(p).overflowX !== 'visible') return true; return false; };
		const over = [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !isInside(e));
		return { inner: innerWidth, scrolled, over: root.scrollWidth - root.clientWidth, widest: over[0]?.outerHTML.slice(0, 150) || '' };
	})()`, &seen)
	if int(seen.Inner) != width {
		t.Fatalf("%s: the browser is %v pixels wide, not %d", name, seen.Inner, width)
	}
	if seen.Scrolled != 0 || seen.Over > 0 {
		t.Errorf("%s scrolls sideways at %d: by %v of %v pixels, because of %s", name, width, seen.Scrolled, seen.Over, seen.Widest)
	}
}

// axeSource is the source of axe-core, if CROFT_AXE names its file. .ci/run installs it, and cannot do without.
func axeSource(t *testing.T) string {
	t.Helper()
	file := os.Getenv("CROFT_AXE")
	if file == "" {
		if browsertest.IsRequired() {
			t.Fatal("CROFT_AXE does not name axe.min.js of axe-core")
		}
		return ""
	}
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}

// audit lets axe-core look at a page, and wants no serious finding.
func audit(t *testing.T, p *browsertest.Page, name, axe string) {
	t.Helper()
	if axe == "" {
		return
	}
	p.Eval(axe+";0", nil)
	var found []string
	p.Eval(fmt.Sprintf(`axe.run(document, {resultTypes: ["violations"]}).then(r => (r.passes.length ? [] : ["axe looked at nothing"]).concat(
		r.violations.filter(v => ["serious", "critical"].includes(v.impact)).map(v => v.id + ": " +
			v.nodes.slice(0, %d).map(n => n.html.slice(0, 200) + " " + n.failureSummary.slice(0, 200)).join(" | "))))`, 3), &found)
	for _, f := range found {
		t.Errorf("%s: %s", name, f)
	}
}
