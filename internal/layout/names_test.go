package layout_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/shellword"
)

func TestCheckNameAccepts(t *testing.T) {
	names := []string{
		"a", "PROJ-123", "feat/login", "über", "日本語", "Ω", "v1.2.3", "a_b", "a@b", "a{b", "user@{"[:5], "fix_head",
		"fix/head", "a/b/c/d", "x-", "#42", "a=b", "a,b", "$x", "a'b", "a.b/c.d", "refs", "refsx/y", "locks", "a.lockx",
		"con", "headless", strings.Repeat("x", 100), strings.Repeat("é", 50), strings.Repeat("a", 40),
	}
	for _, name := range names {
		if err := layout.CheckName(name); err != nil {
			t.Errorf("CheckName(%q): %v", name, err)
		}
	}
}

func TestCheckNameRefuses(t *testing.T) {
	tests := []struct{ name, problem, hint string }{
		{"", "is empty", "work"},
		{"-x", "starts with a dash", "x"},
		{"--force", "starts with a dash", "force"},
		{"feat/-x", "component that starts with a dash", "feat/x"},
		{"feat login", "holds a space", "feat-login"},
		{"a..b", "two dots", "a.b"},
		{"../../etc/passwd", "two dots", "etc/passwd"},
		{".hidden", "starts with a dot", "hidden"},
		{"a/.b", "starts with a dot", "a/b"},
		{"a.lock", `ends with ".lock"`, "a"},
		{"a.LOCK/b", `ends with ".lock"`, "a/b"},
		{"/a", "starts with a slash", "a"},
		{"a/", "ends with a slash", "a"},
		{"a//b", "two slashes", "a/b"},
		{"a.", "ends with a dot", "a"},
		{"a~b", `holds '~'`, "a-b"},
		{"a^b", `holds '^'`, "a-b"},
		{"a:b", `holds ':'`, "a-b"},
		{"a?b", `holds '?'`, "a-b"},
		{"a*b", `holds '*'`, "a-b"},
		{"a[b", `holds '['`, "a-b"},
		{`a\b`, `holds '\\'`, "a-b"},
		{"a@{b", `"@{"`, "a-b"},
		{"@", "another word for HEAD", "work"},
		{"HEAD", "git uses itself", "HEAD-w"},
		{"head", "git uses itself", "head-w"},
		{"fetch_head", "git uses itself", "fetch_head-w"},
		{"refs/heads/x", "full ref", "refs-heads-x"},
		{"Refs/x", "full ref", "Refs-x"},
		{"a\x00b", "U+0000", "a-b"},
		{"a\nb", "U+000A", "a-b"},
		{"a\x7fb", "U+007F", "a-b"},
		{"a\u009bb", "U+009B", "a-b"},
		{"a\u202eb", "U+202E", "a-b"},
		{"a\u2028b", "U+2028", "a-b"},
		{"a\xffb", "not valid UTF-8", "a-b"},
		{strings.Repeat("x", 101), "is 101 bytes long, more than 100", strings.Repeat("x", 80)},
		{strings.Repeat("é", 51), "is 102 bytes long", strings.Repeat("é", 40)},
	}
	for _, tt := range tests {
		t.Run(strconv.Quote(tt.name), func(t *testing.T) {
			e := refused(t, layout.CheckName(tt.name), croft.InvalidName)
			if e.Op != "name" {
				t.Errorf("op %q", e.Op)
			}
			if !strings.HasPrefix(e.Message, "name "+strconv.Quote(tt.name)+" ") || !strings.Contains(e.Message, tt.problem) {
				t.Errorf("message %q, want the value and %q", e.Message, tt.problem)
			}
			if want := "croft new " + shellword.Quote(tt.hint); e.Hint != want {
				t.Errorf("hint %q, want %q", e.Hint, want)
			}
		})
	}
}

func TestCheckBranch(t *testing.T) {
	for _, branch := range []string{"main", "croft/feat/login", "swarm/researcher-1", strings.Repeat("b", 200)} {
		if err := layout.CheckBranch(branch); err != nil {
			t.Errorf("CheckBranch(%q): %v", branch, err)
		}
	}
	for _, branch := range []string{
		"", "-b", "--detach", "HEAD", "@", "refs/heads/main", "a/-b", strings.Repeat("b", 201),
		strings.Repeat("0a", 20), strings.Repeat("0A", 32),
	} {
		e := refused(t, layout.CheckBranch(branch), croft.InvalidName)
		suggestion, err := strconv.Unquote(strings.TrimPrefix(e.Details, "accepted would be "))
		if err != nil || layout.CheckBranch(suggestion) != nil {
			t.Errorf("CheckBranch(%q): hint %q is not a valid branch", branch, e.Hint)
		}
	}
}

// parts are the checks for what becomes one component.
func parts() map[string]func(string) error {
	return map[string]func(string) error{
		"role":    layout.CheckRole,
		"session": layout.CheckSession,
		"label":   layout.CheckLabel,
		"agent":   layout.CheckAgent,
	}
}

func TestCheckParts(t *testing.T) {
	good := []string{
		"researcher", "1703849234567", "test-session-123", "abc123", "QA", "ünï", "a.b", "a_b", "x-", "console", "com0",
		"com10", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", strings.Repeat("x", 100), strings.Repeat("a", 40),
	}
	bad := []string{
		"", ".", "..", "a/b", `a\b`, "-x", ".x", "a.", "a ", "a b", "a:b", "a<b", "a>b", `a"b`, "a|b", "a?b", "a*b",
		"con", "CON", "nul", "NUL.txt", "aux.c", "prn", "com1", "COM9.x", "lpt1", "com\u00b9", "conin$", "CONOUT$",
		"a\x00", "a\tb", "\xff", "a\u202eb", "\u200c.git", "git~1", ".git", "HEAD", "@", "a@{b", "x.lock", "a..b",
		strings.Repeat("x", 101),
	}
	for noun, check := range parts() {
		for _, s := range good {
			if err := check(s); err != nil {
				t.Errorf("%s %q: %v", noun, s, err)
			}
		}
		for _, s := range bad {
			e := refused(t, check(s), croft.InvalidName)
			if !strings.HasPrefix(e.Message, noun+" ") {
				t.Errorf("message %q does not start with %s", e.Message, noun)
			}
			suggestion, err := strconv.Unquote(strings.TrimPrefix(e.Details, "accepted would be "))
			if err != nil || check(suggestion) != nil {
				t.Errorf("%s %q: %q is not valid itself", noun, s, e.Details)
			}
		}
	}
}

func TestCheckKey(t *testing.T) {
	for _, key := range []string{"a", "run 7/agent:3", "ключ", "-x", "..", strings.Repeat("k", 200)} {
		if err := layout.CheckKey(key); err != nil {
			t.Errorf("CheckKey(%q): %v", key, err)
		}
	}
	for _, key := range []string{"", "a\nb", "a\x00", "\xff", "a\u202eb", strings.Repeat("k", 201)} {
		refused(t, layout.CheckKey(key), croft.InvalidName)
	}
}

func TestLongValuesAreShortenedInMessages(t *testing.T) {
	e := refused(t, layout.CheckName(strings.Repeat("é", 5000)), croft.InvalidName)
	if len(e.Message) > 300 || strings.Contains(e.Message, "\ufffd") || !strings.Contains(e.Message, "10000 bytes") {
		t.Errorf("message of %d bytes: %s", len(e.Message), e.Message)
	}
}
