// Package buildtest builds croft for the tests that run it as a program.
package buildtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// limit is how long a build may take.
const limit = 5 * time.Minute

const module = "github.com/croft-sh/croft"

// Options are what a build does beyond that of croft as it is released.
type Options struct {
	// Tags are build tags, separated by commas.
	Tags string
	// More are further packages, by their paths in the module, whose programs are built beside croft.
	More []string
}

// Croft builds croft into a directory, without C and without the race detector, and returns the
// path of the program. The directory is made if it is not there.
func Croft(dir string, o Options) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	args := []string{"build", "-buildvcs=false", "-tags", o.Tags, "-o", dir + string(filepath.Separator), module + "/cmd/croft"}
	for _, path := range o.More {
		args = append(args, module+"/"+path)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	program := filepath.Join(dir, "croft")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	return program, nil
}

// Main is the body of a TestMain: it builds croft into a directory of its own, hands the path of
// the program to use, runs the tests, deletes the directory, and returns the exit code. Other
// users may enter the directory.
func Main(m *testing.M, o Options, use func(program string)) int {
	dir, err := os.MkdirTemp("", "croft-built-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // it has what was built, and no secret
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	program, err := Croft(dir, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	use(program)
	return m.Run()
}
