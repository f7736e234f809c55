//go:build unix

package attack

import (
	"os"
	"testing"

	"github.com/croft-sh/croft/internal/buildtest"
)

// binary is the croft under test. TestMain sets it before any test runs.
var binary string

func TestMain(m *testing.M) {
	if binary = os.Getenv("CROFT_ATTACK_BINARY"); binary != "" {
		os.Exit(m.Run())
	}
	os.Exit(buildtest.Main(m, buildtest.Options{}, func(program string) { binary = program }))
}

// size chooses between the short and the long form.
func size(short, long int) int {
	if os.Getenv("CROFT_LONG") != "" {
		return long
	}
	return short
}
