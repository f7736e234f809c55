package guard

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestRefusalsAreLoggedSparingly: who floods the daemon with requests that it refuses does not
// flood its log.
func TestRefusalsAreLoggedSparingly(t *testing.T) {
	g, now := newGuard(&fakeTokens{})
	var log bytes.Buffer
	g.o.Log = slog.New(slog.NewTextHandler(&log, nil))
	door := g.TCP(port, &counting{})
	refuse := func() {
		r := httptest.NewRequest("GET", "/"+strings.Repeat("x", 1000), nil)
		r.Host = "evil.example"
		door.ServeHTTP(httptest.NewRecorder(), r)
	}
	for range 1000 {
		refuse()
	}
	if lines := strings.Count(log.String(), "\n"); lines != maxRefusals {
		t.Errorf("%d lines", lines)
	}
	now.now = now.now.Add(time.Second)
	log.Reset()
	refuse()
	if !strings.Contains(log.String(), "unlogged=990") {
		t.Errorf("the log has %q", log.String())
	}
}
