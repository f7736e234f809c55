package layout

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxSlug is the longest slug, in bytes.
const maxSlug = 80

// Slug turns a name into one component of a path. Letters and digits of any
// script, dots, underscores and dashes stay; everything else becomes a dash.
// The result is never empty and always safe: of 🚀 it is workspace-1f680.
func Slug(name string) string {
	if s := rewriteName(name); s != "" {
		return s
	}
	return nameless(name)
}

// nameless is the slug of a name without letters and digits: a word, and the code points of its first symbols, by which
// names of emoji are told apart.
func nameless(name string) string {
	const shown = 4
	slug, n := "workspace", 0
	for _, r := range name {
		if unicode.IsSymbol(r) && r != utf8.RuneError && !unicode.Is(unicode.Sk, r) && n < shown { // Sk has the skin tones
			slug += "-" + strconv.FormatInt(int64(r), 16)
			n++
		}
	}
	return slug
}

// UniqueSlug is Slug with a number behind it if the slug is taken: -2, -3 and
// so on. taken is asked with the folded slug.
func UniqueSlug(name string, taken func(folded string) bool) string {
	slug := Slug(name)
	unique := slug
	for n := 2; taken(Fold(unique)); n++ {
		suffix := "-" + strconv.Itoa(n)
		unique = strings.TrimRight(cutBytes(slug, maxSlug-len(suffix)), ".-") + suffix
	}
	return unique
}

// rewriteName is Slug without a word for nothing.
func rewriteName(name string) string {
	var b strings.Builder
	dash := false
	for _, r := range name {
		keep := r == '.' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
		switch {
		case keep:
			b.WriteRune(r)
			dash = false
		case !dash:
			b.WriteByte('-')
			dash = true
		}
	}
	s := strings.Trim(b.String(), ".-")
	if isDevice(s) {
		// Windows looks at what stands before the first dot only.
		stem, extension, dotted := strings.Cut(s, ".")
		s = stem + "-w"
		if dotted {
			s += "." + extension
		}
	}
	return strings.TrimRight(cutBytes(s, maxSlug), ".-")
}

// cutBytes shortens s to at most n bytes without splitting a character.
func cutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Fold returns the same string for all strings that differ in case only. It is
// meant for comparing: on a file system that ignores case, two directories with
// the same folded name would be one. Composed and decomposed accents stay
// different here, although macOS takes them for the same; there, the file
// system refuses the second directory.
func Fold(s string) string { return strings.Map(foldRune, ligatures.Replace(s)) }

// ligatures are the characters that become several when their case is folded.
var ligatures = strings.NewReplacer("ß", "ss", "ẞ", "ss", "ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st")

// foldRune picks one of the characters that are the same but for case.
func foldRune(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return unicode.ToLower(least)
}
