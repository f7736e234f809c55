package git

import (
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestAdvanceFiltersInTheCheckout: a filter that is a program of the checkout, and attributes that are named relative
// to it, count for the files of a checkout that goes along.
func TestAdvanceFiltersInTheCheckout(t *testing.T) {
	for name, configure := range map[string]func(*gittest.Repo){
		"program": func(r *gittest.Repo) {
			script(t, filepath.Join(r.Dir, "tools", "up"), "tr a-z A-Z")
			script(t, filepath.Join(r.Dir, "tools", "down"), "tr A-Z a-z")
			r.Git("config", "--global", "filter.case.smudge", "./tools/up")
			r.Git("config", "--global", "filter.case.clean", "./tools/down")
			r.Write(".gitattributes", "*.up filter=case\n")
		},
		"attributes": func(r *gittest.Repo) {
			r.Write("tools/attributes", "*.up text eol=crlf\n")
			r.Git("config", "--global", "core.attributesFile", "tools/attributes")
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := gittest.New(t)
			configure(r)
			r.Write("x.up", "OLD\r\n")
			old := r.Commit("second")
			now := next(r, map[string]string{"x.up": "NEW\r\n", "y.up": "NEW\r\n"})
			if err := advance(t, open(t, r), old, now); err != nil {
				t.Fatal(err)
			}
			for _, file := range []string{"x.up", "y.up"} {
				if got := readFile(t, filepath.Join(r.Dir, file)); got != "NEW\r\n" {
					t.Errorf("%s became %q", file, got)
				}
			}
			if got := r.Git("status", "--porcelain"); got != "" {
				t.Errorf("status: %s", got)
			}
		})
	}
}
