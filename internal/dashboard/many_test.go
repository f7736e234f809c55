package dashboard_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

// TestManyWorkspaces: a page stays small and is made in time with 1,000 workspaces. It is
// long, and takes part in -long only.
func TestManyWorkspaces(t *testing.T) {
	n := 1000
	if os.Getenv("CROFT_LONG") == "" {
		n = 120
	}
	s := newSite(t)
	for made := 0; made < n; made += 40 {
		var parts []croft.CreateRequest
		for i := range 40 {
			parts = append(parts, croft.CreateRequest{Name: fmt.Sprintf("w%04d", made+i), Agent: "claude"})
		}
		if _, err := s.svc.CreateAll(t.Context(), croft.CreateAllRequest{Workspaces: parts}); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/", "/?q=w0007", "/?page=3", "/queue", "/history", "/trash"} {
		var took [5]time.Duration
		size := 0
		for i := range took {
			begun := time.Now()
			size = len(s.get(path))
			took[i] = time.Since(begun)
		}
		t.Logf("%d workspaces: %s has %d bytes, in %v", n, path, size, took)
		if size > 200_000 {
			t.Errorf("%s has %d bytes", path, size)
		}
	}
}
