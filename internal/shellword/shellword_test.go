package shellword

import (
	"os/exec"
	"testing"
)

// TestQuote: a shell reads the word that was quoted, and words that need no quotes have none.
func TestQuote(t *testing.T) {
	shell, err := exec.LookPath("sh")
	for text, want := range map[string]string{
		"croft/fix-login": "croft/fix-login", "/home/ann/app.croft": "/home/ann/app.croft", "": "''", "a b": "'a b'",
		"a;touch x": "'a;touch x'", "$(id)": "'$(id)'", "it's": `'it'\''s'`, "~": "'~'", "größe": "'größe'", "a\nb": "'a\nb'", "x*": "'x*'",
	} {
		got := Quote(text)
		if got != want {
			t.Errorf("%q is quoted as %s, want %s", text, got, want)
		}
		if err != nil {
			continue // there is no shell
		}
		if out, err := exec.CommandContext(t.Context(), shell, "-c", "printf %s "+got).Output(); err != nil || string(out) != text {
			t.Errorf("a shell reads %q as %q, %v", got, out, err)
		}
	}
}
