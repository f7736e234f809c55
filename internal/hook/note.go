package hook

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/pattern"
)

// maxArgument is how many characters of a tool's argument a note has.
const maxArgument = 120

// maxLooked is how many bytes of a text are looked at.
const maxLooked = 4 << 10

// toolNote names a tool and the argument of it by which a person can decide.
func toolNote(o object) string {
	tool, input := plain(o.text("tool_name"), 64), asObject(o["tool_input"])
	for _, word := range []string{"command", "file_path", "notebook_path", "path", "url", "query", "pattern", "skill", "description", "prompt", "reason"} {
		if text := argument(input, word); text != "" {
			return cut(strings.TrimPrefix(tool+": "+shortened(note(text), maxArgument), ": "), croft.MaxNote)
		}
	}
	return tool
}

// argument returns an argument of a tool: a string, or the words of a command.
func argument(input object, word string) string {
	if text := input.text(word); text != "" {
		return text
	}
	var words []string
	_ = json.Unmarshal(input[word], &words)
	return strings.Join(words, " ")
}

// asked returns the question of Claude Code's tool AskUserQuestion, which is asked by way of a
// permission.
func asked(o object) string {
	if o.text("tool_name") != "AskUserQuestion" {
		return ""
	}
	questions := asObject(o["tool_input"]).list("questions")
	if len(questions) == 0 {
		return "a question"
	}
	text := note(asObject(questions[0]).text("question"))
	if more := len(questions) - 1; more > 0 {
		others := fmt.Sprintf(" (and %d more)", more)
		text = cut(shortened(text, 400), croft.MaxNote-len(others)) + others
	}
	return text
}

// note makes a text fit for people to read: one line, no secrets, at most croft.MaxNote bytes.
func note(text string) string { return plain(masked(cut(text, maxLooked)), croft.MaxNote) }

// shortened returns at most so many characters of a text.
func shortened(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return strings.TrimSpace(string([]rune(text)[:limit-1])) + "…"
}

// plain returns at most so many bytes of a text on one line, with every run of white space as one
// blank, and every other character that cannot be printed replaced.
func plain(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
	return cut(strings.Join(strings.Fields(text), " "), limit)
}

// cut returns at most so many bytes of a text, and no half of a character.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// secret is a form that secrets have, and what a text has in its place.
type secret struct {
	form pattern.Pattern
	with string
}

var secrets = []secret{
	{pattern.New(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY.*`), "***"},
	{pattern.New(`(?i)\b((?:proxy-)?authorization|(?:set-)?cookie|x-[a-z-]*(?:key|token|secret)|api-key)(["']?\s*[:=]\s*["']?)[^'"\n]+`), "${1}${2}***"},
	{pattern.New(`(?i)\b(bearer|basic)(\s+)[a-z0-9._~+/=-]{6,}`), "${1}${2}***"},
	{pattern.New(`(?i)(://)[^/\s'"]+@`), "${1}***@"}, // up to the last @: a password may have one
	{pattern.New(`(?i)(--?[a-z-]*(?:password|passwd|passphrase|token|secret|api-?key|access-?key|credential)s?(?:\s+|=))('[^']*'|"[^"]*"|\S+)`), "${1}***"},
	{pattern.New(`(?i)([a-z0-9_.-]*(?:password|passwd|passphrase|pwd|token|secret|api_?key|access_?key|private_?key|credential)[a-z0-9_]*["']?\s*[=:]\s*)('[^']*'|"[^"]*"|[^\s'",;&]+)`), "${1}***"},
	{pattern.New(`(\s(?:-u|--user|-a|--auth)[\s=]+['"]?[^\s:'"]+:)[^\s'"]+`), "${1}***"},
	// -p and -a are passwords of some programs, and something else of most.
	{pattern.New(`\b((?:sshpass|mongo(?:sh|dump|restore|export|import)?)\b[^|;&\n]*?\s-p[\s=]*)('[^']*'|"[^"]*"|[^\s|;&]+)`), "${1}***"},
	{pattern.New(`\b((?:mysql[a-z]*|mariadb[a-z-]*)\b[^|;&\n]*?\s-p)('[^']*'|"[^"]*"|[^\s|;&]+)`), "${1}***"},
	{pattern.New(`\b([a-z]+\b[^|;&\n]*?\blogin\b[^|;&\n]*?\s-p[\s=]*)('[^']*'|"[^"]*"|[^\s|;&]+)`), "${1}***"},
	{pattern.New(`\b((?:redis|valkey)-cli\b[^|;&\n]*?\s-a[\s=]*)('[^']*'|"[^"]*"|[^\s|;&]+)`), "${1}***"},
	{pattern.New(`\b(?:sk|pk|rk)[-_](?:live|test|ant|proj|[a-z0-9]+)?[-_]?[A-Za-z0-9_-]{12,}`), "***"},
	{pattern.New(`\b(?:gh[pousr]_|github_pat_|glpat-|npm_|hf_|xox[abeprs]-|AIza|ya29\.|dop_v1_|SG\.)[A-Za-z0-9._-]{10,}`), "***"},
	{pattern.New(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`), "***"},
	{pattern.New(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?`), "***"},
}

// masked replaces secrets that can be told by their form or by the word before them.
func masked(text string) string {
	for _, s := range secrets {
		text = s.form().ReplaceAllString(text, s.with)
	}
	return text
}
