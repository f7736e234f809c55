package layout_test

import (
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/layout"
)

// roles are those of the swarm's specification.
func roles() []string { return []string{"researcher", "developer", "reviewer", "architect"} }

func TestSwarmBranchMatchesPattern(t *testing.T) {
	pattern := regexp.MustCompile(`^swarm/researcher-\d+$`)
	branch, err := preset(t, "swarm").RenderBranch(layout.Values{Role: "researcher", Session: "1703849234567"})
	if err != nil || !pattern.MatchString(branch) {
		t.Errorf("RenderBranch = %q, %v, want a match of %s", branch, err, pattern)
	}
}

func TestSwarmBranchUsesGivenSession(t *testing.T) {
	for session, want := range map[string]string{
		"abc123":           "swarm/reviewer-abc123",
		"test-session-123": "swarm/reviewer-test-session-123",
		"1703849234567":    "swarm/reviewer-1703849234567",
	} {
		branch, err := preset(t, "swarm").RenderBranch(layout.Values{Role: "reviewer", Session: session})
		if err != nil || branch != want {
			t.Errorf("session %q: RenderBranch = %q, %v, want %q", session, branch, err, want)
		}
	}
}

func TestSwarmBranchesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, role := range roles() {
		for _, session := range []string{"1703849234567", "1703849234568"} {
			branch, err := preset(t, "swarm").RenderBranch(layout.Values{Role: role, Session: session})
			if err != nil || seen[branch] {
				t.Errorf("role %s, session %s: branch %q, %v was there before", role, session, branch, err)
			}
			seen[branch] = true
		}
	}
}

func TestSwarmPathIsAbsoluteForEveryRole(t *testing.T) {
	for _, role := range roles() {
		v := values()
		v.Role = role
		path, err := preset(t, "swarm").RenderPath(v)
		if want := abs("/src/app/.worktrees/" + role); err != nil || path != want {
			t.Errorf("role %s: RenderPath = %q, %v, want %q", role, path, err, want)
		}
		if !filepath.IsAbs(path) {
			t.Errorf("role %s: %q is not absolute", role, path)
		}
	}
}

func TestSwarmNeedsSession(t *testing.T) {
	v := values()
	v.Session = ""
	l := preset(t, "swarm")
	_, pathErr := l.RenderPath(v)
	_, branchErr := l.RenderBranch(v)
	for _, err := range []error{pathErr, branchErr} {
		e := refused(t, err, croft.SessionRequired)
		if e.Message != "sessionId is required" || e.Hint != "--session NAME" {
			t.Errorf("message %q, hint %q", e.Message, e.Hint)
		}
	}
}

func TestSwarmNeedsRole(t *testing.T) {
	v := values()
	v.Role = ""
	l := preset(t, "swarm")
	_, err := l.RenderPath(v)
	refused(t, err, croft.InvalidRequest)
	_, err = l.RenderBranch(v)
	refused(t, err, croft.InvalidRequest)
}

func TestDefaultNeedsNeither(t *testing.T) {
	v := values()
	v.Role, v.Session, v.ID, v.Hex8, v.Home = "", "", "", "", ""
	if _, err := preset(t, "default").RenderPath(v); err != nil {
		t.Error(err)
	}
	if _, err := preset(t, "default").RenderBranch(v); err != nil {
		t.Error(err)
	}
}

func TestSiblingPathTakesGivenBranch(t *testing.T) {
	v := values()
	v.Branch = "agent/7/fix"
	path, err := preset(t, "sibling").RenderPath(v)
	if want := abs("/src/app-agent-7-fix-1700000000"); err != nil || path != want {
		t.Errorf("RenderPath = %q, %v, want %q", path, err, want)
	}
}

func TestAgentsUseAgentsOwnID(t *testing.T) {
	tests := []struct{ id, dir, branch string }{
		{"6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "agent/6ba7b810"},
		{"abc123", "abc123", "agent/abc123"},
	}
	for _, tt := range tests {
		v := values()
		v.ID = tt.id
		path, err := preset(t, "agents").RenderPath(v)
		if want := abs("/src/app/.worktrees/" + tt.dir); err != nil || path != want {
			t.Errorf("RenderPath = %q, %v, want %q", path, err, want)
		}
		branch, err := preset(t, "agents").RenderBranch(v)
		if err != nil || branch != tt.branch {
			t.Errorf("RenderBranch = %q, %v, want %q", branch, err, tt.branch)
		}
	}
}

func TestRenderPathRefusesUnsafeValues(t *testing.T) {
	tests := []struct {
		what   string
		path   string
		change func(*layout.Values)
		code   croft.Code
	}{
		{"name with slash", "../x/{name}", func(v *layout.Values) {}, croft.InvalidName},
		{"name that is a device", "../x/{name}", func(v *layout.Values) { v.Name = "con" }, croft.InvalidName},
		{"name with reserved character", "../x/{name}", func(v *layout.Values) { v.Name = "a|b" }, croft.InvalidName},
		{"slug that escapes", "../x/{slug}", func(v *layout.Values) { v.Slug = "../y" }, croft.InvalidName},
		{"no name for slug", "../x/{slug}", func(v *layout.Values) { v.Name = "" }, croft.InvalidName},
		{"bad name for slug", "../x/{slug}", func(v *layout.Values) { v.Name = "../y" }, croft.InvalidName},
		{"role that escapes", "../x/{role}", func(v *layout.Values) { v.Role = ".." }, croft.InvalidName},
		{"session that escapes", "../x/{session}/{role}", func(v *layout.Values) { v.Session = "a/b" }, croft.InvalidName},
		{"id that escapes", "../x/{id}", func(v *layout.Values) { v.ID = "..\\x" }, croft.InvalidName},
		{"empty id", "../x/{id}", func(v *layout.Values) { v.ID = "" }, croft.InvalidName},
		{"shortid with dash", "../x/{shortid}", func(v *layout.Values) { v.ID = "-rf" }, croft.InvalidName},
		{"repo that escapes", "../{repo}/{id}", func(v *layout.Values) { v.Repo = ".." }, croft.InvalidName},
		{"repo with dash", "../{repo}/{id}", func(v *layout.Values) { v.Repo = "-x" }, croft.InvalidName},
		{"repo .git", "../{repo}/{id}", func(v *layout.Values) { v.Repo = ".git" }, croft.InvalidName},
		{"repo is the checkout", "../{repo}/{id}", func(v *layout.Values) {}, croft.ConfigInvalid},
		{"repo is its twin", "../{repo}/{id}", func(v *layout.Values) { v.Repo = "APP" }, croft.ConfigInvalid},
		{"over the repository", "../{name}", func(v *layout.Values) { v.Name = "app" }, croft.InvalidName},
		{"over its twin", "../{name}", func(v *layout.Values) { v.Name = "APP" }, croft.InvalidName},
		{"around the repository", "../../{name}", func(v *layout.Values) { v.Name = "src" }, croft.InvalidName},
		{"git's own directory", "x/.{role}/y", func(v *layout.Values) { v.Role = "git" }, croft.InvalidName},
		{"device made of two", "../x/co{role}", func(v *layout.Values) { v.Role = "n" }, croft.InvalidName},
		{"branch with reserved character", "../x/{branch}", func(v *layout.Values) { v.Branch = "a\"b" }, croft.InvalidName},
		{"branch that git refuses", "../x/{branch}", func(v *layout.Values) { v.Branch = "a..b" }, croft.InvalidName},
		{"component too long", "../{repo}-{branch}", func(v *layout.Values) {
			v.Repo, v.Branch = strings.Repeat("r", 100), strings.Repeat("b", 180)
		}, croft.InvalidName},
		{"hex8 of seven", "../x/{hex8}", func(v *layout.Values) { v.Hex8 = "0a1b2c3" }, croft.InvalidRequest},
		{"hex8 of others", "../x/{hex8}", func(v *layout.Values) { v.Hex8 = "../../.." }, croft.InvalidRequest},
		{"negative time", "../x/{id}/{unix}", func(v *layout.Values) { v.Unix = -1 }, croft.InvalidRequest},
		{"negative round", "../x/{id}/{round}", func(v *layout.Values) { v.Round = -1 }, croft.InvalidRequest},
		{"relative home", "{home}/{id}", func(v *layout.Values) { v.Home = "home" }, croft.InvalidRequest},
		{"no home", "{home}/{id}", func(v *layout.Values) { v.Home = "" }, croft.InvalidRequest},
		{"home with NUL", "{home}/{id}", func(v *layout.Values) { v.Home = abs("/a\x00b") }, croft.InvalidRequest},
		{"home is the checkout", "{home}/{id}", func(v *layout.Values) { v.Home = v.RepoPath }, croft.ConfigInvalid},
		{"relative repository", "../x/{id}", func(v *layout.Values) { v.RepoPath = "src/app" }, croft.InvalidRequest},
		{"no repository", "../x/{id}", func(v *layout.Values) { v.RepoPath = "" }, croft.InvalidRequest},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			l, err := preset(t, "default").With(tt.path, "")
			if err != nil {
				t.Fatal(err)
			}
			v := values()
			tt.change(&v)
			path, err := l.RenderPath(v)
			if path != "" {
				t.Errorf("RenderPath gave %q", path)
			}
			refused(t, err, tt.code)
		})
	}
}

func TestRenderBranchRefusesUnsafeValues(t *testing.T) {
	for _, name := range []string{"", "-x", "a..b", "a b", "HEAD", "@", "refs/heads/x", "x.lock", strings.Repeat("x", 101)} {
		v := values()
		v.Name = name
		branch, err := preset(t, "default").RenderBranch(v)
		if branch != "" {
			t.Errorf("name %q gave the branch %q", name, branch)
		}
		refused(t, err, croft.InvalidName)
	}
	// Each part is harmless, the whole is not.
	l, err := preset(t, "default").With("", "{role}{session}")
	if err != nil {
		t.Fatal(err)
	}
	v := values()
	v.Role, v.Session = "HE", "AD"
	_, err = l.RenderBranch(v)
	refused(t, err, croft.InvalidName)
}

func TestSiblingRefusesBranchThatReadsAsCommit(t *testing.T) {
	v := values()
	v.Name = strings.Repeat("a", 40)
	_, err := preset(t, "sibling").RenderBranch(v)
	refused(t, err, croft.InvalidName)
	if _, err := preset(t, "default").RenderBranch(v); err != nil {
		t.Errorf("behind a prefix it is a name like others: %v", err)
	}
}

func TestHandMadeLayoutIsValidated(t *testing.T) {
	l := layout.Layout{Path: "../x", Branch: "main"}
	_, err := l.RenderPath(values())
	refused(t, err, croft.ConfigInvalid)
	_, err = l.RenderBranch(values())
	refused(t, err, croft.ConfigInvalid)
	if base := l.BaseDir(abs("/src/app"), "app", ""); base != "" {
		t.Errorf("BaseDir = %q of a template that is refused", base)
	}
	if l.IsNested(abs("/src/app"), "app", "") {
		t.Error("a template that is refused is nested")
	}
}

func TestBaseDirOfUnsafeArguments(t *testing.T) {
	l := preset(t, "default")
	for _, repo := range []string{"", "..", "../..", "a/b", "-x"} {
		if base := l.BaseDir(abs("/src/app"), repo, ""); base != "" {
			t.Errorf("BaseDir with repo %q = %q", repo, base)
		}
	}
	if base := l.BaseDir("app", "app", ""); base != "" {
		t.Errorf("BaseDir of a relative path = %q", base)
	}
}

func TestRepositoryWithLeadingDot(t *testing.T) {
	v := values()
	v.RepoPath, v.Repo, v.Name = abs("/home/u/.dotfiles"), ".dotfiles", "zsh"
	path, err := preset(t, "default").RenderPath(v)
	if want := abs("/home/u/.dotfiles.croft/zsh"); err != nil || path != want {
		t.Errorf("RenderPath = %q, %v, want %q", path, err, want)
	}
}

func TestRepositoryAtTheRoot(t *testing.T) {
	v := values()
	v.RepoPath = abs("/")
	path, err := preset(t, "default").RenderPath(v)
	if want := abs("/app.croft/feat-login"); err != nil || path != want {
		t.Errorf("RenderPath = %q, %v, want %q", path, err, want)
	}
}

func TestUncleanRepositoryPath(t *testing.T) {
	v := values()
	v.RepoPath = abs("/src//other/../app/")
	path, err := preset(t, "default").RenderPath(v)
	if want := abs("/src/app.croft/feat-login"); err != nil || path != want {
		t.Errorf("RenderPath = %q, %v, want %q", path, err, want)
	}
	v.Name = "app"
	l := layout.Layout{Path: "../{name}", Branch: "{name}"}
	if _, err := l.RenderPath(v); !errors.Is(err, croft.InvalidName) {
		t.Errorf("a path over the repository: %v", err)
	}
}
