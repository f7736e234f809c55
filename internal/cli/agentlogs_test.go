package cli

import "testing"

// TestWholeRunes: of a character that is cut nothing is printed yet, and nothing else is held back.
func TestWholeRunes(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "abc": "abc", "abü": "abü", "ab\xc3": "ab", "a\xe2\x82": "a", "a€": "a€", "\xf0\x9f\x98": "", "😀": "😀",
		"a\xff": "a\xff", "a\x80\x80\x80\x80": "a\x80\x80\x80\x80",
	} {
		if got := string(wholeRunes([]byte(text))); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
