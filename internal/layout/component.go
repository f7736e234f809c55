package layout

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/croft-sh/croft/internal/pattern"
)

// dots says whether a component may start with a dot. Two are always refused.
type dots int

const (
	dotRefused dots = iota
	dotAllowed
)

// maxComponent is the longest file name, in bytes, that file systems take.
const maxComponent = 255

// componentProblem says why s cannot be one component of a path. The rules
// are those of all platforms together, so that a layout means the same
// everywhere.
func componentProblem(s string, dot dots) string {
	switch {
	case s == "":
		return "is empty"
	case !utf8.ValidString(s):
		return "is not valid UTF-8"
	case len(s) > maxComponent:
		return fmt.Sprintf("is %d bytes long, more than %d", len(s), maxComponent)
	case strings.ContainsAny(s, `/\`):
		return "holds a path separator"
	}
	for _, r := range s {
		if isControl(r) {
			return fmt.Sprintf("holds the control character %U", r)
		}
		if strings.ContainsRune(`<>:"|?*`, r) {
			return fmt.Sprintf("holds %q, which Windows does not allow", r)
		}
	}
	seen := asHFS(s)
	switch {
	case seen == "." || strings.HasPrefix(seen, ".."):
		return "is a dot alone, or starts with two"
	case strings.HasPrefix(s, "-"):
		return "starts with a dash"
	case dot == dotRefused && strings.HasPrefix(seen, "."):
		return "starts with a dot"
	case strings.HasSuffix(s, ".") || strings.HasSuffix(s, " "):
		return "ends with a dot or a space"
	case Fold(seen) == ".git" || Fold(seen) == "git~1":
		return "is the name of git's own directory"
	case isDevice(s):
		return "is the name of a device on Windows"
	}
	return ""
}

// asHFS drops the characters that HFS+ does not see in a file name: to it,
// ".g\u200cit" is ".git".
func asHFS(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= '\u200c' && r <= '\u200f', r >= '\u202a' && r <= '\u202e',
			r >= '\u206a' && r <= '\u206f', r == '\ufeff':
			return -1
		}
		return r
	}, s)
}

// isDevice reports names that Windows reserves, with or without an extension.
func isDevice(s string) bool {
	stem, _, _ := strings.Cut(s, ".")
	return device().MatchString(strings.ToLower(strings.TrimRight(stem, " ")))
}

var device = pattern.New(`^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[1-9\x{b9}\x{b2}\x{b3}])$`)
