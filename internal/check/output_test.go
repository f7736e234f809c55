package check

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/croft-sh/croft"
)

// TestRelay: what is printed within a while is told together, in whole lines. A line that has
// not ended waits for its end, or for that of the check.
func TestRelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var told []string
		r := relay{send: func(out croft.CheckOutput) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, out.Text)
		}}
		soFar := func() []string {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(told)
		}
		_, _ = r.Write([]byte("one\ntw"))
		_, _ = r.Write([]byte("o\r\n\nthr"))
		time.Sleep(outputFirst + time.Millisecond)
		_, _ = r.Write([]byte("ee\nfour"))
		time.Sleep(outputFirst + time.Millisecond)
		if want := "[one\ntwo\n\n]"; fmt.Sprint(soFar()) != want {
			t.Errorf("told %q, want %q", soFar(), want)
		}
		time.Sleep(outputNext)
		rest, got := r.end(), soFar()
		if len(got) != 2 || got[1] != "three\n" || rest.Text != "four\n" || r.lastLine() != "four" {
			t.Errorf("told %q, then %q; the last line is %q", got, rest.Text, r.lastLine())
		}
		time.Sleep(time.Minute)
		if got := soFar(); len(got) != 2 {
			t.Errorf("told after the end: %q", got)
		}
	})
}

// TestRelayIsBounded: of a flood of output, and of endless lines, only so much is told, at
// most twice a second, and what was left out is counted.
func TestRelayIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, told, left, written := 0, 0, int64(0), 0
		count := func(out croft.CheckOutput) { told, left = told+len(out.Text), left+out.Left }
		r := relay{send: func(out croft.CheckOutput) { calls++; count(out) }}
		line := []byte(strings.Repeat("x", 3*lineMost) + "\n" + strings.Repeat("short \xff\n", 10))
		for range 1000 {
			n, err := r.Write(line)
			if written += n; err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		rest := r.end()
		count(rest)
		if told > outputMost || told < outputMost/2 || calls > 21 || len(r.lastLine()) > lastMost {
			t.Errorf("%d bytes were told in %d calls; the last line has %d", told, calls, len(r.lastLine()))
		}
		if left < int64(written-2*told) {
			t.Errorf("of %d bytes %d were told, and %d counted as left out", written, told, left)
		}
	})
}
