//go:build linux

package battery

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/client"
)

// TestDaemonSoak has a daemon live through a working day at 24 times the speed: all that it does
// by itself comes 24 times as often, agents work with pauses, readers come and go. What the daemon
// has of memory, descriptors, goroutines and disk does not grow once history and trash are as
// old as they may become.
func TestDaemonSoak(t *testing.T) {
	cycle, cycles := time.Minute, 20
	keep := []string{"CROFT_HISTORY_RETENTION=4m", "CROFT_TRASH_RETENTION=2m", "CROFT_TRASH_SAVED_FOR=3m", "CROFT_TRASH_NOTICE=1s"}
	if !isLong() {
		cycle, cycles = 3*time.Second, 7
		keep = []string{"CROFT_HISTORY_RETENTION=4s", "CROFT_TRASH_RETENTION=2s", "CROFT_TRASH_SAVED_FOR=3s", "CROFT_TRASH_NOTICE=1s"}
	}
	p := smallProject(t)
	p.env = append(p.env, keep...)
	self, err := os.Executable()
	mustDo(t, err)
	speed := 24
	if !isLong() {
		speed = 24 * 60 // an upkeep every 2.5 seconds
	}
	d := p.serveWith(self, fmt.Sprintf("%s=%d %s", daemonVariable, speed, p.state()))
	s := &soak{t: t, p: p, d: d}
	var all []reading
	for i := range cycles {
		s.work(cycle * 4 / 5)
		time.Sleep(cycle / 5)
		now := s.reading()
		all = append(all, now)
		t.Logf("%2d: %s", i+1, now)
	}
	half := all[len(all)/2:]
	grown := slope(half)
	report(t, "daemon soak", "%d × %s at %d times the speed: %d operations, %d failed, %d streams, %.0f upkeeps, by which %.0f workspaces were reaped; at the end %s; in the second half, of %d operations, it grew by %s",
		cycles, cycle, speed, s.made.Load(), s.failed.Load(), s.streams.Load(), s.metric("croft_keeper_upkeeps_total"), s.metric("croft_keeper_reaped_total"),
		all[len(all)-1], int(all[len(all)-1].operations-half[0].operations), grown)
	if err, _ := s.first.Load().(string); err != "" {
		t.Errorf("%d of %d calls failed: %s", s.failed.Load(), s.made.Load(), err)
	}
	if s.metric("croft_keeper_upkeeps_total") < 3 || s.metric("croft_keeper_reaped_total") == 0 || s.metric("croft_panics_total") > 0 {
		t.Errorf("%.0f upkeeps, %.0f reaped, %.0f panics\n%s", s.metric("croft_keeper_upkeeps_total"), s.metric("croft_keeper_reaped_total"), s.metric("croft_panics_total"), d.out)
	}
	s.judge(half, grown)
}

// judge fails if something grew by more than what varies by itself.
func (s *soak) judge(half []reading, grown reading) {
	mean := half[len(half)/2]
	for _, one := range []struct {
		what          string
		grew, allowed float64
	}{
		{"anonymous memory", grown.anonymous, 0.15*mean.anonymous + float64(size(32, 8))*(1<<20)},
		{"the live heap", grown.live, 0.1*mean.live + (4 << 20)},
		{"descriptors", grown.descriptors, 8},
		{"goroutines", grown.goroutines, 20},
		{"the database and its log", grown.database, 0.25*mean.database + (1 << 20)},
		{"the copy of the records", grown.copy, 0.5*mean.copy + (1 << 20)},
		{"the git directory", grown.repository, 0.5*mean.repository + (4 << 20)},
	} {
		if one.grew > one.allowed {
			s.t.Errorf("%s grew by %.0f in the second half, %.0f are allowed", one.what, one.grew, one.allowed)
		}
	}
}

// soak is the load on a daemon.
type soak struct {
	t *testing.T
	p *project
	d *served

	made, failed, streams atomic.Int64
	first                 atomic.Value // the first error
	lives                 atomic.Int64
}

// work has agents and readers use the daemon for a while.
func (s *soak) work(for_ time.Duration) {
	ctx, cancel := context.WithTimeout(s.t.Context(), for_)
	defer cancel()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			c := s.d.client(10 * time.Second)
			defer func() { _ = c.Close() }()
			for ctx.Err() == nil {
				s.life(c, i)
				pause(ctx, time.Duration(rand.IntN(1200))*time.Millisecond)
			}
		})
	}
	for range 2 {
		wg.Go(func() {
			c := s.d.client(10 * time.Second)
			defer func() { _ = c.Close() }()
			for ctx.Err() == nil {
				s.look(c)
				pause(ctx, 200*time.Millisecond)
			}
		})
	}
	for range 5 {
		wg.Go(func() {
			for ctx.Err() == nil {
				s.read(ctx)
			}
		})
	}
	wg.Wait()
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// note counts a call.
func (s *soak) note(what string, err error) bool {
	s.made.Add(1)
	if err == nil {
		return true
	}
	s.failed.Add(1)
	s.first.CompareAndSwap(nil, what+": "+err.Error())
	return false
}

// life is that of one workspace: it is made, written to, saved, and then merged, discarded,
// removed and restored, or left behind with a lease that nobody renews.
func (s *soak) life(c *client.Client, agent int) {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	n := s.lives.Add(1)
	ws, err := c.Create(ctx, croft.CreateRequest{Name: fmt.Sprintf("w%d", n), Key: fmt.Sprintf("create-%d", n)})
	if !s.note("create", err) {
		return
	}
	ref := croft.ByID(ws.ID)
	file := filepath.Join(ws.Path, fmt.Sprintf("agent-%d-%d.txt", agent, n%10))
	if err := os.WriteFile(file, []byte(strings.Repeat(fmt.Sprintln("line", n), 200)), 0o600); err != nil {
		s.t.Error(err)
		return
	}
	_, err = c.TakeSnapshot(ctx, croft.SnapshotRequest{Workspace: ref})
	s.note("save", err)
	switch n % 5 {
	case 0:
		_, err := c.Discard(ctx, croft.DiscardRequest{Workspaces: []croft.Ref{ref}})
		s.note("discard", err)
	case 1:
		_, err := c.Remove(ctx, croft.RemoveRequest{Workspaces: []croft.Ref{ref}, Mode: croft.RemoveForce})
		s.note("remove", err)
		_, err = c.Restore(ctx, croft.RestoreRequest{Ref: ref})
		s.note("restore", err)
		_, err = c.Remove(ctx, croft.RemoveRequest{Workspaces: []croft.Ref{ref}, Mode: croft.RemoveForce})
		s.note("remove", err)
	case 2:
		_ = os.Remove(file)
		s.note("lease", leaveBehind(ctx, c, ref))
	default:
		m, err := c.SubmitMerge(ctx, croft.MergeRequest{Workspace: ref})
		if s.note("submit", err) {
			_, err = c.WaitMerge(ctx, croft.WaitRequest{Merge: m.ID})
			s.note("merge", err)
		}
		_, err = c.Remove(ctx, croft.RemoveRequest{Workspaces: []croft.Ref{ref}, Mode: croft.RemoveForce})
		s.note("remove", err)
	}
}

// leaveBehind takes a lease for a process that then dies.
func leaveBehind(ctx context.Context, c *client.Client, ref croft.Ref) error {
	agent := exec.CommandContext(ctx, "sleep", "60")
	if err := agent.Start(); err != nil {
		return err
	}
	_, err := c.TakeLease(ctx, croft.LeaseRequest{Workspace: ref, TTL: croft.Duration(time.Second), Owner: croft.Owner{PID: agent.Process.Pid}})
	_ = agent.Process.Kill()
	_ = agent.Wait() // it was killed
	return err
}

// look lists what a person would look at.
func (s *soak) look(c *client.Client) {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	_, err := c.Workspaces(ctx, croft.WorkspacesRequest{})
	s.note("list", err)
	_, err = c.Merges(ctx, croft.MergesRequest{Page: croft.Page{Limit: 50}})
	s.note("merges", err)
	_, err = c.History(ctx, croft.HistoryRequest{Page: croft.Page{Limit: 50}})
	s.note("history", err)
	_, err = c.Trash(ctx, croft.TrashRequest{})
	s.note("trash", err)
}

// read follows the events for a while, as a page does that is opened and closed.
func (s *soak) read(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(200+rand.IntN(5000))*time.Millisecond)
	defer cancel()
	c := s.d.client(-1)
	defer func() { _ = c.Close() }()
	s.streams.Add(1)
	for _, err := range c.Events(ctx, croft.EventsRequest{From: croft.FromNow, Follow: croft.FollowNew}) {
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, croft.CursorExpired) {
				s.note("events", err)
			}
			return
		}
	}
}

// reading is what the daemon has at a time.
type reading struct {
	operations, anonymous, live, descriptors, goroutines float64
	database, copy, repository                           float64
}

func (m reading) String() string {
	mb := func(b float64) string { return fmt.Sprintf("%.1f MB", b/1e6) }
	return fmt.Sprintf("%s of memory, %s of it live, %.0f descriptors, %.0f goroutines, %s of database, %s of its copy, %s in .git",
		mb(m.anonymous), mb(m.live), m.descriptors, m.goroutines, mb(m.database), mb(m.copy), mb(m.repository))
}

// reading measures. No request and no stream of the load's is open.
func (s *soak) reading() reading {
	s.t.Helper()
	size := func(patterns ...string) (sum float64) {
		for _, pattern := range patterns {
			_ = filepath.WalkDir(pattern, func(_ string, e os.DirEntry, err error) error {
				if err == nil && !e.IsDir() {
					if info, err := e.Info(); err == nil {
						sum += float64(info.Size())
					}
				}
				return nil // what was deleted meanwhile is not there
			})
		}
		return sum
	}
	db := filepath.Join(s.p.state(), "croft.db")
	return reading{
		operations: float64(s.made.Load()), anonymous: s.anonymous(), live: s.metric("croft_heap_live_bytes"), descriptors: s.metric("croft_open_descriptors"), goroutines: s.metric("croft_goroutines"),
		database: size(db, db+"-wal"), copy: size(filepath.Join(s.p.home(), "data")), repository: size(filepath.Join(s.p.dir, ".git")),
	}
}

// anonymous is the memory of the daemon that no file backs.
func (s *soak) anonymous() float64 {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join("/proc", itoa(s.d.cmd.Process.Pid), "status"))
	mustDo(s.t, err)
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			return 1024 * float64(atoi(strings.Fields(rest)[0]))
		}
	}
	s.t.Fatal("no RssAnon")
	return 0
}

// metric returns a value of the daemon's metrics, or 0.
func (s *soak) metric(name string) float64 {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://croft/metrics", nil)
	mustDo(s.t, err)
	response, err := s.d.http.Do(r)
	mustDo(s.t, err)
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			number, err := strconv.ParseFloat(value, 64)
			mustDo(s.t, err)
			return number
		}
	}
	return 0
}

// slope is by how much the values grow from the first reading to the last, by the line that fits
// all of them best.
func slope(all []reading) reading {
	of := func(value func(reading) float64) float64 {
		n, mid := float64(len(all)), float64(len(all)-1)/2
		var up, down float64
		for i, m := range all {
			up += (float64(i) - mid) * value(m)
			down += (float64(i) - mid) * (float64(i) - mid)
		}
		return up / down * (n - 1)
	}
	return reading{
		anonymous: of(func(m reading) float64 { return m.anonymous }), live: of(func(m reading) float64 { return m.live }), descriptors: of(func(m reading) float64 { return m.descriptors }),
		goroutines: of(func(m reading) float64 { return m.goroutines }), database: of(func(m reading) float64 { return m.database }),
		copy: of(func(m reading) float64 { return m.copy }), repository: of(func(m reading) float64 { return m.repository }),
	}
}
