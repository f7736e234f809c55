package layout_test

import (
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/layout"
)

// abs spells an absolute path as this platform does.
func abs(path string) string {
	if runtime.GOOS == "windows" {
		path = "C:" + path
	}
	return filepath.FromSlash(path)
}

func preset(t testing.TB, name string) layout.Layout {
	t.Helper()
	l, err := layout.Preset(name)
	if err != nil {
		t.Fatalf("Preset(%q): %v", name, err)
	}
	return l
}

// values are complete and harmless.
func values() layout.Values {
	return layout.Values{
		RepoPath: abs("/src/app"),
		Repo:     "app",
		Home:     abs("/homes/opus"),
		Name:     "feat/login",
		Role:     "researcher",
		Session:  "1703849234567",
		ID:       "k3v9x0q2m4n6p8r1",
		Hex8:     "0a1b2c3d",
		Round:    3,
		Unix:     1700000000,
	}
}

// refused asserts that err has the code and a message for users.
func refused(t testing.TB, err error, code croft.Code) *croft.Error {
	t.Helper()
	var e *croft.Error
	if !errors.As(err, &e) {
		t.Fatalf("got error %v, want a *croft.Error with %s", err, code)
	}
	if e.Code != code {
		t.Fatalf("got code %s (%s), want %s", e.Code, e.Message, code)
	}
	if e.Op == "" || e.Message == "" || strings.ContainsAny(e.Message+e.Hint, "\n\r\x00\x1b") {
		t.Fatalf("error is not one clean line with an operation: %#v", e)
	}
	return e
}

func TestPresetsRender(t *testing.T) {
	tests := []struct {
		preset, path, branch, base string
		nested                     bool
	}{
		{"default", "/src/app.croft/feat-login", "croft/feat/login", "/src/app.croft", false},
		{"agents", "/src/app/.worktrees/k3v9x0q2m4n6p8r1", "agent/k3v9x0q2", "/src/app/.worktrees", true},
		{"swarm", "/src/app/.worktrees/researcher", "swarm/researcher-1703849234567", "/src/app/.worktrees", true},
		{"claude", "/src/app/.claude/worktrees/feat-login", "croft/feat/login", "/src/app/.claude/worktrees", true},
		{"rounds", "/homes/opus/.worktree/app", "croft/0a1b2c3d", "/homes/opus/.worktree", false},
		{"massgen", "/homes/opus/.worktree/app", "massgen/0a1b2c3d", "/homes/opus/.worktree", false},
		{"sibling", "/src/app-feat-login-1700000000", "feat/login", "/src", false},
	}
	for _, tt := range tests {
		t.Run(tt.preset, func(t *testing.T) {
			l, v := preset(t, tt.preset), values()
			path, err := l.RenderPath(v)
			if err != nil || path != abs(tt.path) {
				t.Errorf("RenderPath = %q, %v, want %q", path, err, abs(tt.path))
			}
			branch, err := l.RenderBranch(v)
			if err != nil || branch != tt.branch {
				t.Errorf("RenderBranch = %q, %v, want %q", branch, err, tt.branch)
			}
			if base := l.BaseDir(v.RepoPath, v.Repo, v.Home); base != abs(tt.base) {
				t.Errorf("BaseDir = %q, want %q", base, abs(tt.base))
			}
			if nested := l.IsNested(v.RepoPath, v.Repo, v.Home); nested != tt.nested {
				t.Errorf("Nested = %v, want %v", nested, tt.nested)
			}
		})
	}
}

func TestPresetPolicies(t *testing.T) {
	want := []layout.Layout{
		{Name: "default", Start: layout.StartCurrent},
		{Name: "agents", Start: layout.StartMain, Plain: layout.PlainDirect, Finish: layout.FinishMerge, Links: []string{"node_modules", ".env", ".env.*"}},
		{Name: "swarm", Start: layout.StartCurrent, Session: layout.NeedRequired, Role: layout.NeedRequired, Prefix: "swarm"},
		{Name: "sibling", Start: layout.StartCurrent, Orphans: layout.OrphansReapFirst, Parent: layout.ParentStrict, Ignored: []string{"STATE.json"}},
		{Name: "claude", Start: layout.StartCurrent},
		{Name: "rounds", Start: layout.StartHead, Plain: layout.PlainCopy, Aim: layout.AimNone, Prefix: "croft", Scratch: ".croft_scratch", Message: "[ROUND] Auto-commit"},
		{Name: "massgen", Start: layout.StartHead, Plain: layout.PlainCopy, Aim: layout.AimNone, Prefix: "massgen", Scratch: ".massgen_scratch", Message: "[ROUND] Auto-commit"},
	}
	got := layout.Presets()
	for i := range got {
		// Every preset obeys the rules for templates from a configuration.
		if _, err := got[i].With("", ""); err != nil {
			t.Errorf("%s: %v", got[i].Name, err)
		}
		if uses := got[i].Name == "default" || got[i].Name == "claude"; got[i].UsesSlug() != uses {
			t.Errorf("%s: UsesSlug = %v, want %v", got[i].Name, !uses, uses)
		}
		got[i].Path, got[i].Branch = "", ""
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("presets (-want +got):\n%s", diff)
	}
}

func TestPresetUnknownNamesTheOthers(t *testing.T) {
	for _, name := range []string{"", "Default", "round", "nope"} {
		_, err := layout.Preset(name)
		e := refused(t, err, croft.InvalidRequest)
		for _, l := range layout.Presets() {
			if !strings.Contains(e.Hint, l.Name) {
				t.Errorf("Preset(%q): hint %q does not name %s", name, e.Hint, l.Name)
			}
		}
	}
}

func TestPresetsAreNotShared(t *testing.T) {
	layout.Presets()[0].Path = "changed"
	if l := preset(t, "default"); l.Path == "changed" {
		t.Error("changing what Presets returned changed the preset")
	}
}

func TestWithRendersFreeTemplates(t *testing.T) {
	tests := []struct{ path, branch, wantPath, wantBranch, wantBase string }{
		{"", "", "/src/app.croft/feat-login", "croft/feat/login", "/src/app.croft"},
		{"../wt/{slug}", "", "/src/wt/feat-login", "croft/feat/login", "/src/wt"},
		{"./wt/{id}", "", "/src/app/wt/k3v9x0q2m4n6p8r1", "croft/feat/login", "/src/app/wt"},
		{"../../wt/{repo}/{session}/{role}", "", "/wt/app/1703849234567/researcher", "croft/feat/login", "/wt/app"},
		{"{home}/.worktree/{hex8}", "{prefix}/{hex8}", "/homes/opus/.worktree/0a1b2c3d", "pre/fix/0a1b2c3d", "/homes/opus/.worktree"},
		{"../{repo}.croft/r{round}/{shortid}", "r{round}/{role}", "/src/app.croft/r3/k3v9x0q2", "r3/researcher", "/src/app.croft"},
		{"../x/{branch}", "{session}/{slug}", "/src/x/1703849234567-feat-login", "1703849234567/feat-login", "/src/x"},
		{"../x/{branch}/{unix}", "{repo}/{name}", "/src/x/app-feat-login/1700000000", "app/feat/login", "/src/x"},
	}
	for _, tt := range tests {
		t.Run(tt.path+" "+tt.branch, func(t *testing.T) {
			l := preset(t, "default")
			l.Prefix = "pre/fix"
			l, err := l.With(tt.path, tt.branch)
			if err != nil {
				t.Fatal(err)
			}
			v := values()
			path, err := l.RenderPath(v)
			if err != nil || path != abs(tt.wantPath) {
				t.Errorf("RenderPath = %q, %v, want %q", path, err, abs(tt.wantPath))
			}
			branch, err := l.RenderBranch(v)
			if err != nil || branch != tt.wantBranch {
				t.Errorf("RenderBranch = %q, %v, want %q", branch, err, tt.wantBranch)
			}
			if base := l.BaseDir(v.RepoPath, v.Repo, v.Home); base != abs(tt.wantBase) {
				t.Errorf("BaseDir = %q, want %q", base, abs(tt.wantBase))
			}
		})
	}
}

func TestWithAbsoluteTemplate(t *testing.T) {
	l, err := preset(t, "default").With(abs("/srv/wt/{repo}/{slug}"), "")
	if err != nil {
		t.Fatal(err)
	}
	path, err := l.RenderPath(values())
	if want := abs("/srv/wt/app/feat-login"); err != nil || path != want {
		t.Errorf("RenderPath = %q, %v, want %q", path, err, want)
	}
	if l.IsNested(abs("/src/app"), "app", "") {
		t.Error("an absolute base elsewhere counts as nested")
	}
	if !l.IsNested(abs("/srv"), "app", "") {
		t.Error("an absolute base inside the checkout does not count as nested")
	}
}

func TestWithRefusesTemplates(t *testing.T) {
	paths := []string{
		"../{unknown}/{slug}", "../{}/{slug}", "../{slug", "../slug}", "../{{slug}}", "../{sl/ug}", "../{Slug}",
		"..", "../", "/", "../{repo}.croft", "../{repo}.croft/{session}", "../{unix}", "../x/{slug}/", "../x//{slug}",
		"x/../{slug}", "x/./{slug}", "../x/{slug}/..", "{slug}", "{id}/x", "./{slug}", "~/wt/{slug}", "~x/{slug}",
		"wt/{home}/{slug}", "{home}", "{home}{slug}", "{home}.x/{slug}", "../.git/{slug}", ".GIT/wt/{slug}",
		".git/{slug}", "git~1/{slug}", ".g\u200cit/{slug}", "../-x/{slug}", "../-{slug}", "../{slug}.", "../{slug} ",
		"../a:b/{slug}", "../a*b/{slug}", "../a\x00b/{slug}", "../a\nb/{slug}", "../\xff/{slug}", "../con/{slug}",
		"../nul.txt/{slug}", "../" + strings.Repeat("x", 256) + "/{slug}", "../{prefix}/{slug}",
	}
	for _, path := range paths {
		t.Run(path, func(t *testing.T) {
			_, err := preset(t, "default").With(path, "")
			refused(t, err, croft.ConfigInvalid)
		})
	}
	branches := []string{
		"{nope}/{name}", "{name", "name}", "{}", "main", "{session}", "{repo}/{unix}", "{round}", "{branch}/{name}",
		"{home}/{name}", "-{name}", "x/-{name}", "/{name}", "{name}/", "x//{name}", "a b/{name}", "{name}.lock",
		".{name}", "{name}.", "x/../{name}", "refs/heads/{name}", "{name}@{", "a~{name}", "a\\{name}", "a\x00{name}",
		"\xff{name}", "{prefix}/{name}", strings.Repeat("x", 200) + "{name}",
	}
	for _, branch := range branches {
		t.Run(branch, func(t *testing.T) {
			_, err := preset(t, "default").With("", branch)
			refused(t, err, croft.ConfigInvalid)
		})
	}
}

func TestWithRefusesPrefixThatIsNoDirectory(t *testing.T) {
	for _, prefix := range []string{"..", "a/b", "-x", ".x", "con", "a\x00"} {
		l := preset(t, "default")
		l.Prefix = prefix
		_, err := l.With("../{prefix}/{slug}", "")
		refused(t, err, croft.ConfigInvalid)
	}
}

func TestWithRefusesPrefixThatIsNoBranch(t *testing.T) {
	for _, prefix := range []string{"..", "/a", "-x", ".x", "a b", "a\x00"} {
		l := preset(t, "default")
		l.Prefix = prefix
		_, err := l.With("", "{prefix}/{name}")
		refused(t, err, croft.ConfigInvalid)
	}
}

func TestWithRequiresWhatTheTemplatesUse(t *testing.T) {
	l, err := preset(t, "default").With("../wt/{session}/{slug}", "{role}/{name}")
	if err != nil {
		t.Fatal(err)
	}
	if l.Session != layout.NeedRequired || l.Role != layout.NeedRequired {
		t.Errorf("session %q, role %q, want both required", l.Session, l.Role)
	}
}

func TestUsesSlug(t *testing.T) {
	l := layout.Layout{Path: "../x/{id}", Branch: "x/{slug}"}
	if !l.UsesSlug() {
		t.Error("a branch with {slug} does not count")
	}
}
