package layout_test

import (
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/layout/layouttest"
)

// The rules once more, written independently of the package, so that the two can disagree.
var (
	badCharacter = regexp.MustCompile(`[/\\<>:"|?*\x00-\x1f\x7f]`)
	badEnd       = regexp.MustCompile(`^[-.]|[. ]$`)
	device       = regexp.MustCompile(`(?i)^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[1-9¹²³]) *(\.|$)`)
	refRules     = []struct {
		pattern *regexp.Regexp
		what    string // with the number in git-check-ref-format's manual page
	}{
		{regexp.MustCompile(`(^|/)\.|\.lock(/|$)`), "1: a component with a leading dot or .lock"},
		{regexp.MustCompile(`\.\.`), "3: two dots"},
		{regexp.MustCompile(`[\x00-\x20\x7f~^:]`), "4: control characters, space, ~, ^ or :"},
		{regexp.MustCompile(`[?*\[]`), "5: ?, * or ["},
		{regexp.MustCompile(`^/|/$|//`), "6: slashes"},
		{regexp.MustCompile(`\.$`), "7: a trailing dot"},
		{regexp.MustCompile(`@\{`), "8: @{"},
		{regexp.MustCompile(`^@$`), "9: @"},
		{regexp.MustCompile(`\\`), "10: a backslash"},
		{regexp.MustCompile(`^$`), "empty"},
		{regexp.MustCompile(`(^|/)-`), "a component that is an option"},
		{regexp.MustCompile(`(?i)^(HEAD|refs/.*)$`), "HEAD or a full ref"},
	}
)

// unsafeComponent says why s should not be one component of a path.
func unsafeComponent(s string) string {
	switch {
	case s == "" || badCharacter.MatchString(s):
		return "a character that does not belong in a file name"
	case badEnd.MatchString(s):
		return "a dash, dot or space at an end"
	case device.MatchString(s):
		return "a device"
	case len(s) > 255:
		return "too long"
	}
	return ""
}

// badRef says why branch should not be the name of a branch.
func badRef(branch string) string {
	for _, r := range refRules {
		if r.pattern.MatchString(branch) {
			return r.what
		}
	}
	if !utf8.ValidString(branch) || len(branch) > 200 {
		return "no UTF-8, or too long"
	}
	return ""
}

// verdict asserts that an error is a refusal with a code, and reports whether there was
// none.
func verdict(t *testing.T, input string, err error) bool {
	t.Helper()
	if err == nil {
		return true
	}
	var e *croft.Error
	if !errors.As(err, &e) || !slices.Contains(croft.Codes(), e.Code) || e.Code == croft.Internal {
		t.Fatalf("%q: refused without a code of its own: %v", input, err)
	}
	if strings.ContainsFunc(e.Error()+e.Hint, func(r rune) bool { return r < ' ' || r == 0x7f }) || !utf8.ValidString(e.Error()) {
		t.Fatalf("%q: the error cannot be shown: %q", input, e.Error())
	}
	return false
}

// harmless asserts the rules that every rendered layout must keep. It reports whether path
// and branch were rendered at all.
func harmless(t *testing.T, input string, l layout.Layout, v layout.Values) (path, branch bool) {
	t.Helper()
	p, err := l.RenderPath(v)
	if path = verdict(t, input, err); path {
		inside(t, input, l, v, p)
	}
	b, err := l.RenderBranch(v)
	if branch = verdict(t, input, err); branch {
		if what := badRef(b); what != "" {
			t.Fatalf("%q: branch %q breaks rule %s", input, b, what)
		}
	}
	return path, branch
}

func inside(t *testing.T, input string, l layout.Layout, v layout.Values, path string) {
	t.Helper()
	base := l.BaseDir(v.RepoPath, v.Repo, v.Home)
	rel, err := filepath.Rel(base, path)
	if err != nil || !filepath.IsAbs(path) || filepath.Clean(path) != path || rel == "." || !filepath.IsLocal(rel) {
		t.Fatalf("%q: path %q is not inside %q", input, path, base)
	}
	for c := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		if strings.HasPrefix(v.Repo, ".") {
			// Only a repository may be hidden, and a directory named after it.
			c = strings.TrimPrefix(c, ".")
		}
		if what := unsafeComponent(c); what != "" {
			t.Fatalf("%q: path %q holds %s", input, path, what)
		}
	}
	if back, err := filepath.Rel(path, v.RepoPath); err == nil && filepath.IsLocal(back) {
		t.Fatalf("%q: path %q lies over the repository", input, path)
	}
	if strings.Contains(strings.ToLower(path), string(filepath.Separator)+".git"+string(filepath.Separator)) {
		t.Fatalf("%q: path %q lies in git's own directory", input, path)
	}
}

func TestHostileNames(t *testing.T) {
	paths, branches := 0, 0
	for _, h := range layouttest.Hostile(1, 10_000) {
		for _, put := range []struct {
			preset string
			change func(*layout.Values)
		}{
			{"default", func(v *layout.Values) { v.Name = h }},
			{"default", func(v *layout.Values) { v.Slug = h }},
			{"default", func(v *layout.Values) { v.Repo = h }},
			{"agents", func(v *layout.Values) { v.ID = h }},
			{"swarm", func(v *layout.Values) { v.Role = h }},
			{"swarm", func(v *layout.Values) { v.Session = h }},
			{"sibling", func(v *layout.Values) { v.Name = h }},
			{"sibling", func(v *layout.Values) { v.Branch = h }},
			{"sibling", func(v *layout.Values) { v.Repo = h }},
		} {
			v := values()
			put.change(&v)
			path, branch := harmless(t, h, preset(t, put.preset), v)
			if path {
				paths++
			}
			if branch {
				branches++
			}
		}
		for _, check := range parts() {
			if verdict(t, h, check(h)) && (unsafeComponent(h) != "" || badRef(h) != "") {
				t.Fatalf("%q was accepted: %s %s", h, unsafeComponent(h), badRef(h))
			}
		}
		if verdict(t, h, layout.CheckBranch(h)) && badRef(h) != "" {
			t.Fatalf("branch %q was accepted: %s", h, badRef(h))
		}
		verdict(t, h, layout.CheckKey(h))
	}
	if paths == 0 || branches == 0 {
		t.Fatalf("%d paths and %d branches were rendered: the test shows nothing", paths, branches)
	}
}

func TestHostileTemplates(t *testing.T) {
	accepted := 0
	for _, h := range layouttest.Hostile(2, 10_000) {
		for _, path := range []string{h, h + "/{slug}", "../" + h + "/{slug}", "../x/{slug}" + h, ".worktrees/" + h + "{id}"} {
			l, err := preset(t, "default").With(path, "")
			if !verdict(t, path, err) {
				continue
			}
			accepted++
			p, err := l.RenderPath(values())
			if verdict(t, path, err) && filepath.IsLocal(mustRel(t, p, values().RepoPath)) {
				t.Fatalf("template %q: path %q lies over the repository", path, p)
			}
		}
		for _, branch := range []string{h, h + "{name}", "{name}" + h, h + "/{name}"} {
			l, err := preset(t, "default").With("", branch)
			if !verdict(t, branch, err) {
				continue
			}
			accepted++
			b, err := l.RenderBranch(values())
			if verdict(t, branch, err) && badRef(b) != "" {
				t.Fatalf("template %q: branch %q breaks rule %s", branch, b, badRef(b))
			}
		}
	}
	if accepted == 0 {
		t.Fatal("no template was accepted: the test shows nothing")
	}
}

func mustRel(t *testing.T, base, target string) string {
	t.Helper()
	rel, err := filepath.Rel(base, target)
	if err != nil {
		t.Fatal(err)
	}
	return rel
}

func TestHostileIsReproducible(t *testing.T) {
	first, second := layouttest.Hostile(7, 500), layouttest.Hostile(7, 500)
	if !slices.Equal(first, second) || len(first) != 500 {
		t.Fatal("the same seed gave different names")
	}
	if slices.Equal(first, layouttest.Hostile(8, 500)) {
		t.Fatal("another seed gave the same names")
	}
}

func TestHostileCoversWhatItSays(t *testing.T) {
	kinds := map[string]*regexp.Regexp{
		"traversal": regexp.MustCompile(`\.\./`),
		"dash":      regexp.MustCompile(`^-`),
		"at":        regexp.MustCompile(`^@$`),
		"HEAD":      regexp.MustCompile(`^HEAD$`),
		"control":   regexp.MustCompile(`[\x01-\x1f]`),
		"NUL":       regexp.MustCompile(`\x00`),
		"backslash": regexp.MustCompile(`\\`),
		"device":    regexp.MustCompile(`(?i)^nul(\.|$)`),
		"bidi":      regexp.MustCompile(`\x{202e}`),
	}
	all := layouttest.Hostile(1, 10_000)
	for kind, pattern := range kinds {
		if !slices.ContainsFunc(all, pattern.MatchString) {
			t.Errorf("no %s among them", kind)
		}
	}
	if !slices.ContainsFunc(all, func(s string) bool { return !utf8.ValidString(s) }) {
		t.Error("all are UTF-8")
	}
	if !slices.ContainsFunc(all, func(s string) bool { return len(s) >= 300 }) {
		t.Error("none is long")
	}
	twins, seen := false, map[string]string{}
	for _, s := range all {
		other, ok := seen[strings.ToLower(s)]
		twins = twins || ok && other != s
		seen[strings.ToLower(s)] = s
	}
	if !twins {
		t.Error("no case twins among them")
	}
}

func FuzzNames(f *testing.F) {
	for _, s := range layouttest.Hostile(9, 200) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		v := values()
		v.Name = name
		for _, l := range layout.Presets() {
			path, branch := harmless(t, name, l, v)
			if l.Name == "default" && layout.CheckName(name) == nil && (!path || !branch) {
				t.Fatalf("%q passes CheckName and does not render", name)
			}
		}
		if layout.CheckName(name) != nil {
			return
		}
		if what := badRef("croft/" + name); what != "" {
			t.Fatalf("%q passes CheckName: %s", name, what)
		}
	})
}
