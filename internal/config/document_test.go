package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/config"
)

func TestInvalidFiles(t *testing.T) {
	tests := []struct {
		name, text string
		line       int
		problem    string
		hint       string
	}{
		{"unknown key", "layout = 'x'\n\nlayuot = 'y'\n", 3, "unknown key layuot", "did you mean layout?"},
		{"unknown key in a table", "[limits]\nmax_worker = 3\n", 2, "unknown key limits.max_worker", "did you mean limits.max_workers?"},
		{"key outside its table", "max_workers = 3\n", 1, "unknown key max_workers", "did you mean limits.max_workers?"},
		{"key in the wrong table", "[roles]\nmax_workers = 3\n", 2, "unknown key roles.max_workers", "did you mean limits.max_workers?"},
		{"unknown table", "# head\n[limit]\nmax_workers = 3\n", 2, "unknown key limit", "did you mean limits?"},
		{"steps", "\n[[provision.steps]]\n", 2, "unknown key provision.steps", "did you mean provision.step?"},
		{"paths", "[[provision.pathes]]\n", 1, "unknown key provision.pathes", "did you mean provision.path?"},
		{"probes", "[[provision.prob]]\n", 1, "unknown key provision.prob", "did you mean provision.probe?"},
		{"key of steps", "provision.steps.run = 'x'\n", 1, "unknown key provision.steps.run", "did you mean provision.step?"},
		{"environment", "[envs]\n", 1, "unknown key envs", "did you mean env?"},
		{"tear down", "[teardwon]\n", 1, "unknown key teardwon", "did you mean teardown?"},
		{"nothing near", "[zebra]\nstripes = 3\n", 1, "unknown key zebra", ""},
		{"key in an inline table", "limits = {max_workers = 1, nope = 2}\n", 1, "unknown key limits.nope", ""},
		{"key below a key", "limits.max_workers.x = 1\n", 1, "unknown key limits.max_workers.x", "did you mean limits.max_workers?"},
		{"quoted dot is another key", "\"limits.max_workers\" = 1\n", 1, `unknown key "limits.max_workers"`, "did you mean limits.max_workers?"},
		{"control characters in a key", "\"\\u001b[31m\\n\" = 1\n", 1, `unknown key "\x1b[31m\n"`, ""},
		{"string for integer", "[limits]\n\nmax_workers = '3'\n", 3, "limits.max_workers must be an integer, not a string", ""},
		{"float for integer", "limits.max_workers = 3.0\n", 1, "must be an integer, not a float", ""},
		{"integer for string", "layout = 3\n", 1, "layout must be a string, not an integer", ""},
		{"integer for duration", "trash.retention = 7\n", 1, `must be a string such as "168h" or "7d", not an integer`, ""},
		{"string for list", "roles.files = 'CLAUDE.md'\n", 1, "roles.files must be an array of strings, not a string", ""},
		{"integer in list", "[roles]\nfiles = ['a',\n 3]\n", 2, "roles.files must be an array of strings, but holds an integer", ""},
		{"table for key", "[limits.max_workers]\n", 1, "limits.max_workers must be an integer, not a table", ""},
		{"tables for key", "\n[[layout]]\n", 2, "layout must be a string, not an array", ""},
		{"key for table", "\nlimits = 3\n", 2, "limits must be a table, not an integer", ""},
		{"tables for table", "\n[[limits]]\nmax_workers = 3\n", 2, "limits must be a table, not an array", ""},
		{"negative", "[checkout]\nworkers = -1\n", 2, "checkout.workers must be between 0 and 1024, not -1", ""},
		{"negative limit", "limits.max_workers = -1\n", 1, "limits.max_workers must be between", ""},
		{"negative retention", "trash.retention = '-7d'\n", 1, "trash.retention must be a duration", ""},
		{"empty layout", "layout = ''\n", 1, "layout must not be empty", ""},
		{"control character", "prefix = \"a\\u0000\"\n", 1, "prefix must not contain control characters", ""},
		{"comma in list", "roles.files = ['a,b']\n", 1, "without commas", ""},
		{"role file outside", "roles.files = ['../../.ssh/id']\n", 1, "inside a role's directory", ""},
		{"role file over .git", "roles.files = ['sub/.Git/config']\n", 1, "must not name a .git", ""},
		{"role directory above", "roles.dir = '../x'\n", 1, "inside the repository", ""},
		{"role directory elsewhere", "roles.dir = '/etc'\n", 1, "inside the repository", ""},
		{"state in a file", "\nstate_dir = '/x'\n", 2, "state_dir cannot be set in a file", "export CROFT_STATE_DIR=DIR"},
		{"syntax", "layout = 'x'\nbranch = \n", 2, "is not TOML", ""},
		{"key twice", "layout = 'x'\nlayout = 'y'\n", 2, "is not TOML", ""},
		{"table twice", "[limits]\n[roles]\n[limits]\n", 3, "is not TOML", ""},
		{"integer too large", "\nlimits.max_workers = 99999999999999999999\n", 2, "is not TOML", ""},
		{"after reserved tables", "[env]\nA = '''\n\n'''\n[nope]\n", 5, "unknown key nope", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newPlace(t)
			p.write(p.repoFile(), test.text)
			_, err := p.try(config.Input{})
			e := wantInvalid(t, err, fmt.Sprintf("%s:%d: %s", p.repoFile(), test.line, ""), test.problem)
			if !strings.HasSuffix(e.Message, test.hint) {
				t.Errorf("it says %q, without %q", e.Message, test.hint)
			}
		})
	}
}

// TestUnusableRepoFile: settings of the repository's file that cannot be used are reported
// and left out, and the others count; no command is refused because of them.
func TestUnusableRepoFile(t *testing.T) {
	for _, test := range []struct {
		text    string
		workers int // of [limits], 8 in the user's file
		says    string
	}{
		{"[limits]\nmax_workers = 2\n", 2, ""},
		{"[limits]\nmax_workers = 2\nnewer_key = 1\n", 2, ":3: unknown key limits.newer_key, which is ignored"},
		{"[limits]\nmax_workers = 2\n[newer.table]\nx = 1\n", 2, ":3: unknown key newer"},
		{"[limits]\nmax_workers = 2\nmin_free_bytes = 'much'\n", 2, ", and is ignored"},
		{"state_dir = '/tmp/x'\n[limits]\nmax_workers = 2\n", 2, "state_dir cannot be set in a file"},
		{"[limits]\nmax_workers = 2\n[merge\n", 8, "; nothing in it counts"},
		{"limits = 3\n", 8, "; nothing in it counts"},
	} {
		p := newPlace(t)
		p.write(p.userFile(), "[limits]\nmax_workers = 8\n")
		p.write(p.repoFile(), test.text)
		set, err := config.Load(config.Input{Home: p.home})
		if err != nil {
			t.Fatal(err)
		}
		set = set.ForRepo(p.root)
		says := strings.Join(set.Problems(), "\n")
		if got := set.Config().Limits.MaxWorkers; got != test.workers || !strings.Contains(says, test.says) || (says == "") != (test.says == "") {
			t.Errorf("%q: max_workers %d, want %d; it says %q, want %q", test.text, got, test.workers, says, test.says)
		}
	}
}

// TestUnknownUserKey: a key of a newer Croft in the user's file does not prevent any
// command.
func TestUnknownUserKey(t *testing.T) {
	p := newPlace(t)
	p.write(p.userFile(), "[limits]\nmax_workers = 8\nnewer = 1\n")
	set, err := config.Load(config.Input{Home: p.home})
	if err != nil {
		t.Fatal(err)
	}
	set = set.ForRepo(p.root)
	if got, says := set.Config().Limits.MaxWorkers, set.Problems(); got != 8 || len(says) != 1 || !strings.Contains(says[0], ":3: unknown key limits.newer") {
		t.Errorf("max_workers %d, problems %q", got, says)
	}
}

func TestInvalidUserFile(t *testing.T) {
	p := newPlace(t)
	p.write(p.userFile(), "[git]\n\nfilters = 'lfs'\n")
	_, err := p.try(config.Input{})
	wantInvalid(t, err, p.userFile()+":3: git.filters must be an array")
}

func TestUserMayKeepRolesElsewhere(t *testing.T) {
	p := newPlace(t)
	dir := filepath.ToSlash(t.TempDir())
	p.write(p.userFile(), "roles.dir = '"+dir+"'")
	if got := p.load(config.Input{}).Config().Roles.Dir; got != dir {
		t.Errorf("roles.dir is %q, want %q", got, dir)
	}
}

func TestFormsOfAFile(t *testing.T) {
	tests := map[string]string{
		"table":          "[limits]\nmax_workers = 3\n",
		"dotted":         "limits.max_workers = 3\n",
		"inline":         "limits = { max_workers = 3 }\n",
		"quoted":         "['limits']\n\"max_workers\" = 3\n",
		"hexadecimal":    "limits.max_workers = 0x3\n",
		"windows":        "\ufeff# notepad\r\n[limits]\r\nmax_workers = 3\r\n",
		"later versions": "env.A = 1\n[limits]\nmax_workers = 3\n[rounds]\na.b = 2\n[rounds.c]\n[[fence]]\nx = [{y = 1}]\n",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.write(p.repoFile(), text)
			if got := p.load(config.Input{}).Config().Limits.MaxWorkers; got != 3 {
				t.Errorf("max_workers is %d, want 3", got)
			}
		})
	}
}

// TestManyKeys holds the bound on files that would keep the decoder busy for
// half a minute, also where the keys lie in a table that is not read.
func TestManyKeys(t *testing.T) {
	var keys, inline strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&keys, "k%d=1\n", i)
		fmt.Fprintf(&inline, "k%d=1,", i)
	}
	tests := map[string]string{
		"keys":          "[env]\n" + keys.String(),
		"inline":        "env = {" + strings.TrimSuffix(inline.String(), ",") + "}\n",
		"inline, array": "env = [[{" + strings.TrimSuffix(inline.String(), ",") + "}]]\n",
		"one long key":  "env" + strings.Repeat(".a", 60_000) + " = 1\n",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.write(p.repoFile(), text)
			_, err := p.try(config.Input{})
			wantInvalid(t, err, p.repoFile(), "more than 10000 keys")
		})
	}
}

func TestDeepNesting(t *testing.T) {
	p := newPlace(t)
	p.write(p.repoFile(), "env = "+strings.Repeat("[", 500_000))
	_, err := p.try(config.Input{})
	wantInvalid(t, err, "is not TOML")
}

func TestRefusedFiles(t *testing.T) {
	t.Run("directory", func(t *testing.T) {
		p := newPlace(t)
		if err := os.Mkdir(p.repoFile(), 0o755); err != nil {
			t.Fatal(err)
		}
		_, err := p.try(config.Input{})
		wantInvalid(t, err, p.repoFile()+": is not a regular file")
	})
	t.Run("too large", func(t *testing.T) {
		p := newPlace(t)
		p.write(p.repoFile(), "#"+strings.Repeat(" ", 1<<20))
		_, err := p.try(config.Input{})
		wantInvalid(t, err, p.repoFile()+": is larger than 1048576 bytes")
	})
	t.Run("just not too large", func(t *testing.T) {
		p := newPlace(t)
		p.write(p.repoFile(), "layout='x'"+strings.Repeat("\n", 1<<20-10))
		if got := p.load(config.Input{}).Config().Layout; got != "x" {
			t.Errorf("layout is %q, want x", got)
		}
	})
	t.Run("not permitted", func(t *testing.T) {
		if runtime.GOOS == "windows" || os.Geteuid() == 0 {
			t.Skip("permissions do not hold for this user")
		}
		p := newPlace(t)
		p.write(p.repoFile(), "")
		if err := os.Chmod(p.repoFile(), 0); err != nil {
			t.Fatal(err)
		}
		_, err := p.try(config.Input{})
		wantInvalid(t, err, p.repoFile()+": cannot be read")
	})
	t.Run("in something that is no directory", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("Windows reports such a path as missing")
		}
		p := newPlace(t)
		p.write(filepath.Join(p.home, ".config"), "")
		_, err := p.try(config.Input{})
		wantInvalid(t, err, p.userFile()+": cannot be read")
	})
}

func TestLinks(t *testing.T) {
	p := newPlace(t)
	target := filepath.Join(t.TempDir(), "elsewhere.toml")
	p.write(target, "layout = 'agents'")
	if err := os.MkdirAll(filepath.Dir(p.userFile()), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, p.userFile()); err != nil {
		t.Skipf("links cannot be made here: %v", err)
	}
	if got := p.load(config.Input{}).Config().Layout; got != "agents" {
		t.Errorf("layout is %q: the user's file may be a link", got)
	}
	for name, target := range map[string]string{"link": target, "broken link": target + "x"} {
		p := newPlace(t)
		if err := os.Symlink(target, p.repoFile()); err != nil {
			t.Fatal(err)
		}
		_, err := p.try(config.Input{})
		if err == nil {
			t.Errorf("%s: a repository's file that is a link was followed", name)
			continue
		}
		wantInvalid(t, err, p.repoFile()+": is a symbolic link")
	}
}
