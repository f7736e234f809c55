package object

import (
	"strings"
	"testing"
)

// TestTreeModesWithZeros: git treats the mode 040000 as a directory.
func TestTreeModesWithZeros(t *testing.T) {
	entries, err := ParseTree([]byte("040000 dir\x00"+strings.Repeat("a", 20)+"0100644 file\x00"+strings.Repeat("b", 20)), 20)
	if err != nil || len(entries) != 2 || entries[0].Mode != "40000" || entries[1].Mode != "100644" {
		t.Errorf("%+v, %v", entries, err)
	}
}
