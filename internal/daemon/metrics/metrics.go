// Package metrics counts what the daemon does and writes it in the text format of Prometheus.
// Labels have few values, which nobody outside chooses.
package metrics

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	rtmetrics "runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// bounds are the upper bounds of the buckets of durations, in seconds.
var bounds = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60}

// Set has the counters of one daemon.
type Set struct {
	started time.Time

	mu       sync.Mutex
	counts   map[sample]float64
	requests map[request]*histogram
	gauges   []func() []Gauge
}

// sample is a counter: its name and its labels as they are written.
type sample struct{ name, labels string }

// request is what requests are counted by.
type request struct{ route, method, class string }

type histogram struct {
	buckets []uint64 // of those in bounds, not summed up
	count   uint64
	sum     float64
}

// Gauge is a value that is asked for when the metrics are read.
type Gauge struct {
	Name   string
	Help   string
	Labels []string // names and values, in turn
	Value  float64
}

// New returns an empty Set.
func New() *Set {
	return &Set{started: time.Now(), counts: map[sample]float64{}, requests: map[request]*histogram{}}
}

// maxRequests is how many kinds of requests are told apart.
const maxRequests = 2000

// Observe counts a request by the pattern of its route, its method and the class of its status.
func (s *Set) Observe(route, method string, status int, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := request{route, method, strconv.Itoa(status/100) + "xx"}
	h := s.requests[key]
	if h == nil {
		if len(s.requests) >= maxRequests {
			key = request{"other", method, key.class}
			h = s.requests[key]
		}
		if h == nil {
			h = &histogram{buckets: make([]uint64, len(bounds))}
			s.requests[key] = h
		}
	}
	seconds := took.Seconds()
	h.count++
	h.sum += seconds
	if i, _ := slices.BinarySearch(bounds, seconds); i < len(bounds) {
		h.buckets[i]++
	}
}

// Add adds to a counter. Labels are names and values, in turn.
func (s *Set) Add(name string, value float64, labels ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[sample{name, format(labels)}] += value
}

// Ask adds a source of gauges.
func (s *Set) Ask(source func() []Gauge) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gauges = append(s.gauges, source)
}

// format writes labels, with what a value could break out by escaped.
func format(labels []string) string {
	if len(labels) == 0 {
		return ""
	}
	var parts []string
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	for i := 0; i+1 < len(labels); i += 2 {
		parts = append(parts, labels[i]+`="`+escape.Replace(labels[i+1])+`"`)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// Write writes all metrics.
func (s *Set) Write(w io.Writer) error {
	s.mu.Lock()
	sources := slices.Clone(s.gauges)
	s.mu.Unlock()
	gauges := s.process()
	for _, source := range sources {
		gauges = append(gauges, source()...)
	}
	var out strings.Builder
	writeGauges(&out, gauges)
	s.mu.Lock()
	s.writeCounts(&out)
	s.writeRequests(&out)
	s.mu.Unlock()
	_, err := io.WriteString(w, out.String())
	return err
}

func writeGauges(out *strings.Builder, gauges []Gauge) {
	slices.SortStableFunc(gauges, func(a, b Gauge) int { return cmp.Compare(a.Name, b.Name) })
	last := ""
	for _, g := range gauges {
		if g.Name != last {
			fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s gauge\n", g.Name, g.Help, g.Name)
			last = g.Name
		}
		fmt.Fprintf(out, "%s%s %s\n", g.Name, format(g.Labels), number(g.Value))
	}
}

func (s *Set) writeCounts(out *strings.Builder) {
	last := ""
	keys := slices.SortedFunc(maps.Keys(s.counts), func(a, b sample) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.labels, b.labels))
	})
	for _, key := range keys {
		if key.name != last {
			fmt.Fprintf(out, "# TYPE %s counter\n", key.name)
			last = key.name
		}
		fmt.Fprintf(out, "%s%s %s\n", key.name, key.labels, number(s.counts[key]))
	}
}

func (s *Set) writeRequests(out *strings.Builder) {
	const name = "croft_http_request_duration_seconds"
	if len(s.requests) == 0 {
		return
	}
	fmt.Fprintf(out, "# HELP %s how long requests took, by route, method and class of status\n# TYPE %s histogram\n", name, name)
	keys := slices.SortedFunc(maps.Keys(s.requests), func(a, b request) int {
		return cmp.Or(cmp.Compare(a.route, b.route), cmp.Compare(a.method, b.method), cmp.Compare(a.class, b.class))
	})
	for _, key := range keys {
		h, sum := s.requests[key], uint64(0)
		labels := []string{"route", key.route, "method", key.method, "status", key.class}
		for i, bound := range bounds {
			sum += h.buckets[i]
			fmt.Fprintf(out, "%s_bucket%s %d\n", name, format(append(slices.Clone(labels), "le", number(bound))), sum)
		}
		fmt.Fprintf(out, "%s_bucket%s %d\n", name, format(append(slices.Clone(labels), "le", "+Inf")), h.count)
		fmt.Fprintf(out, "%s_sum%s %s\n%s_count%s %d\n", name, format(labels), number(h.sum), name, format(labels), h.count)
	}
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// process tells of the process itself.
func (s *Set) process() []Gauge {
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	all := []Gauge{
		{Name: "croft_uptime_seconds", Help: "time since the daemon began", Value: time.Since(s.started).Seconds()},
		{Name: "croft_goroutines", Help: "goroutines", Value: float64(runtime.NumGoroutine())},
		{Name: "croft_heap_bytes", Help: "memory in use", Value: float64(mem.HeapAlloc)},
		{Name: "croft_heap_live_bytes", Help: "memory that was still used when garbage was last collected", Value: liveHeap()},
	}
	if n, ok := descriptors(); ok {
		all = append(all, Gauge{Name: "croft_open_descriptors", Help: "open files and sockets", Value: float64(n)})
	}
	return all
}

// liveHeap is what the last collection of garbage left.
func liveHeap() float64 {
	live := []rtmetrics.Sample{{Name: "/gc/heap/live:bytes"}}
	rtmetrics.Read(live)
	if live[0].Value.Kind() != rtmetrics.KindUint64 {
		return 0
	}
	return float64(live[0].Value.Uint64())
}

// descriptors counts the open descriptors of this process, where the system shows them.
func descriptors() (int, bool) {
	for _, dir := range []string{"/proc/self/fd", "/dev/fd"} {
		if names, err := os.ReadDir(dir); err == nil {
			return max(0, len(names)-1), true // one is that of the directory
		}
	}
	return 0, false
}
