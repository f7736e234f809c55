package layout

import (
	"fmt"
	"strings"
	"unicode"
)

// refProblem returns why s cannot be part of a branch name, or "" if it can. The rules are
// those of git-check-ref-format, with three more: no component may start with a dash,
// which a program would read as an option; ".lock" is refused in upper and lower case; and
// no character may be invisible in a way that changes how the name is displayed.
func refProblem(s string) string {
	for _, r := range s {
		switch {
		case isControl(r):
			return fmt.Sprintf("holds the control character %U", r)
		case r == ' ':
			return "holds a space"
		case strings.ContainsRune(`~^:?*[\`, r):
			return fmt.Sprintf("holds %q", r)
		}
	}
	switch {
	case strings.HasPrefix(s, "/"):
		return "starts with a slash"
	case strings.HasSuffix(s, "/"):
		return "ends with a slash"
	case strings.Contains(s, "//"):
		return "holds two slashes in a row"
	case strings.Contains(s, ".."):
		return "holds two dots in a row"
	case strings.Contains(s, "@{"):
		return `holds "@{"`
	case strings.HasSuffix(s, "."):
		return "ends with a dot"
	}
	for c := range strings.SplitSeq(s, "/") {
		switch {
		case strings.HasPrefix(c, "-"):
			return dashProblem(c, s)
		case strings.HasPrefix(c, "."):
			return "has a component that starts with a dot"
		case strings.HasSuffix(Fold(c), ".lock"):
			return `has a component that ends with ".lock"`
		}
	}
	return ""
}

func dashProblem(component, whole string) string {
	if component == whole || strings.HasPrefix(whole, "-") {
		return "starts with a dash"
	}
	return "has a component that starts with a dash"
}

// wholeProblem refuses names that git reads as something else than a branch.
// Case does not count, because it does not count on every file system.
func wholeProblem(s string) string {
	upper := strings.ToUpper(s)
	switch upper {
	case "@":
		return "is another word for HEAD"
	case "HEAD", "FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD",
		"REBASE_HEAD", "BISECT_HEAD", "AUTO_MERGE":
		return "is a name that git uses itself"
	}
	if strings.HasPrefix(upper, "REFS/") {
		return "looks like a full ref"
	}
	return ""
}

// oidProblem refuses a branch that git takes for a commit wherever either
// could stand.
func oidProblem(branch string) string {
	if (len(branch) == 40 || len(branch) == 64) && isHex(branch) {
		return "would be read as the ID of a commit"
	}
	return ""
}

// isControl reports control characters, and the invisible ones that end a
// line or turn the direction of the text around: a name that holds them is
// shown as another one.
func isControl(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) ||
		r == '\u2028' || r == '\u2029' || r == '\ufeff'
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdefABCDEF") == "" }
