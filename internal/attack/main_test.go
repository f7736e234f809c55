//go:build unix

package attack

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// binary is the croft under test. TestMain sets it before any test runs.
var binary string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	if binary = os.Getenv("CROFT_ATTACK_BINARY"); binary != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "croft-attack-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "croft")
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", binary, "github.com/croft-sh/croft/cmd/croft")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// size chooses between the short and the long form.
func size(short, long int) int {
	if os.Getenv("CROFT_LONG") != "" {
		return long
	}
	return short
}
