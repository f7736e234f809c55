// Package shellword quotes words of the commands that users are told to run. Git allows quotes,
// semicolons and dollar signs in the names of branches, and a path may have anything in it.
package shellword

import "strings"

// Quote returns a text as one word that sh, bash, dash, zsh and fish read alike: as it is if no character of it means anything
// to a shell, otherwise in single quotes. What they read differently within those stands outside of them: to fish
// a backslash before a quote or another backslash is none of the text.
func Quote(text string) string {
	if isPlain(text) {
		return text
	}
	return "'" + strings.NewReplacer("'", `'"'"'`, `\`, `'\\'`).Replace(text) + "'"
}

// isPlain reports whether a text is one word of any shell as it is. A word that begins with = is the path of a program to zsh, and
// one with % is a job.
func isPlain(text string) bool {
	isLiteral := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_./@%+=:,-", r)
	}
	return text != "" && strings.TrimFunc(text, isLiteral) == "" && !strings.ContainsRune("=%", rune(text[0]))
}
