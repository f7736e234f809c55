package croft_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/croft-sh/croft/internal/buildtest"
)

// scripts are the specification of the command line. testdata/script/README.md
// says how they are written.
const scripts = "testdata/script"

func TestScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program and runs git")
	}
	bin := buildProgram(t)
	t.Run("names", func(t *testing.T) { checkScriptNames(t, bin) })
	answers := newAnswerCheck(t)
	testscript.Run(t, testscript.Params{
		Dir:                 scripts,
		Setup:               func(env *testscript.Env) error { answers.scripts.Add(1); return scriptSetup(env, bin) },
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"croft":    answers.checkAfter(scriptCroft, 0),
			"exits":    answers.checkAfter(scriptExits, 2),
			"git":      scriptGit,
			"repo":     scriptRepo,
			"commit":   scriptCommit,
			"jsonpath": scriptJSONPath,
			"jsonkeys": scriptJSONKeys,
			"capture":  scriptCapture,
		},
	})
}

// checkScriptNames keeps the scripts findable: each begins with the command
// that it is about, and no command is without one.
func checkScriptNames(t *testing.T, bin string) {
	out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "croft"), "__complete", "").Output()
	if err != nil {
		t.Fatalf("croft __complete: %v", err)
	}
	covered := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		if name, _, ok := strings.Cut(line, "\t"); ok {
			covered[name] = false
		}
	}
	files, err := filepath.Glob(filepath.Join(scripts, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		command, _, _ := strings.Cut(filepath.Base(file), "_")
		if _, ok := covered[command]; !ok {
			t.Errorf("%s: there is no command %q", file, command)
		}
		covered[command] = true
	}
	for _, command := range slices.Sorted(maps.Keys(covered)) {
		if !covered[command] {
			t.Errorf("croft %s has no script", command)
		}
	}
}

// buildProgram builds the real program, under both its names.
func buildProgram(t *testing.T) (bin string) {
	t.Helper()
	bin = t.TempDir()
	program, err := buildtest.Croft(bin, buildtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Link(program, filepath.Join(bin, "git-"+filepath.Base(program))); err != nil {
		t.Fatal(err)
	}
	return bin
}

// scriptSetup gives a script a home, a state directory and an identity of its
// own, and a clock for its commits that stands still.
func scriptSetup(env *testscript.Env, bin string) error {
	home := filepath.Join(env.WorkDir, "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	const gitconfig = "[init]\n\tdefaultBranch = main\n[user]\n\tname = Ann\n\temail = ann@example.com\n[advice]\n\tdetachedHead = false\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(gitconfig), 0o644); err != nil {
		return err
	}
	env.Setenv("PATH", bin+string(os.PathListSeparator)+env.Getenv("PATH"))
	for name, value := range map[string]string{
		"HOME":                home,
		"USERPROFILE":         home,
		"XDG_CONFIG_HOME":     filepath.Join(home, ".config"),
		"CROFT_STATE_DIR":     filepath.Join(env.WorkDir, "state"),
		"CROFT_DATA_DIR":      filepath.Join(env.WorkDir, "data"),
		"CROFT_GC_AUTO":       "false",
		"GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_DATE":     "2026-01-02T12:00:00Z",
		"GIT_COMMITTER_DATE":  "2026-01-02T12:00:00Z",
		"LC_ALL":              "C",
		"TZ":                  "UTC",
	} {
		env.Setenv(name, value)
	}
	return nil
}

// scriptCroft is "exec croft".
func scriptCroft(ts *testscript.TestScript, neg bool, args []string) {
	runInScript(ts, neg, "croft", args)
}

// scriptGit is "exec git".
func scriptGit(ts *testscript.TestScript, neg bool, args []string) {
	runInScript(ts, neg, "git", args)
}

func runInScript(ts *testscript.TestScript, neg bool, program string, args []string) {
	err := ts.Exec(program, args...)
	if err != nil {
		ts.Logf("[%v]\n", err)
		if !neg {
			ts.Fatalf("unexpected failure")
		}
		return
	}
	if neg {
		ts.Fatalf("unexpected success")
	}
}

// scriptExits runs a command and demands its exit status: exits CODE COMMAND.
func scriptExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// scriptRepo makes repositories with one commit: repo DIR...
func scriptRepo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: repo DIR...")
	}
	for _, dir := range args {
		ts.Check(ts.Exec("git", "init", "--quiet", ts.MkAbs(dir)))
		commitFile(ts, dir, "a.txt", "hello")
	}
}

// scriptCommit commits a file: commit DIR FILE TEXT.
func scriptCommit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: commit DIR FILE TEXT")
	}
	commitFile(ts, args[0], args[1], args[2])
}

func commitFile(ts *testscript.TestScript, dir, name, text string) {
	dir = ts.MkAbs(dir)
	path := filepath.Join(dir, filepath.FromSlash(name))
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
	ts.Check(os.WriteFile(path, []byte(text+"\n"), 0o644))
	ts.Check(ts.Exec("git", "-C", dir, "add", "--", name))
	ts.Check(ts.Exec("git", "-C", dir, "commit", "--quiet", "-m", "add "+name))
}

// scriptJSONPath compares a value in JSON: jsonpath FILE PATH VALUE. A string
// is compared as it is, everything else as JSON; a path that ends in "length" is
// the length of a list. Without VALUE the path must be there, and with "!" it
// must not be.
func scriptJSONPath(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 && (neg || len(args) != 3) {
		ts.Fatalf("usage: [!] jsonpath FILE PATH [VALUE]")
	}
	value, ok := lookUpJSON(ts, args[0], args[1])
	switch {
	case neg && ok:
		ts.Fatalf("%s is there: %s", args[1], jsonText(value))
	case !neg && !ok:
		ts.Fatalf("%s is not there", args[1])
	case len(args) == 3 && jsonText(value) != args[2]:
		ts.Fatalf("%s is %s, want %s", args[1], jsonText(value), args[2])
	}
}

// scriptJSONKeys compares the keys of an object: jsonkeys FILE PATH KEY... The
// path "." is the whole.
func scriptJSONKeys(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: jsonkeys FILE PATH KEY...")
	}
	value, _ := lookUpJSON(ts, args[0], args[1])
	object, ok := value.(map[string]any)
	if !ok {
		ts.Fatalf("%s is no object: %s", args[1], jsonText(value))
	}
	got, want := slices.Sorted(maps.Keys(object)), slices.Sorted(slices.Values(args[2:]))
	if !slices.Equal(got, want) {
		ts.Fatalf("keys of %s:\n got %s\nwant %s", args[1], strings.Join(got, " "), strings.Join(want, " "))
	}
}

// scriptCapture keeps what the last command printed in a variable, or a value
// of its JSON: capture NAME [PATH].
func scriptCapture(ts *testscript.TestScript, neg bool, args []string) {
	switch {
	case !neg && len(args) == 1:
		ts.Setenv(args[0], strings.TrimRight(ts.ReadFile("stdout"), "\r\n"))
	case !neg && len(args) == 2:
		value, ok := lookUpJSON(ts, "stdout", args[1])
		if !ok {
			ts.Fatalf("%s is not there", args[1])
		}
		ts.Setenv(args[0], jsonText(value))
	default:
		ts.Fatalf("usage: capture NAME [PATH]")
	}
}

func lookUpJSON(ts *testscript.TestScript, file, path string) (value any, ok bool) {
	text := ts.ReadFile(file)
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		ts.Fatalf("%s is not one JSON value: %v\n%s", file, err, text)
	}
	if path == "." {
		return value, true
	}
	for key := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			if value, ok = v[key]; !ok {
				return nil, false
			}
		case []any:
			if key == "length" {
				return len(v), true
			}
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, true
}

func jsonText(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}
