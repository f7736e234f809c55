package push

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/croft-sh/croft/internal/git/gitconfig"
	"github.com/croft-sh/croft/internal/pattern"
)

// mostLines and mostBytes bound what is passed on of the text of a server or a tool.
const (
	mostLines = 20
	mostBytes = 2000
)

// secrets are the tokens of hosts, and secrets in addresses.
var secrets = pattern.New(`\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_.-]{16,}|[Bb]earer\s+[A-Za-z0-9._~+/=-]{8,}|[Tt]oken\s+[A-Za-z0-9._~+/=-]{16,})`)

var addresses = pattern.New(`[a-z][a-z0-9+.-]*://[^\s'"<>]+`)

// mask replaces what looks like a secret.
func mask(text string) string {
	text = addresses().ReplaceAllStringFunc(text, func(a string) string {
		bare, _, _ := gitconfig.CutSecret(a)
		return bare
	})
	return secrets().ReplaceAllString(text, "***")
}

// lines returns the text of a server or a tool without secrets and without characters that are not printable:
// a few lines of it.
func lines(text string) string {
	var out []string
	for line := range strings.Lines(mask(strings.ToValidUTF8(text, "?"))) {
		if line = plain(line); line != "" && len(out) < mostLines {
			out = append(out, line)
		}
	}
	return cut(strings.Join(out, "\n"), mostBytes)
}

// oneLine returns the first line of such a text.
func oneLine(text string) string {
	first, _, _ := strings.Cut(lines(text), "\n")
	return cut(first, 200)
}

// plain returns a line without characters that are not printable, and without the sequences by which
// programs colour what they print.
func plain(line string) string {
	var b strings.Builder
	isEscape := false
	for _, r := range line {
		switch {
		case r == 0x1b:
			isEscape = true
		case isEscape:
			isEscape = r == '[' || r == ';' || r == '?' || unicode.IsDigit(r)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r == '\t':
			b.WriteByte(' ')
		}
	}
	return strings.TrimSpace(b.String())
}

// cut returns a text of at most so many bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	text = text[:most-len("…")]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text + "…"
}
