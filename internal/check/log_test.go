package check

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Output between the two limits is kept whole, and no part of it is printed twice.
func TestLogKeepsWhatFits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, size := range []int{0, 1, logHalf - 1, logHalf, logHalf + 1, 2 * logHalf, 2*logHalf + 1} {
		l, err := newLog(dir, "x", "c")
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Repeat("0123456789abcde\n", size/16+1)[:size]
		for part := range slices.Chunk([]byte(text), 5000) {
			_, _ = l.Write(part)
		}
		l.close()
		b, err := os.ReadFile(l.path)
		got := strings.TrimPrefix(string(b), "$ c\n")
		if size <= 2*logHalf && got != text || size > 2*logHalf && !strings.Contains(got, "croft: 1 bytes are left out") || err != nil {
			t.Errorf("%d bytes became %d: %v", size, len(got), err)
		}
	}
	for range maxLogs + 5 {
		l, err := newLog(dir, "y", "c")
		if err != nil {
			t.Fatal(err)
		}
		l.close()
	}
	if logs, _ := os.ReadDir(dir); len(logs) != maxLogs {
		t.Errorf("%d logs are kept", len(logs))
	}
}
