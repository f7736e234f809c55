package foreign

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// unmarshalJSONC reads JSON with comments and commas before a closing bracket, as editors do.
func unmarshalJSONC(text []byte, into any) error {
	if err := json.Unmarshal(plainJSON(text), into); err != nil {
		return fmt.Errorf("it is no JSON: %w", err)
	}
	return nil
}

// plainJSON replaces comments, and commas before a closing bracket, by spaces, so that positions
// in errors stay right.
func plainJSON(text []byte) []byte {
	out := bytes.Clone(bytes.TrimPrefix(text, []byte("\ufeff")))
	comma := -1 // the last comma, if nothing but space came since
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '"':
			i, comma = endOfString(out, i), -1
		case c == '/' && i+1 < len(out) && (out[i+1] == '/' || out[i+1] == '*'):
			end := endOfComment(out, i)
			blank(out[i:end])
			i = end - 1
		case c == ',':
			comma = i
		case (c == ']' || c == '}') && comma >= 0:
			out[comma], comma = ' ', -1
		case c != ' ' && c != '\t' && c != '\n' && c != '\r':
			comma = -1
		}
	}
	return out
}

// endOfString returns the index of the closing quote of the string that begins at i.
func endOfString(text []byte, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}

// endOfComment returns the index behind the comment that begins at i.
func endOfComment(text []byte, i int) int {
	end, length := []byte("\n"), 0
	if text[i+1] == '*' {
		end, length = []byte("*/"), 2
	}
	at := bytes.Index(text[i+2:], end)
	if at < 0 {
		return len(text)
	}
	return i + 2 + at + length
}

func blank(text []byte) {
	for i, c := range text {
		if c != '\n' {
			text[i] = ' '
		}
	}
}
