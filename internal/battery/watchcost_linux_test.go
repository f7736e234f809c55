//go:build linux

package battery

import (
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// TestWatchCost measures a daemon that watches many workspaces of 100 files: a list with states by the command and
// by a request, when all is known and after one file was written; a forecast of collisions, of which a tenth has work;
// and what the watching costs while nothing happens. Beside it stand the start of the binary, and the list of a command without a daemon.
func TestWatchCost(t *testing.T) {
	n, runs, idle := size(60, 1000), size(5, 21), time.Duration(size(5, 90))*time.Second
	p := bigProject(t, 100)
	p.many(n)
	for i := 0; i < n; i += 10 {
		p.litterAt(p.agentDir(i), fmt.Sprintf("work/of%d.txt", (i*7)%n), fmt.Sprint("by ", i))
	}
	list := func() time.Duration {
		r := p.run(p.dir, "croft", "list", "--full")
		if r.code != 0 || r.err != nil {
			t.Fatal(r)
		}
		return r.took
	}
	time.Sleep(1100 * time.Millisecond) // the files are older than the second in which they are looked at
	list()
	var alone, command, changed, start []time.Duration
	for range min(runs, 5) {
		alone = append(alone, list())
	}
	d := p.serve()
	for deadline := time.Now().Add(time.Minute); d.gauge("croft_watched_workspaces") < float64(n); list() {
		if time.Now().After(deadline) {
			t.Fatalf("%v of %d workspaces are watched", d.gauge("croft_watched_workspaces"), n)
		}
	}
	p.conflicts()
	before := d.cpu()
	for range runs {
		command = append(command, list())
	}
	listCPU := (d.cpu() - before) / time.Duration(runs)
	var warm, warmChanged []time.Duration
	for run := range runs {
		start = append(start, p.run(p.dir, "croft", "version").took)
		warm = append(warm, p.conflicts().took)
		p.litterAt(p.agentDir(10), "work/more.txt", fmt.Sprint("run ", run))
		changed = append(changed, list())
		p.litterAt(p.agentDir(10), "work/more.txt", fmt.Sprint("again ", run))
		warmChanged = append(warmChanged, p.conflicts().took)
	}
	time.Sleep(idle / 5)
	before, began := d.cpu(), time.Now()
	time.Sleep(idle)
	share := 100 * (d.cpu() - before).Seconds() / time.Since(began).Seconds()
	report(t, "watch cost", "%d workspaces of 100 files, medians of %d: list --full %s over the daemon, of which the start of the binary %s, and %s of the daemon's processor; after one file was written %s; "+
		"without a daemon %s; conflicts %s, after one file was written %s; %.0f watches; idle for %s: %.2f %% of a core",
		n, runs, ms(median(command)), ms(median(start)), ms(listCPU), ms(median(changed)), ms(median(alone)), ms(median(warm)), ms(median(warmChanged)),
		d.gauge("croft_watched_directories"), idle, share)
	if got := d.gauge("croft_watched_workspaces"); got < float64(n)-1 || d.gauge("croft_watch_limited") != 0 {
		t.Errorf("%v of %d workspaces are watched", got, n)
	}
	if isLong() && share > 1 {
		t.Errorf("%.2f %% of a core while nothing happens", share)
	}
	if median(command) > median(alone)+median(start) {
		t.Errorf("%s over a daemon that watches, %s without one", ms(median(command)), ms(median(alone)))
	}
}

// agentDir is the directory of a workspace that many made.
func (p *project) agentDir(i int) string {
	return filepath.Join(p.workspaces(), fmt.Sprintf("ws%04d", i))
}

// gauge returns one of the daemon's metrics.
func (s *served) gauge(name string) float64 {
	s.t.Helper()
	resp, err := s.http.Get("http://croft/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(b)
	if found == nil {
		s.t.Fatalf("no %s in\n%s", name, b)
	}
	value, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return value
}
