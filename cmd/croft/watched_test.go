package main

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft/engine"
)

// TestTellWatched: that not everything is watched is said once, and when it is over.
func TestTellWatched(t *testing.T) {
	states := []engine.Watched{{}, {Why: "used up", Most: 7}, {Why: "used up"}, {Overflows: 1, Why: "used up"}, {Overflows: 1}}
	ctx, cancel := context.WithCancel(t.Context())
	var said bytes.Buffer
	tellWatched(ctx, func() engine.Watched {
		now := states[0]
		if states = states[1:]; len(states) == 0 {
			cancel()
		}
		return now
	}, time.Millisecond, slog.New(slog.NewTextHandler(&said, nil)))
	text := said.String()
	for _, want := range []string{`why="used up"`, "most=7", "max_queued_events", "can be watched again"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q is not said once:\n%s", want, text)
		}
	}
	limited := map[string]float64{}
	for _, g := range watchedGauges(engine.Watched{Workspaces: 3, Why: "used up"}) {
		limited[g.Name] = g.Value
	}
	if limited["croft_watch_limited"] != 1 || limited["croft_watched_workspaces"] != 3 {
		t.Errorf("the metrics are %v", limited)
	}
}
