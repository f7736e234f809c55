package hunks

import (
	"errors"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
)

// Help explains below a hunk that is edited what may become of it.
const Help = `# To leave a line marked + out, delete it. To keep a line marked -, make the mark a blank.
# New lines are marked +. All other lines stay as they are, with their marks.
# Lines that begin with # go. Without a line left, the hunk is not changed.
`

// Errors of Rewrite, as beginnings of a question.
var (
	ErrUnchanged = errors.New("it was left as it was")
	ErrMark      = errors.New("each line begins with a blank, - or +")
	ErrOld       = errors.New("the lines marked - or blank are no longer those of the file")
	ErrNothing   = errors.New("it would change nothing: n leaves it")
)

// Text is a hunk as it is edited.
func Text(h croft.Hunk) []byte {
	body := []byte(h.Text)
	if len(h.Raw) > 0 {
		body = h.Raw
	}
	return slices.Concat(body, []byte(Help))
}

// Rewrite returns a hunk as a person has edited its text. What stood there before has to be the same.
func Rewrite(h croft.Hunk, edited []byte) (croft.Hunk, error) {
	var b strings.Builder
	for l := range strings.Lines(string(edited)) {
		l = strings.TrimSuffix(l, "\n") + "\n"
		switch {
		case l[0] == '#' || strings.HasPrefix(l, "@@ "):
			continue
		case l == "\n" || l == "\r\n": // an editor has taken the blank away
			l = " " + l
		case !strings.ContainsRune(" -+\\", rune(l[0])):
			return h, ErrMark
		}
		b.WriteString(l)
	}
	lines := linesOf(croft.Hunk{Text: b.String()})
	switch isChange := func(l line) bool { return l.mark != ' ' }; {
	case len(lines) == 0, slices.Equal(lines, linesOf(h)):
		return h, ErrUnchanged
	case oldOf(lines) != oldOf(linesOf(h)):
		return h, ErrOld
	case !slices.ContainsFunc(lines, isChange):
		return h, ErrNothing
	}
	return part(h, lines, 0, len(lines)), nil
}

// oldOf is what stood there before.
func oldOf(lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		if l.mark != '+' {
			b.WriteString(l.text)
		}
	}
	return b.String()
}
