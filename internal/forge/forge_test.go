package forge

import (
	"os"
	"path/filepath"
	"testing"
)

// TestHostOf: which host an address leads to, and the page on which a pull request is opened there.
func TestHostOf(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://github.com/acme/app.git":            "https://github.com/acme/app/compare/main...croft/a%23b?expand=1",
		"git@github.com:acme/app.git":                "https://github.com/acme/app/compare/main...croft/a%23b?expand=1",
		"ssh://git@ssh.github.com:443/acme/app.git/": "https://github.com/acme/app/compare/main...croft/a%23b?expand=1",
		"https://github.example.com:8443/acme/app":   "https://github.example.com:8443/acme/app/compare/main...croft/a%23b?expand=1",
		"git@gitlab.com:group/sub/app.git":           "https://gitlab.com/group/sub/app/-/merge_requests/new?merge_request%5Bsource_branch%5D=croft%2Fa%23b&merge_request%5Btarget_branch%5D=main",
		"https://bitbucket.org/acme/app.git":         "https://bitbucket.org/acme/app/pull-requests/new?dest=main&source=croft%2Fa%23b",
		"https://codeberg.org/acme/app":              "https://codeberg.org/acme/app/compare/main...croft/a%23b",
		"https://git.example.com/acme/app":           "",
		"../up.git":                                  "no host",
		"/srv/git/acme/app.git":                      "no host",
		`C:\git\app`:                                 "no host",
		"file:///srv/git/acme/app.git":               "no host",
		"https://github.com/app":                     "no host",
		"https://github.com/acme/app?x=1":            "no host",
		"https://github.com/acme/app%2e":             "no host",
	} {
		h, ok := HostOf(address)
		got := "no host"
		if ok {
			got = h.CompareURL("main", "croft/a#b")
		}
		if got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}

// TestFindTool: only an executable file in an absolute entry of PATH that no agent can write is the
// user's tool.
func TestFindTool(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	mine, theirs, linked := filepath.Join(top, "mine"), filepath.Join(top, "theirs"), filepath.Join(top, "linked")
	for _, dir := range []string{mine, theirs, linked} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{mine, theirs} {
		if err := os.WriteFile(filepath.Join(dir, "gh"), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(theirs, "gh"), filepath.Join(linked, "gh")); err != nil {
		t.Skip(err)
	}
	isAgents := func(path string) bool { return filepath.Dir(path) == theirs }
	env := []string{"PATH=" + "theirs:.:" + theirs + ":" + linked + ":" + mine, "GH_REPO=evil/evil", "GIT_DIR=/x", "GH_TOKEN=t", "CROFT_WORKSPACE=x"}
	tool, ok := FindTool(Host{Kind: GitHub}, env, isAgents)
	if !ok || tool.Path != filepath.Join(mine, "gh") {
		t.Errorf("%+v, %t", tool, ok)
	}
	for _, name := range []string{"GH_REPO", "GIT_DIR", "CROFT_WORKSPACE"} {
		if v := variable(tool.env, name); v != "" {
			t.Errorf("the tool gets %s=%s", name, v)
		}
	}
	if variable(tool.env, "GH_TOKEN") != "t" {
		t.Error("the tool does not get the user's token")
	}
	if tool, ok := FindTool(Host{Kind: GitHub}, []string{"PATH=" + theirs}, isAgents); ok {
		t.Errorf("an agent's tool: %+v", tool)
	}
}
