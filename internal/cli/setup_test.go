package cli

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

func TestInit(t *testing.T) {
	root := t.TempDir()
	repo := croft.Repo{Path: root}
	svc := &fake{repo: func(string) (*croft.Repo, error) { return &repo, nil }}
	r := newRun(svc)
	r.env.Dir = root
	file := filepath.Join(root, "croft.toml")
	r.call(t, "init").want(t, croft.ExitOK, "croft.toml\n", "")
	if text, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(text), "# layout = \"default\"\n") || !strings.Contains(string(text), "# [[provision.step]]\n") {
		t.Errorf("croft.toml: %q, %v", text, err)
	}
	if err := os.WriteFile(file, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.call(t, "init").want(t, croft.ExitOK, "", "croft.toml is already there and was left as it is\n")
	r.call(t, "init", "--json")
	if r.exit != croft.ExitOK || jsonField(t, r, "created") != false || jsonField(t, r, "path") != file {
		t.Errorf("exit %d, JSON %s", r.exit, r.stdout.String())
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "mine" {
		t.Errorf("croft.toml was overwritten: %q, %v", text, err)
	}
	repo.IsBare = true
	if r.call(t, "init"); r.exit != croft.ExitEnvironment {
		t.Errorf("in a bare repository: exit %d, want %d", r.exit, croft.ExitEnvironment)
	}
}

func TestInitCannotWrite(t *testing.T) {
	svc := &fake{repo: func(string) (*croft.Repo, error) {
		return &croft.Repo{Path: filepath.Join(t.TempDir(), "missing")}, nil
	}}
	r := newRun(svc).call(t, "init")
	if r.exit != croft.ExitEnvironment || !strings.HasPrefix(r.stderr.String(), "croft: the configuration file could not be written\n  ") {
		t.Errorf("exit %d, stderr %q", r.exit, r.stderr.String())
	}
}

func TestConfig(t *testing.T) {
	svc := &fake{repo: func(string) (*croft.Repo, error) { return &croft.Repo{Path: "/root"}, nil }}
	r := newRun(svc)
	r.call(t, "config").want(t, croft.ExitOK,
		"KEY              VALUE    SOURCE\nlayout           default  default\ntrash.retention  168h     croft.toml:3\n", "")
	r.call(t, "config", "--json").wantJSON(t, croft.ExitOK, `{"version":1,"values":[
		{"key":"layout","value":"default","source":"default"},
		{"key":"trash.retention","value":"168h","source":"croft.toml:3"}]}`)
	r.call(t, "config", "schema").want(t, croft.ExitOK, "{\"type\":\"object\"}\n", "")
	r.call(t, "config", "schema", "--json").wantJSON(t, croft.ExitOK, `{"version":1,"schema":{"type":"object"}}`)
}

func TestConfigIsThatOfTheProject(t *testing.T) {
	outside := &croft.Error{Code: croft.NotARepo, Op: "repo", Message: "no repository"}
	for _, tt := range []struct {
		name     string
		repo     *croft.Repo
		err      error
		openErr  error
		wantRoot string
		exit     int
	}{
		{name: "inside", repo: &croft.Repo{Path: "/root"}, wantRoot: "/root"},
		{name: "outside", err: outside},
		{name: "outside, told at opening", openErr: outside},
		{name: "failing", err: &croft.Error{Code: croft.GitNotFound}, wantRoot: "not asked", exit: croft.ExitEnvironment},
	} {
		t.Run(tt.name, func(t *testing.T) {
			svc := &fake{repo: func(string) (*croft.Repo, error) { return tt.repo, tt.err }}
			r := newRun(svc)
			if tt.openErr != nil {
				r.env.Open = func(context.Context, string, map[string]string) (croft.Service, error) { return nil, tt.openErr }
			}
			root := "not asked"
			r.env.Config = func(got string, flags map[string]string) (ConfigView, error) {
				root = got
				if flags["layout"] != "agents" {
					t.Errorf("flags %v", flags)
				}
				return ConfigView{Warnings: []string{"croft.toml:1: ignored"}}, nil
			}
			r.call(t, "config", "--set", "layout=agents")
			if r.exit != tt.exit || root != tt.wantRoot {
				t.Errorf("exit %d, root %q, want %d, %q", r.exit, root, tt.exit, tt.wantRoot)
			}
			if tt.exit == croft.ExitOK && r.stderr.String() != "note: croft.toml:1: ignored\n" {
				t.Errorf("stderr %q, want the warning", r.stderr.String())
			}
		})
	}
}

func TestVersion(t *testing.T) {
	where := runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH
	newRun(nil).call(t, "version").want(t, croft.ExitOK, "croft v1.2.3 ("+where+")\n", "")
	newRun(nil).call(t, "version", "--json").wantJSON(t, croft.ExitOK, `{"version":1,"croft":"v1.2.3",
		"go":"`+runtime.Version()+`","os":"`+runtime.GOOS+`","arch":"`+runtime.GOARCH+`"}`)
}

func TestShellInitAndCompletion(t *testing.T) {
	marks := map[string]string{
		"bash":       "complete -o default -F __start_croft croft",
		"zsh":        "compdef _croft croft",
		"fish":       "complete -c croft",
		"powershell": "Register-ArgumentCompleter -CommandName 'croft'",
	}
	for _, shell := range shells() {
		completion := newRun(nil).call(t, "completion", shell)
		if completion.exit != croft.ExitOK || !strings.Contains(completion.stdout.String(), marks[shell]) {
			t.Errorf("completion %s: exit %d, lacks %q", shell, completion.exit, marks[shell])
		}
		init := newRun(nil).call(t, "shell-init", shell)
		text := init.stdout.String()
		if init.exit != croft.ExitOK || !strings.Contains(text, "path") || !strings.Contains(text, marks[shell]) {
			t.Errorf("shell-init %s: exit %d:\n%s", shell, init.exit, text)
		}
		if strings.Contains(text, "COMPLETION\n") {
			t.Errorf("shell-init %s: the completions were not put in", shell)
		}
	}
}

func TestCompletionOfNames(t *testing.T) {
	b := fixLogin()
	b.Name, b.Branch, b.Session = "b", "croft/b", "s1"
	svc := &fake{workspaces: func(croft.WorkspacesRequest) ([]croft.Workspace, error) {
		return []croft.Workspace{fixLogin(), b}, nil
	}}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"show", ""}, "b\tempty\nfix-login\tempty\n:4\n"},
		{[]string{"show", "b", ""}, ":4\n"},
		{[]string{"remove", "b", ""}, "fix-login\tempty\n:4\n"},
		{[]string{"list", "--session", ""}, "s1\n:4\n"},
		{[]string{"new", "--layout", ""}, "default\nagents\nswarm\nsibling\nclaude\nrounds\nmassgen\n:4\n"},
	} {
		r := newRun(svc)
		r.svc = nil // the same Service for several calls
		r.call(t, append([]string{"__complete"}, tt.args...)...)
		if r.exit != croft.ExitOK || r.stdout.String() != tt.want {
			t.Errorf("%v: exit %d, offers %q, want %q", tt.args, r.exit, r.stdout.String(), tt.want)
		}
	}
}
