//go:build unix

package battery

import (
	"testing"
	"time"
)

// TestDaemonIdle measures what a daemon costs while nothing happens: it looks at workspaces by
// itself, keeps queues driven, and waits.
func TestDaemonIdle(t *testing.T) {
	workspaces, seconds := size(200, 1000), size(12, 180)
	p := bigProject(t, 50)
	p.many(workspaces)
	d := p.serve()
	// The first look at a project is at everything.
	time.Sleep(time.Duration(size(5, 30)) * time.Second)
	before, began := d.cpu(), time.Now()
	time.Sleep(time.Duration(seconds) * time.Second)
	share := 100 * (d.cpu() - before).Seconds() / time.Since(began).Seconds()
	// The first minutes have looks that come ever more rarely, so that the short form may take
	// more.
	bound := 0.5
	if !isLong() {
		bound = 2
	}
	report(t, "daemon idle", "%d workspaces, %d s without a request: %.2f %% of a core, git included; the bound is %.1f %%", workspaces, seconds, share, bound)
	if share > bound {
		t.Errorf("%.2f %% of a core, the bound is %.1f %%", share, bound)
	}
}
