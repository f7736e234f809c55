package shellword

import (
	"os/exec"
	"testing"
)

// TestQuote: every shell reads the word that was quoted, and words that need no quotes have none.
func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"croft/fix-login": "croft/fix-login", "/home/ann/app.croft": "/home/ann/app.croft", "": "''", "a b": "'a b'",
		"a;touch x": "'a;touch x'", "$(id)": "'$(id)'", "it's": `'it'"'"'s'`, "~": "'~'", "größe": "'größe'", "a\nb": "'a\nb'", "x*": "'x*'",
		`\'; id; #`: `''\\''"'"'; id; #'`, `a\\b`: `'a'\\''\\'b'`, `a\n`: `'a'\\'n'`, "=ls": "'=ls'", "a=b": "a=b", "%self": "'%self'", "100%": "100%",
		"`id`": "'`id`'", "!!": "'!!'", "(id)": "'(id)'", "{a,b}": "'{a,b}'", "^a": "'^a'", "#": "'#'", `"$HOME"`: `'"$HOME"'`,
	} {
		got := Quote(text)
		if got != want {
			t.Errorf("%q is quoted as %s, want %s", text, got, want)
		}
		for _, name := range []string{"sh", "dash", "bash", "zsh", "fish"} {
			shell, err := exec.LookPath(name)
			if err != nil {
				continue // that one is not there
			}
			if out, err := exec.CommandContext(t.Context(), shell, "-c", "printf %s "+got).Output(); err != nil || string(out) != text {
				t.Errorf("%s reads %s as %q, %v; want %q", name, got, out, err, text)
			}
		}
	}
}
