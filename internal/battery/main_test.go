//go:build unix

package battery

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/buildtest"
)

// built is the directory of the binary under test. TestMain sets it before any
// test runs.
var built string

// keptDir makes a directory that is deleted when all tests have run. For minutes after
// many files were deleted, ext4 takes much longer to make new ones, in any directory: a test
// that deleted its own would slow down the next.
func keptDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(built, "kept-") //nolint:usetesting // t.TempDir is deleted with its test
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestMain(m *testing.M) {
	if os.Getenv(agentVariable) != "" {
		os.Exit(runAgent())
	}
	if os.Getenv(daemonVariable) != "" {
		os.Exit(runFastDaemon())
	}
	more := buildtest.Options{More: []string{"examples/..."}}
	os.Exit(buildtest.Main(m, more, func(program string) { built = filepath.Dir(program) }))
}

// isLong reports whether the full form was asked for.
func isLong() bool { return os.Getenv("CROFT_LONG") != "" }

// size chooses between the short and the full form.
func size(short, long int) int {
	if isLong() {
		return long
	}
	return short
}

// report prints the figures of a battery. The text says what the battery should show, so a
// battery that failed is marked as such.
func report(t *testing.T, name, format string, args ...any) {
	t.Helper()
	form := "short"
	if isLong() {
		form = "long"
	}
	if t.Failed() {
		form += ", FAILED, not as it says"
	}
	t.Logf("battery: %s (%s): %s", name, form, fmt.Sprintf(format, args...))
}

func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond)) }
