package tomltable

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestLongHeader: a long header with many keys below it costs no more memory than the file.
func TestLongHeader(t *testing.T) {
	var text strings.Builder
	text.WriteString("[" + strings.Repeat("a", 900<<10) + "]\n")
	for i := range 10_000 {
		fmt.Fprintf(&text, "k%d=1\n", i)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	lines := tableLines([]byte(text.String()))
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) >> 20; got > 200 {
		t.Errorf("%d MiB for a file of 1 MiB", got)
	}
	if len(lines) == 0 {
		t.Error("no line is known")
	}
}
