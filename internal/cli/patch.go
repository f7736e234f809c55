package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/croft-sh/croft"
)

// A program gets a patch byte by byte; for a person, control characters are replaced.

func (a *app) isForPerson() bool { return a.env.Width > 0 || a.env.Color == ColorTerminal }

// visibleText replaces the control characters that a terminal would act upon: agents
// write the files.
func visibleText(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\t' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x20:
			b.WriteString("^" + string(r+0x40))
		default:
			b.WriteRune('\uFFFD')
		}
	}
	return b.String()
}

// patchLine is a line of a patch as it is printed.
func (a *app) patchLine(text string, s style) string {
	if a.isForPerson() {
		text = visibleText(text)
	}
	return a.paintText(text, s) + "\n"
}

// patchPath returns a path for the header of a patch, after a prefix such as "a/". A path
// with a quote, a backslash or a character that cannot be printed is quoted as git does:
// git apply could not parse it otherwise, and a terminal could act upon it. A path that starts with a quote was already quoted
// in the review.
func patchPath(prefix, path string) string {
	if inner, ok := strings.CutPrefix(path, `"`); ok {
		return `"` + prefix + inner
	}
	if !strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsPrint(r) || r == '"' || r == '\\' }) {
		return prefix + path
	}
	var b strings.Builder
	for _, r := range path {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			for _, c := range []byte(string(r)) {
				fmt.Fprintf(&b, "\\%03o", c)
			}
		}
	}
	return `"` + prefix + b.String() + `"`
}

// printPatch prints what became of files as a patch.
func (a *app) printPatch(files []croft.ReviewFile) {
	var b strings.Builder
	for _, f := range files {
		b.Reset()
		if a.isForPerson() {
			f.OldObject, f.NewObject = shortCommit(f.OldObject), shortCommit(f.NewObject)
		}
		for _, line := range patchHeading(f) {
			b.WriteString(a.patchLine(line, styleBold))
		}
		for _, h := range f.Hunks {
			b.WriteString(a.hunkText(h))
		}
		if _, err := io.WriteString(a.out, b.String()); err != nil {
			return // the output remembers it
		}
	}
}

// patchHeading are the lines before the hunks of a file.
func patchHeading(f croft.ReviewFile) []string {
	from, to := patchPath("a/", cmp.Or(f.OldPath, f.Path)), patchPath("b/", f.Path)
	lines := []string{"diff --git " + from + " " + to}
	switch {
	case f.OldMode == "":
		lines = append(lines, "new file mode "+f.NewMode)
		from = "/dev/null"
	case f.NewMode == "":
		lines = append(lines, "deleted file mode "+f.OldMode)
		to = "/dev/null"
	case f.OldMode != f.NewMode:
		lines = append(lines, "old mode "+f.OldMode, "new mode "+f.NewMode)
	}
	if f.OldPath != "" {
		lines = append(lines, "rename from "+patchPath("", f.OldPath), "rename to "+patchPath("", f.Path))
	}
	if f.OldObject == f.NewObject {
		return lines
	}
	zeros := strings.Repeat("0", max(len(f.OldObject), len(f.NewObject))) // no object
	index := "index " + cmp.Or(f.OldObject, zeros) + ".." + cmp.Or(f.NewObject, zeros)
	if f.OldMode == f.NewMode {
		index += " " + f.OldMode
	}
	lines = append(lines, index)
	switch {
	case f.IsSubmodule && f.Status != croft.FileTypeChange:
		return append(lines, submoduleLines(f, from, to)...)
	case f.NotShown > 0:
		return append(lines, from+" and "+to+" differ: not shown, "+sizeText(f.NotShown))
	case f.IsBinary:
		return append(lines, "Binary files "+from+" and "+to+" differ")
	case len(f.Hunks) > 0:
		return append(lines, "--- "+from, "+++ "+to)
	}
	return lines
}

// submoduleLines show which commit a submodule was at, as git does.
func submoduleLines(f croft.ReviewFile, from, to string) []string {
	lines := []string{"--- " + from, "+++ " + to}
	switch {
	case f.OldObject == "":
		return append(lines, "@@ -0,0 +1 @@", "+Subproject commit "+f.NewObject)
	case f.NewObject == "":
		return append(lines, "@@ -1 +0,0 @@", "-Subproject commit "+f.OldObject)
	}
	return append(lines, "@@ -1 +1 @@", "-Subproject commit "+f.OldObject, "+Subproject commit "+f.NewObject)
}

// hunkText is a hunk as it is printed.
func (a *app) hunkText(h croft.Hunk) string {
	var b strings.Builder
	b.WriteString(a.patchLine(h.Header, styleCyan))
	text := h.Text
	if len(h.Raw) > 0 {
		text = string(h.Raw)
	}
	for line := range strings.Lines(text) {
		b.WriteString(a.patchLine(strings.TrimSuffix(line, "\n"), lineStyle(line)))
	}
	return b.String()
}

func lineStyle(line string) style {
	switch line[0] {
	case '+':
		return styleGreen
	case '-':
		return styleRed
	case '\\':
		return styleDim
	}
	return styleNone
}

// fileSummary says in a few words what became of a file.
func fileSummary(f croft.ReviewFile) string {
	words := []string{string(f.Status)}
	switch {
	case f.IsSubmodule:
		words = append(words, "submodule")
	case f.NotShown > 0:
		words = append(words, "not shown, "+sizeText(f.NotShown))
	case f.IsBinary:
		words = append(words, "binary")
	case f.Added+f.Deleted > 0:
		words = append(words, fmt.Sprintf("+%d -%d", f.Added, f.Deleted))
	}
	if f.OldPath != "" {
		words = append(words, "was "+f.OldPath)
	}
	if f.OldMode != f.NewMode && f.OldMode != "" && f.NewMode != "" {
		words = append(words, f.OldMode+" → "+f.NewMode)
	}
	return strings.Join(words, ", ")
}
