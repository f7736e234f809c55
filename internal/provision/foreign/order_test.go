package foreign

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestOrderOfLongHeader: a long header with many keys below it costs no more memory than the file.
func TestOrderOfLongHeader(t *testing.T) {
	var text strings.Builder
	text.WriteString("[" + strings.Repeat("a", 200<<10) + "]\n")
	for i := range 10_000 {
		fmt.Fprintf(&text, "k%d=1\n", i)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	readOrder([]byte(text.String()))
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) >> 20; got > 200 {
		t.Errorf("%d MiB for a file of 256 KiB", got)
	}
}
