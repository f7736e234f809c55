package config_test

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/config"
)

func TestMaxWorkersVariables(t *testing.T) {
	const full, short, bare = "CROFT_LIMITS_MAX_WORKERS", "CROFT_MAX_WORKERS", "MAX_WORKERS"
	tests := []struct {
		name, want, from string
		environ          []string
	}{
		{"full name wins", "1", full, []string{bare + "=3", short + "=2", full + "=1"}},
		{"then the short one", "2", short, []string{bare + "=3", short + "=2"}},
		{"then the bare one", "3", bare, []string{bare + "=3"}},
		{"empty is not set", "3", bare, []string{full + "=", short + "=", bare + "=3"}},
		{"a weaker one is not read", "1", full, []string{full + "=1", bare + "=many"}},
		{"the last of two counts", "5", full, []string{full + "=4", full + "=5"}},
		{"spaces do not matter", "6", full, []string{full + "= 6 "}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := value(t, newPlace(t).load(config.Input{Environ: test.environ}), "limits.max_workers")
			want := config.Value{
				Key: "limits.max_workers", Value: test.want,
				Source: config.Source{Kind: config.KindEnv, Name: test.from},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestVariableNames(t *testing.T) {
	want := map[string][]string{
		"layout":             {"CROFT_LAYOUT"},
		"limits.max_workers": {"CROFT_LIMITS_MAX_WORKERS", "CROFT_MAX_WORKERS", "MAX_WORKERS"},
		"state_dir":          {"CROFT_STATE_DIR"},
		"trash.retention":    {"CROFT_TRASH_RETENTION"},
	}
	owner := map[string]string{}
	for _, key := range config.Keys() {
		for _, name := range key.Env() {
			if other := owner[name]; other != "" {
				t.Errorf("%s sets both %s and %s", name, other, key.Name)
			}
			owner[name] = key.Name
		}
		if names, ok := want[key.Name]; ok {
			if diff := cmp.Diff(names, key.Env()); diff != "" {
				t.Errorf("variables of %s (-want +got):\n%s", key.Name, diff)
			}
			delete(want, key.Name)
		}
	}
	if len(want) != 0 {
		t.Errorf("keys that are missing: %v", want)
	}
}

func TestPlaces(t *testing.T) {
	home, xdg, given := t.TempDir(), t.TempDir(), t.TempDir()
	tests := []struct {
		name, want, from string
		environ          []string
	}{
		{"croft's variable", given, "CROFT_STATE_DIR", []string{"XDG_STATE_HOME=" + xdg, "CROFT_STATE_DIR=" + given}},
		{"home is expanded", filepath.Join(home, "x"), "CROFT_STATE_DIR", []string{"CROFT_STATE_DIR=~/x/"}},
		{"base directory", filepath.Join(xdg, "croft"), "XDG_STATE_HOME", []string{"XDG_STATE_HOME=" + xdg}},
		{"relative base directory", filepath.Join(home, ".local", "state", "croft"), "", []string{"XDG_STATE_HOME=here"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			set, err := config.Load(config.Input{Home: home, Environ: test.environ})
			if err != nil {
				t.Fatal(err)
			}
			got := value(t, set, "state_dir")
			if got.Value != test.want || got.Source.Name != test.from {
				t.Errorf("state_dir is %q from %q, want %q from %q", got.Value, got.Source.Name, test.want, test.from)
			}
			if set.Config().StateDir != test.want {
				t.Errorf("Config has %q, want %q", set.Config().StateDir, test.want)
			}
		})
	}
}

func TestHomeFromEnvironment(t *testing.T) {
	p := newPlace(t)
	p.write(p.userFile(), "layout = 'agents'")
	variable := "HOME="
	if runtime.GOOS == "windows" {
		variable = "USERPROFILE="
	}
	set, err := config.Load(config.Input{Environ: []string{variable + p.home}})
	if err != nil {
		t.Fatal(err)
	}
	if got := set.Config().Layout; got != "agents" {
		t.Errorf("layout is %q: the file in the home directory was not read", got)
	}
}

func TestUserFileInBaseDirectory(t *testing.T) {
	p, xdg := newPlace(t), t.TempDir()
	p.write(p.userFile(), "layout = 'agents'")
	path := filepath.Join(xdg, "croft", "config.toml")
	p.write(path, "layout = 'swarm'")
	got := value(t, p.load(config.Input{Environ: []string{"XDG_CONFIG_HOME=" + xdg}}), "layout")
	if got.Value != "swarm" || got.Source.Name != path {
		t.Errorf("layout is %+v, want swarm from %s", got, path)
	}
}

func TestNoHome(t *testing.T) {
	_, err := config.Load(config.Input{})
	e := wantInvalid(t, err, "state_dir", "home directory")
	if e.Hint != "export CROFT_STATE_DIR=DIR" {
		t.Errorf("hint is %q", e.Hint)
	}
	state, data := t.TempDir(), t.TempDir()
	set, err := config.Load(config.Input{Environ: []string{"CROFT_STATE_DIR=" + state, "CROFT_DATA_DIR=" + data}})
	if err != nil {
		t.Fatalf("a home directory is wanted where none is needed: %v", err)
	}
	if c := set.Config(); c.StateDir != state || c.DataDir != data {
		t.Errorf("directories are %q and %q, want %q and %q", c.StateDir, c.DataDir, state, data)
	}
}

func TestInvalidVariablesAndFlags(t *testing.T) {
	tests := []struct{ key, text, problem string }{
		{"state_dir", "here", "absolute"},
		{"data_dir", "./x", "absolute"},
		{"git.path", "git", "absolute"},
		{"state_dir", "~other/x", "absolute"},
		{"limits.max_workers", "many", "integer"},
		{"limits.max_workers", "-1", "between 0 and"},
		{"limits.max_workers", "99999999999999999999", "out of range"},
		{"checkout.workers", "-1", "between 0 and"},
		{"limits.min_free_bytes", "64MiB", "integer"},
		{"trash.retention", "-7d", "duration"},
		{"trash.retention", "soon", "duration"},
		{"trash.retention", "40000d", "between"},
		{"trash.retention", "99999999999999999999d", "longer"},
		{"trash.retention", "106751d24h", "longer"},
		{"lease.ttl", "0s", "between 1s and"},
		{"gc.auto", "perhaps", "true or false"},
		{"roles.files", "../x", "inside"},
		{"roles.files", ".GIT", ".git"},
		{"roles.files", "a,,b", "empty"},
		{"layout", "a\nb", "control"},
	}
	for _, test := range tests {
		key := test.key
		for _, k := range config.Keys() {
			if k.Name != key {
				continue
			}
			_, err := newPlace(t).try(config.Input{Environ: []string{k.Env()[0] + "=" + test.text}})
			wantInvalid(t, err, k.Env()[0]+": ", key, test.problem)
			_, err = newPlace(t).try(config.Input{Flags: map[string]string{key: test.text}})
			wantInvalid(t, err, "flag: ", key, test.problem)
		}
	}
}

func TestUnknownFlag(t *testing.T) {
	_, err := newPlace(t).try(config.Input{Flags: map[string]string{"layuot": "x"}})
	if e := wantInvalid(t, err, "layuot"); e.Hint != "croft config --all" || e.Message != "flag: unknown key layuot, did you mean layout?" {
		t.Errorf("hint is %q", e.Hint)
	}
}

func TestFlagMayBeEmpty(t *testing.T) {
	p := newPlace(t)
	p.write(p.repoFile(), "prefix = 'x'")
	got := value(t, p.load(config.Input{Flags: map[string]string{"prefix": ""}}), "prefix")
	if got.Value != "" || got.Source.Kind != config.KindFlag {
		t.Errorf("prefix is %+v, want it empty from the flag", got)
	}
}
