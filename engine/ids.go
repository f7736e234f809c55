package engine

import (
	"crypto/rand"
	"encoding/hex"
	"math/big"
	"strings"

	"github.com/croft-sh/croft"
)

// idAlphabet has no letters that are taken for digits, and 32 of them, so that
// a byte maps onto it evenly.
const idAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// newID draws sixteen characters: eighty bits, which nobody guesses and which
// do not meet twice.
func newID() croft.ID {
	b := make([]byte, 16)
	_, _ = rand.Read(b)
	for i := range b {
		b[i] = idAlphabet[b[i]%32]
	}
	return croft.ID(b)
}

func hex8() string {
	b := make([]byte, 4)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

func random(n int) int {
	v, err := rand.Int(rand.Reader, big.NewInt(int64(n)))
	if err != nil {
		return 0
	}
	return int(v.Int64())
}

// isID reports whether a text is one that newID could have drawn.
func isID(text string) bool {
	return len(text) == 16 && strings.Trim(text, idAlphabet) == ""
}
