//go:build unix

package battery

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/client"
	"github.com/croft-sh/croft/engine"
)

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// TestDaemonLoad has many readers follow the events of a daemon with many workspaces while
// programs make requests of all kinds: none fails, lists are not much slower than in process,
// and every reader sees every event once.
func TestDaemonLoad(t *testing.T) {
	workspaces, readers, seconds := size(200, 1000), size(50, 200), size(10, 60)
	p := bigProject(t, 50)
	names := p.many(workspaces)
	d := p.serve()
	c := d.client(0)
	defer func() { _ = c.Close() }()
	inProcess, err := engine.Open(t.Context(), p.dir, &engine.Options{Environ: p.environ()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = inProcess.Close() }()
	alone := compareServices(t, d, c, inProcess, size(15, 31))

	following := follow(t, d, readers)
	l := &load{t: t, c: c, d: d, names: names}
	before := d.cpu()
	l.run(time.Duration(seconds)*time.Second, 200)
	used := d.cpu() - before
	told := following.stop(t, c)
	p50, p99 := percentile(l.lists, 50), percentile(l.lists, 99)
	t50, t99 := percentile(told.latencies, 50), percentile(told.latencies, 99)
	report(t, "daemon load", "%d workspaces, %d readers, %d requests in %d s: %d errors; a list alone %s over HTTP, %s with its JSON read, %s in process, ratio %.2f; "+
		"a list under load p50 %s (%.2f × in process), p99 %s; other calls p50 %s, p99 %s; %d events to each reader, %d gaps, %d duplicates, latency p50 %s, p99 %s; the daemon used %.0f %% of a core",
		workspaces, readers, l.made.Load(), seconds, l.failed.Load(), ms(median(alone.http)), ms(median(alone.read)), ms(median(alone.engine)), float64(median(alone.http))/float64(median(alone.engine)),
		ms(p50), float64(p50)/float64(median(alone.engine)), ms(p99), ms(percentile(l.others, 50)), ms(percentile(l.others, 99)), told.events, told.gaps, told.duplicates, ms(t50), ms(t99),
		100*used.Seconds()/float64(seconds))
	if l.failed.Load() > 0 || told.gaps > 0 || told.duplicates > 0 || told.events == 0 {
		t.Errorf("%d of %d requests failed (%v), %d gaps, %d duplicates of %d events", l.failed.Load(), l.made.Load(), l.first.Load(), told.gaps, told.duplicates, told.events)
	}
}

// many makes many workspaces.
func (p *project) many(n int) []string {
	p.t.Helper()
	var all []string
	for at := 0; at < n; at += 100 {
		var names []string
		for i := at; i < min(at+100, n); i++ {
			names = append(names, fmt.Sprintf("ws%04d", i))
		}
		p.mustCroft(append([]string{"new"}, names...)...)
		all = append(all, names...)
	}
	return all
}

// both are the times of the same call over HTTP, with and without reading the JSON, and in
// process.
type both struct{ http, read, engine []time.Duration }

func compareServices(t *testing.T, d *served, c, e croft.Service, runs int) both {
	t.Helper()
	var got both
	listOf := func(svc croft.Service) func() error {
		return func() error {
			_, err := svc.Workspaces(t.Context(), croft.WorkspacesRequest{})
			return err
		}
	}
	for i := range runs + 2 {
		for _, side := range []struct {
			list  func() error
			times *[]time.Duration
		}{{func() error { return d.list(t.Context()) }, &got.http}, {listOf(c), &got.read}, {listOf(e), &got.engine}} {
			began := time.Now()
			if err := side.list(); err != nil {
				t.Fatal(err)
			}
			if i >= 2 { // the first ones open repositories and connections
				*side.times = append(*side.times, time.Since(began))
			}
		}
	}
	return got
}

// load makes requests.
type load struct {
	t     *testing.T
	c     *client.Client
	d     *served
	names []string

	made, failed atomic.Int64
	first        atomic.Value // the first error

	mu            sync.Mutex
	lists, others []time.Duration
}

// run begins requests at a rate, whether earlier ones have been answered or not.
func (l *load) run(for_ time.Duration, rate int) {
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	var wg sync.WaitGroup
	end := time.Now().Add(for_)
	for n := 0; time.Now().Before(end); n++ {
		<-tick.C
		wg.Go(func() { l.one(n) })
	}
	wg.Wait()
}

// one makes a request: of a hundred, five list everything, fifteen a page, ten change
// something, and the others look at one thing.
func (l *load) one(n int) {
	ctx, cancel := context.WithTimeout(l.t.Context(), 30*time.Second)
	defer cancel()
	name := l.names[rand.IntN(len(l.names))]
	began := time.Now()
	var err error
	kind := n % 100
	switch {
	case kind%20 == 0:
		err = l.d.list(ctx)
	case kind%20 <= 3:
		_, err = l.c.Workspaces(ctx, croft.WorkspacesRequest{Page: croft.Page{Limit: 50}})
	case kind%20 <= 5:
		_, err = l.c.UpdateWorkspace(ctx, croft.UpdateRequest{Workspace: name, Meta: map[string]string{"n": itoa(n)}})
	case kind%20 <= 8:
		_, err = l.c.Merges(ctx, croft.MergesRequest{})
	case kind%20 <= 10:
		_, err = l.c.History(ctx, croft.HistoryRequest{Page: croft.Page{Limit: 20}})
	default:
		_, err = l.c.Workspace(ctx, croft.WorkspaceRequest{Ref: croft.ByName(name)})
	}
	took := time.Since(began)
	l.made.Add(1)
	if err != nil {
		l.failed.Add(1)
		l.first.CompareAndSwap(nil, err.Error())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if kind%20 == 0 {
		l.lists = append(l.lists, took)
	} else {
		l.others = append(l.others, took)
	}
}
