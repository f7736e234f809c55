package project

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"

	"github.com/croft-sh/croft"
)

// IDAlphabet has no letters that are taken for digits, and 32 of them, so that
// a byte maps onto it evenly.
const IDAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// NewID draws sixteen random characters: eighty bits, enough that none can be guessed or
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

// Random draws a number below n.
func Random(n int) int {
	v, err := rand.Int(rand.Reader, big.NewInt(int64(n)))
	if err != nil {
		return 0
	}
	return int(v.Int64())
}

// IsID reports whether a text is one that NewID could have drawn.
func IsID(text string) bool {
	return len(text) == 16 && strings.Trim(text, IDAlphabet) == ""
}

// DigestOf identifies a value by its JSON.
func DigestOf(v any) string {
	b, _ := json.Marshal(v)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// KeyConflict says that a key was used for another request.
func KeyConflict(key string) error {
	return &croft.Error{
		Code: croft.KeyConflict, Message: fmt.Sprintf("key %q was used for another request", key), Hint: "use a new key",
	}
}

// Count is a number of things, in words: "1 file", "2 files".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// ShellWord is a path as a word of a shell's.
func ShellWord(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }
