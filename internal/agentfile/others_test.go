package agentfile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOthersThereAndBack: the files of other agents are made, found there again, and gone afterwards with their directories; what
// was in them stays.
func TestOthersThereAndBack(t *testing.T) {
	type file interface {
		Write(root *os.Root) (Outcome, string, error)
		Undo(root *os.Root) (Outcome, string, error)
		Text() []byte
	}
	for name, f := range map[string]file{
		".cursor/hooks.json": CursorHooks(), ".cursor/worktrees.json": CursorWorktrees(), ".gemini/settings.json": GeminiHooks(),
		".opencode/plugins/croft.js": OpencodePlugin(), ".aider.conf.yml": AiderSettings(),
	} {
		dir := t.TempDir()
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		want := func(got Outcome, why string, err error, is Outcome) {
			t.Helper()
			if got != is || err != nil {
				t.Errorf("%s: %s %s %v, not %s", name, got, why, err, is)
			}
		}
		for _, is := range []Outcome{Written, There} {
			got, why, err := f.Write(root)
			want(got, why, err, is)
		}
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != string(f.Text()) {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
		for _, is := range []Outcome{Removed, There} {
			got, why, err := f.Undo(root)
			want(got, why, err, is)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: left: %v, %v", name, left, err)
		}
		for _, old := range map[string][]string{
			".cursor/hooks.json":     {`{"version":1,"hooks":{"stop":[{"command":"say done"}]}}`, "{\"version\": 1}"},
			".cursor/worktrees.json": {`{"setup-worktree": ["npm ci"]}`, "{\"setup-worktree-unix\": [\n\"npm ci\"]}"},
			".gemini/settings.json":  {`{"mcpServers":{"croft":{"command":"croft","args":["mcp"]}}}`, "{}"},
			".aider.conf.yml":        {"model: x", "model: x\n", "# only a comment\n\n"},
		}[name] {
			writeOld(t, filepath.Join(dir, name), old)
			got, why, err := f.Write(root)
			want(got, why, err, Changed)
			got, why, err = f.Undo(root)
			want(got, why, err, Removed)
			if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != old {
				t.Errorf("%s: %q became %q, %v", name, old, text, err)
			}
		}
	}
}

func writeOld(t *testing.T, name, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err == nil {
		err = os.WriteFile(name, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestOthersOwn: what is a user's own is left, and named.
func TestOthersOwn(t *testing.T) {
	for _, old := range []string{"notifications: false\n", "a: b\n\"notifications-command\" : say hi\n"} {
		if text, why := AiderSettings().added([]byte(old)); why == "" {
			t.Errorf("%q became %q", old, text)
		}
	}
	for _, with := range []func([]byte) ([]byte, string){OpencodePlugin().added, OpencodePlugin().removed} {
		if text, why := with([]byte(opencodePlugin + "// mine\n")); why == "" {
			t.Errorf("an edited plugin became %q", text)
		}
	}
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, ".opencode")); err != nil {
		t.Fatal(err)
	}
	if got, _, err := OpencodePlugin().Write(root); got != Left || err != nil {
		t.Errorf("through a link: %s %v", got, err)
	}
}

// TestPlugin: the plugin of Claude Code has the hooks and the server that croft init writes.
func TestPlugin(t *testing.T) {
	dir := filepath.Join("..", "..", "plugins", "croft-claude")
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	for name, want := range map[string][]byte{
		"hooks/hooks.json": ClaudeHooks(ExecForm, ReachNothing).Text(),
		".mcp.json":        Servers()[0].Text(),
	} {
		if got := read(name); got != string(want) {
			t.Errorf("%s is not what croft init writes:\n%s", name, want)
		}
	}
	var about struct{ Name, Version, Description string }
	if err := json.Unmarshal([]byte(read(".claude-plugin/plugin.json")), &about); err != nil || about.Name != "croft" || about.Version == "" || about.Description == "" {
		t.Errorf("plugin.json: %+v, %v", about, err)
	}
	skill := read("skills/croft/SKILL.md")
	if n := strings.Count(skill, "\n"); n > 120 || !strings.HasPrefix(skill, "---\nname: croft\ndescription: ") {
		t.Errorf("SKILL.md has %d lines, and begins with %.40q", n, skill)
	}
}
