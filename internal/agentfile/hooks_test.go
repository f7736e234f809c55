package agentfile

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
)

// files are settings as people and programs write them.
var files = []string{
	"{}", "{}\n", "{\n}", "{ }", "{\n}\n",
	`{"model": "opus"}`,
	"{\n\t\"model\": \"opus\",\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}\n\t\t]\n\t}\n}\n",
	"{\r\n  \"hooks\": {},\r\n  \"sandbox\": {\"excludedCommands\": [\"docker *\"]}\r\n}\r\n",
	`{"hooks":{"Stop":[],"SessionEnd":[ ]}}`,
	`{"hooks":{"Stop":[{"matcher":"x","hooks":[{"type":"command","command":"croft hook claude state; say done"}]}]},"z":[1,{"a":",}"}]}`,
	`{"permissions": {"allow": ["Bash(croft hook:*)"]}, "sandbox": {"enabled": true}}`,
}

func all() map[string]Hooks {
	return map[string]Hooks{
		"claude": ClaudeHooks(ExecForm, ReachNothing), "shell": ClaudeHooks(ShellForm, ReachNothing),
		"outside": ClaudeHooks(ExecForm, ReachCroft), "codex": CodexHooks(),
	}
}

func parsed(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return v
}

// TestThereAndBack: what is added is there once, everything else stays, and taking it out again
// leaves the bytes of before.
func TestThereAndBack(t *testing.T) {
	for name, h := range all() {
		for _, old := range files {
			added, why := h.Added([]byte(old))
			if why != "" {
				t.Errorf("%s: %q: %s", name, old, why)
				continue
			}
			if again, _ := h.Added(added); string(again) != string(added) {
				t.Errorf("%s: %q: a second time:\n%s\nafter:\n%s", name, old, again, added)
			}
			for _, e := range h.elements {
				if !has(added, e) {
					t.Errorf("%s: %q: %v is not in:\n%s", name, old, e.path, added)
				}
			}
			want := old
			if old == "{\n}\n" || old == "{\n}" {
				want = "" // as Croft would have made it
			}
			if back, why := h.Removed(added); why != "" || string(back) != want {
				t.Errorf("%s: %q: %s back:\n%q", name, old, why, back)
			}
			if same, why := h.Removed([]byte(old)); why != "" || string(same) != old {
				t.Errorf("%s: %q: %s: changed without need: %q", name, old, why, same)
			}
		}
	}
}

// TestReformatted: after another program has written the file in its own way, what is Croft's goes
// and the rest means what it did.
func TestReformatted(t *testing.T) {
	for name, h := range all() {
		added, _ := h.Added([]byte(`{"model": "opus"}`))
		for _, prefix := range []string{"", "    "} {
			text, err := json.MarshalIndent(parsed(t, added), "", prefix)
			if prefix == "" {
				text, err = json.Marshal(parsed(t, added))
			}
			if err != nil {
				t.Fatal(err)
			}
			back, why := h.Removed(text)
			if why != "" || strings.Contains(string(back), "croft") || !reflect.DeepEqual(parsed(t, back), map[string]any{"model": "opus"}) {
				t.Errorf("%s: %s: %s", name, why, back)
			}
		}
	}
}

// TestFormsReplaceEachOther: a file has hooks of one form.
func TestFormsReplaceEachOther(t *testing.T) {
	text, _ := ClaudeHooks(ShellForm, ReachNothing).Added([]byte(`{"a": 1}`))
	text, _ = ClaudeHooks(ExecForm, ReachNothing).Added(text)
	if n := strings.Count(string(text), "croft"); n != 12 || strings.Contains(string(text), "croft hook") {
		t.Errorf("%d times croft in:\n%s", n, text)
	}
	if back, _ := ClaudeHooks(ExecForm, ReachNothing).Removed(text); string(back) != `{"a": 1}` {
		t.Errorf("back: %q", back)
	}
}

// TestNotUnderstood: a file that is no plain JSON, or has another shape, is left.
func TestNotUnderstood(t *testing.T) {
	for _, old := range []string{"", "[]", "1", "{ // a remark\n}", `{"hooks": []}`, `{"hooks": {"Stop": {}}}`, `{"hooks": {}, "hooks": {}}`, `{"hooks": null}`, "{\"a\": 1,}"} {
		if text, why := ClaudeHooks(ExecForm, ReachNothing).Added([]byte(old)); why == "" {
			t.Errorf("%q became %q", old, text)
		}
	}
}

// TestFiles: the file and its directory are made, and gone afterwards; no link is followed.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	h := ClaudeHooks(ExecForm, ReachNothing)
	for i, want := range []Outcome{Written, There} {
		if got, why, err := h.Write(root); got != want || err != nil {
			t.Errorf("%d: %s %s %v", i, got, why, err)
		}
	}
	for i, want := range []Outcome{Removed, There} {
		if got, why, err := h.Undo(root); got != want || err != nil {
			t.Errorf("undone, %d: %s %s %v", i, got, why, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if err := os.Symlink(t.TempDir(), dir+"/.claude"); err != nil {
		t.Fatal(err)
	}
	if got, _, err := h.Write(root); got != Left || err != nil {
		t.Errorf("through a link: %s %v", got, err)
	}
}

// TestTOML: the server of Croft comes into Codex's settings, and out of them again.
func TestTOML(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	name := dir + "/.codex/config.toml"
	for _, old := range []string{"", "model = \"x\"", "model = \"x\"\n", "[a]\nb = 1\n\n"} {
		if old != "" {
			if err := os.MkdirAll(dir+"/.codex", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(old), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if out, why, err := CodexServer().Update(root); out == Left || err != nil {
			t.Errorf("%q: %s %s %v", old, out, why, err)
		}
		if out, why, err := CodexServer().Undo(root); out != Removed || err != nil {
			t.Errorf("%q: back: %s %s %v", old, out, why, err)
		}
		if back, _ := os.ReadFile(name); string(back) != old {
			t.Errorf("%q became %q", old, back)
		}
	}
}

// TestTOMLAppended: the server goes also if others have added to the file that Croft made, and stays if it was edited.
func TestTOMLAppended(t *testing.T) {
	const more = "\n[projects.\"/x\"]\ntrust_level = \"trusted\"\n"
	edited := strings.Replace(tomlServer, "tool_timeout_sec = 600", "tool_timeout_sec = 60", 1)
	for _, tt := range []struct{ old, want, why string }{
		{tomlServer + more, more, ""},
		{"a = 1\n\n" + tomlServer + more, "a = 1\n" + more, ""},
		{"a = 1\n", "a = 1\n", ""},
		{edited, "", "not as croft init writes it"},
		{"a = 1\n\n" + edited + more, "", "not as croft init writes it"},
	} {
		text, why := removedTOML([]byte(tt.old))
		if string(text) != tt.want || !strings.Contains(why, tt.why) || tt.why == "" && why != "" {
			t.Errorf("%q: %q, %s", tt.old, text, why)
		}
	}
}

// TestOwnEntries: what a user wrote in another way than Croft does survives an undo.
func TestOwnEntries(t *testing.T) {
	h := ClaudeHooks(ExecForm, ReachNothing)
	for _, own := range []string{
		`{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "croft hook claude state", "async": false}]}]}}`,
		`{"sandbox": {"enabled": true, "excludedCommands": ["croft *", "docker *"]}}`,
		`{"hooks": {"Stop": [{"matcher": "x", "hooks": [{"type": "command", "command": "croft", "args": ["hook", "claude", "state"], "timeout": 10}]}]}}`,
	} {
		if back, why := h.Removed([]byte(own)); why != "" || string(back) != own {
			t.Errorf("%s: %s\n%s", own, why, back)
		}
	}
}
