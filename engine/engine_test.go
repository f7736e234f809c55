package engine_test

import (
	"os"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/servicetest"
	"github.com/croft-sh/croft/servicetest/harness"
	"github.com/croft-sh/croft/servicetest/wire"
)

func TestService(t *testing.T) {
	servicetest.Run(t, harness.Local(openEnv))
}

// open opens an engine and closes it with the test.
func open(t testing.TB, dir string, opts *engine.Options) *engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), dir, opts)
	if err != nil {
		t.Fatalf("engine.Open: %v", err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return e
}

// openEnv opens an engine in an environment.
func openEnv(t *testing.T, dir string, env []string) croft.Service {
	t.Helper()
	return open(t, dir, &engine.Options{Environ: env})
}

// TestIsolatedService: isolated workspaces pass the same suite as worktrees.
func TestIsolatedService(t *testing.T) {
	depth := servicetest.Core
	if os.Getenv("CROFT_LONG") == "1" {
		depth = servicetest.All
	}
	servicetest.RunMode(t, croft.ModeIsolated, depth, harness.Local(openEnv))
}

// TestWire: the contract holds where every request and every answer is sent as JSON, and
// where the test cannot open a path of an answer.
func TestWire(t *testing.T) {
	servicetest.Run(t, wire.Remote(harness.Local(openEnv)))
}

// TestWireOnSharedDisk: so do the scenarios that open paths of answers.
func TestWireOnSharedDisk(t *testing.T) {
	servicetest.RunNeeding(t, harness.SharedDisk, harness.Local(func(t *testing.T, dir string, env []string) croft.Service {
		return wire.Through(t, openEnv(t, dir, env))
	}))
}
