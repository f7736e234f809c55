// Package shellword quotes words of the commands that users are told to run. Git allows quotes,
// semicolons and dollar signs in the names of branches, and a path may have anything in it.
package shellword

import "strings"

// Quote returns a text as one word for a POSIX shell: as it is if no character of it means
// anything to a shell, otherwise in single quotes.
func Quote(text string) string {
	isSafe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_./@%+=:,-", r)
	}
	if text != "" && strings.TrimFunc(text, isSafe) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
