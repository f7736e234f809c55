package gitdir

import (
	"fmt"
	"strconv"
	"strings"
)

// escapes are git's escape letters for unprintable bytes in a path.
var escapes = map[byte]byte{
	'\a': 'a', '\b': 'b', '\t': 't', '\n': 'n', '\v': 'v', '\f': 'f', '\r': 'r', '"': '"', '\\': '\\',
}

// QuotePath quotes a path as git does where necessary: in double quotes, with letters and
// octal numbers for bytes.
func QuotePath(path string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(path) {
		c := path[i]
		switch letter, ok := escapes[c]; {
		case ok:
			b.WriteByte('\\')
			b.WriteByte(letter)
		case c < 0x20 || c >= 0x7f:
			fmt.Fprintf(&b, "\\%03o", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// UnquotePath unquotes a path that git may have quoted. One that does not begin with a
// double quote is returned as it is.
func UnquotePath(text string) (string, error) {
	if !strings.HasPrefix(text, `"`) {
		return text, nil
	}
	bad := fmt.Errorf("not a path as git quotes it: %q", text)
	inner, ok := strings.CutSuffix(text[1:], `"`)
	if !ok {
		return "", bad
	}
	var b strings.Builder
	for i := 0; i < len(inner); i++ {
		switch c := inner[i]; {
		case c == '"':
			return "", bad
		case c != '\\':
			b.WriteByte(c)
		case i+1 < len(inner) && inner[i+1] >= '0' && inner[i+1] <= '3':
			if i+4 > len(inner) {
				return "", bad
			}
			n, err := strconv.ParseUint(inner[i+1:i+4], 8, 8)
			if err != nil {
				return "", bad
			}
			b.WriteByte(byte(n))
			i += 3
		case i+1 < len(inner):
			i++
			raw, ok := unescaped(inner[i])
			if !ok {
				return "", bad
			}
			b.WriteByte(raw)
		default:
			return "", bad
		}
	}
	return b.String(), nil
}

func unescaped(letter byte) (byte, bool) {
	for raw, l := range escapes {
		if l == letter {
			return raw, true
		}
	}
	return 0, false
}
