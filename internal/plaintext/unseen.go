package plaintext

import "unicode"

// IsUnseen reports whether a character shows nothing although Unicode calls it printable, so that two texts look alike: joiners,
// variation selectors, fillers of Hangul, the empty pattern of Braille. before is the character in front of it: the selector of an
// emoji's colours says something behind a symbol.
func IsUnseen(r, before rune) bool {
	switch {
	case r < 0x34F:
		return false
	case r == 0xFE0F:
		return !unicode.IsSymbol(before)
	case r >= 0xFE00 && r <= 0xFE0E, r >= 0xE0100 && r <= 0xE01EF:
		return true
	}
	switch r {
	case 0x034F, 0x115F, 0x1160, 0x2800, 0x3164, 0xFFA0:
		return true
	}
	return false
}
