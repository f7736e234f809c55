package layout

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/plaintext"
	"github.com/croft-sh/croft/internal/shellword"
)

// The limits, in bytes.
const (
	maxName   = 100
	maxPart   = 100
	maxBranch = 200
	maxKey    = 200
)

// CheckName accepts what git accepts as part of a branch name, up to 100
// bytes: PROJ-123, feat/login, letters of any script.
func CheckName(name string) error {
	if p := nameProblem(name); p != "" {
		return nameError("name", name, p, suggestName(name, nameProblem))
	}
	return nil
}

// CheckBranch accepts the name of a branch, without refs/heads/, up to 200
// bytes.
func CheckBranch(branch string) error {
	if p := branchProblem(branch); p != "" {
		return nameError("branch", branch, p, suggestName(branch, branchProblem))
	}
	return nil
}

// CheckRole accepts a role: one component of a path, valid in a branch name.
func CheckRole(role string) error { return checkPart("role", role) }

// CheckSession accepts a session, by the rules of a role.
func CheckSession(s string) error { return checkPart("session", s) }

// CheckLabel accepts a label, by the rules of a role.
func CheckLabel(l string) error { return checkPart("label", l) }

// CheckAgent accepts an agent, by the rules of a role.
func CheckAgent(a string) error { return checkPart("agent", a) }

// CheckKey accepts an idempotency key: up to 200 bytes of printable UTF-8.
func CheckKey(k string) error {
	p := sizeProblem(k, maxKey)
	if p == "" {
		for _, r := range k {
			if !unicode.IsPrint(r) {
				p = fmt.Sprintf("holds the unprintable character %U", r)
				break
			}
		}
	}
	if p != "" {
		return nameError("key", k, p, suggestPart(k))
	}
	return nil
}

func checkPart(noun, value string) error {
	if p := partProblem(value); p != "" {
		return nameError(noun, value, p, suggestPart(value))
	}
	return nil
}

// checkRepoName is more lenient than the other checks: a directory of that
// name exists already, and repositories such as .dotfiles are common.
func checkRepoName(repo string) error {
	p := componentProblem(repo, dotAllowed)
	if p == "" {
		return nil
	}
	return &croft.Error{
		Code:    croft.InvalidName,
		Op:      "name",
		Message: "the repository's name " + quote(repo) + " " + p,
		Hint:    "use a layout whose path does without {repo}, such as .worktrees/{slug}",
	}
}

func nameProblem(name string) string {
	return cmp.Or(sizeProblem(name, maxName), refProblem(name), unseenProblem(name), wholeProblem(name))
}

// unseenProblem refuses characters that show nothing: a new workspace would have the name of another, as far as one sees.
func unseenProblem(s string) string {
	var before rune
	for _, r := range s {
		if plaintext.IsUnseen(r, before) {
			return fmt.Sprintf("holds %U, which shows nothing", r)
		}
		before = r
	}
	return ""
}

func branchProblem(branch string) string {
	return cmp.Or(sizeProblem(branch, maxBranch), refProblem(branch), wholeProblem(branch), oidProblem(branch))
}

func partProblem(s string) string {
	return cmp.Or(sizeProblem(s, maxPart), componentProblem(s, dotRefused), refProblem(s), unseenProblem(s), wholeProblem(s))
}

func sizeProblem(s string, limit int) string {
	switch {
	case s == "":
		return "is empty"
	case len(s) > limit:
		return fmt.Sprintf("is %d bytes long, more than %d", len(s), limit)
	case !utf8.ValidString(s):
		return "is not valid UTF-8"
	}
	return ""
}

// tryText stands before a value that would be accepted.
const tryText = "accepted would be "

func nameError(noun, value, problem, suggestion string) error {
	e := &croft.Error{
		Code:    croft.InvalidName,
		Op:      "name",
		Message: noun + " " + quote(value) + " " + problem,
	}
	switch {
	case suggestion == "":
	case noun == "name": // of a workspace
		e.Hint = "croft new " + shellword.Quote(suggestion)
	default: // no command takes it alone
		e.Details = tryText + quote(suggestion)
	}
	return e
}

// fallback is suggested where nothing is left of the refused value.
const fallback = "work"

// suggestName derives a name that has no problem. The slashes stay if that is
// possible.
func suggestName(name string, problem func(string) string) string {
	var components []string
	for c := range strings.SplitSeq(name, "/") {
		if c = tidyName(c); c != "" {
			components = append(components, c)
		}
	}
	joined := strings.Join(components, "/")
	flat := tidyName(name)
	for _, s := range []string{joined, flat, flat + "-w"} {
		if problem(s) == "" {
			return s
		}
	}
	return fallback
}

// suggestPart derives a valid path component from a refused value, or returns fallback.
func suggestPart(value string) string {
	flat := tidyName(value)
	for _, s := range []string{flat, flat + "-w"} {
		if partProblem(s) == "" {
			return s
		}
	}
	return fallback
}

// tidyName makes a slug that git accepts too. It is empty if nothing is left.
func tidyName(s string) string {
	s = rewriteName(s)
	for strings.Contains(s, "..") {
		s = strings.ReplaceAll(s, "..", ".")
	}
	for strings.HasSuffix(strings.ToLower(s), ".lock") {
		s = strings.TrimRight(s[:len(s)-len(".lock")], ".-")
	}
	return s
}

// quote shows a value on one line, the beginning only where it is long.
func quote(s string) string {
	const most = 120
	if len(s) > most {
		return fmt.Sprintf("%q…", cutBytes(s, most))
	}
	return fmt.Sprintf("%q", s)
}
