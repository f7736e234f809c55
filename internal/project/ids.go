package project

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/croft-sh/croft"
)

// IDAlphabet has no letters that are easily read as digits. It has 32 characters, so
// that a random byte maps onto them evenly.
const IDAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// NewID draws sixteen random characters: eighty bits, so that no ID can be guessed or
// is drawn twice.
func NewID() croft.ID {
	b := make([]byte, 16)
	_, _ = rand.Read(b)
	for i := range b {
		b[i] = IDAlphabet[b[i]%32]
	}
	return croft.ID(b)
}

// Hex8 draws eight hexadecimal digits.
func Hex8() string {
	b := make([]byte, 4)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

// IsID reports whether a text has the form of an ID from NewID.
func IsID(text string) bool {
	return len(text) == 16 && strings.Trim(text, IDAlphabet) == ""
}

// Count returns a number with its noun: "1 file", "2 files".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
