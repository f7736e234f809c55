//go:build unix

package battery

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
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
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "croft-battery-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", dir+string(filepath.Separator),
		"github.com/croft-sh/croft/cmd/croft", "github.com/croft-sh/croft/examples/...")
	// The measured binary is the released one: without the race detector and without C.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	built = dir
	return m.Run()
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
