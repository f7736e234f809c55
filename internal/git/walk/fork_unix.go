//go:build unix

package walk

import (
	"errors"
	"maps"
	"runtime"

	"github.com/croft-sh/croft/internal/git/index"
)

// leastForked is how many entries of the index are worth a goroutine: their files take about a millisecond.
const leastForked = 512

// grainOf returns how many entries one goroutine walks at least. Subtrees cost differently, so there are more of
// them than cores; where there is one core there is one.
func grainOf(entries int) int {
	cores := runtime.GOMAXPROCS(0)
	if cores == 1 {
		return max(1, entries)
	}
	return max(leastForked, entries/(4*cores))
}

// half returns how many of the names have half of the entries of them all; 0 where dividing them is not worth it.
func (w *walker) half(known []child) int {
	if len(known) < 2 {
		return 0
	}
	first, last := known[0].from, known[len(known)-1].to
	if last-first < 2*w.grain {
		return 0
	}
	for i, c := range known[1:] {
		if (c.from-first)*2 >= last-first {
			return i + 1
		}
	}
	return len(known) - 1
}

// inHalves walks the names of an open directory in two halves at the same time, and joins what they saw in the order
// of the names, so that it is what one walk would have seen.
func (w *walker) inHalves(fd int, prefix string, known []child, unknown []string, depth, half int) error {
	here := 0
	for here < len(unknown) && unknown[here] < known[half].name {
		here++
	}
	there := w.fork()
	failed := make(chan error, 1)
	walk := func(w *walker, known []child, unknown []string) error {
		err := w.names(fd, prefix, known, unknown, depth)
		if err != nil {
			w.isOver.Store(true)
		}
		return err
	}
	go func() { failed <- walk(there, known[half:], unknown[here:]) }()
	err := walk(w, known[:half:half], unknown[:here])
	other := <-failed
	w.seen.join(there.seen)
	if other != nil && (err == nil || errors.Is(err, errEnough)) { // one that was ended because of another says less
		return other
	}
	return err
}

// fork returns a walker for a part of the checkout.
func (w *walker) fork() *walker {
	seen := &Seen{index: w.x, memory: w.seen.memory, dirs: map[string]index.FileStat{}, isDated: w.seen.isDated, isTimed: w.seen.isTimed}
	return &walker{
		req: w.req, x: w.x, seen: seen, unknown: w.unknown, device: w.device, buf: make([]byte, len(w.buf)), grain: w.grain, isOver: w.isOver,
	}
}

// join adds what was seen of the names that follow.
func (s *Seen) join(after *Seen) {
	s.Changed = append(s.Changed, after.Changed...)
	s.Unknown = append(s.Unknown, after.Unknown...)
	s.HasIgnored = s.HasIgnored || after.HasIgnored
	s.HasShared = s.HasShared || after.HasShared
	s.notes = append(s.notes, after.notes...)
	s.names.Dirs = append(s.names.Dirs, after.names.Dirs...)
	s.names.Files = append(s.names.Files, after.names.Files...)
	s.files = append(s.files, after.files...)
	s.isDated = s.isDated && after.isDated
	if s.newest.Changed().Before(after.newest.Changed()) {
		s.newest = after.newest
	}
	maps.Copy(s.dirs, after.dirs)
}
