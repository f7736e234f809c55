package mcp

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The sizes of answers, in bytes.
const (
	maxAnswer = 32 << 10 // of an answer as JSON; hosts cut longer ones
	maxPatch  = 16 << 10 // of a part of a patch: twice that as JSON at most, where every byte is a line end
	maxLog    = 4 << 10
	maxText   = 1 << 10 // of a message, a name or a path
)

// clean takes out of a text what is no text: control characters other than line ends and
// tabs, and those that turn the direction of writing.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r >= 0xe0000 && r <= 0xe007f:
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
}

// cleanAll cleans all texts of a decoded JSON value, also the names of its fields.
func cleanAll(value any) any {
	switch v := value.(type) {
	case string:
		return clean(v)
	case []any:
		for i := range v {
			v[i] = cleanAll(v[i])
		}
	case object:
		out := object{}
		for name, item := range v {
			out[clean(name)] = cleanAll(item)
		}
		return out
	}
	return value
}

// cut shortens a text to a number of bytes, and says so.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + " […]"
}

// tail returns the last bytes of a text.
func tail(text string, most int) string {
	if len(text) <= most {
		return text
	}
	at := len(text) - most
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return "[…] " + text[at:]
}

// cutEach shortens a list to a number of items, each of which is cut.
func cutEach(list []string, most int) []string {
	out := make([]string, 0, min(len(list), most))
	for _, text := range list[:min(len(list), most)] {
		out = append(out, cut(text, maxText/4))
	}
	return out
}
