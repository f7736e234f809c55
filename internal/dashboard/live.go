package dashboard

import (
	"bytes"
	"context"
	"hash/maphash"
	"iter"
	"sync"
	"time"

	"github.com/croft-sh/croft"
)

const (
	maxReaders = 1000                   // streams at a time
	maxBehind  = 64                     // messages that a reader may be behind before it is cut
	quiet      = 150 * time.Millisecond // how long events gather before a page is made again
	pace       = 500 * time.Millisecond // the least time between two makings of one page
	share      = 4                      // a page that takes long to make is made again after so many times as long
	costlyPace = 5 * time.Second        // the same for a page that asks much of the Service
	framePace  = time.Second            // the same for what is around a page
	frameShare = 20
	lookEvery  = time.Second // how often the Service is told which projects people look at
	maxOutput  = 64 << 10    // bytes of output that are sent at once
)

// hub brings events to the pages that are open in browsers. It follows the events of the
// Service once for all of them, while there are any. Pages that are the same for several readers are
// made once.
type hub struct {
	svc croft.Service

	mu      sync.Mutex
	screens map[string]*screen
	readers int
	stop    context.CancelFunc // of the tail; nil: nobody reads
	look    func(croft.ID)     // wants a project to be looked at, or all
	ready   chan struct{}      // closed when the tail misses no event any more
}

func newHub(svc croft.Service, look func(croft.ID)) *hub {
	if look == nil {
		look = func(croft.ID) {}
	}
	return &hub{svc: svc, screens: map[string]*screen{}, look: look}
}

// message is one event of a stream to a browser.
type message struct {
	name, data string
}

// reader is one stream to a browser.
type reader struct {
	messages chan message  // closed when the reader is cut
	ready    chan struct{} // closed when the tail misses no event any more
	shape    string        // of the page that it shows
	out      output        // how much output it has
	isCut    bool          // under the hub's lock
}

// output is a place in the output of a check.
type output struct {
	Merge, Check croft.ID
	Offset       int64
}

// extent says how much of a page is made.
type extent string

const (
	extentAll   extent = "all"
	extentFrame extent = "frame" // what is around it
)

// made is a page made for a screen: its parts, and the output that it has.
type made struct {
	frame   []element // what is around the page
	isWhole bool      // it has more than the frame

	elements []element
	watch    func(*croft.Event) bool
	every    time.Duration
	pace     time.Duration
	output   *output
	shape    string
	onShape  onShape
	repo     croft.ID
}

// element is a region of a page as it was made.
type element struct {
	key  uint64
	html string
}

// screen is a page that is open, for all readers who see the same.
type screen struct {
	hub     *hub
	key     string
	make    func(context.Context, extent) (*made, error)
	changed chan struct{} // an event came that the page wants
	framed  chan struct{} // another event came
	printed chan struct{} // its check printed something
	joined  chan struct{} // somebody has come

	// Under the hub's lock.
	readers map[*reader]bool
	coming  []*reader // those who have nothing of the page yet
	watch   func(*croft.Event) bool
	output  *output
	repo    croft.ID // empty: the page is of all projects
	isMade  bool
}

// join adds a reader of a page. The reader gets the page as it is now, and then what
// changes.
func (h *hub) join(key, shape string, makePage func(context.Context, extent) (*made, error)) (*reader, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.readers >= maxReaders {
		return nil, false
	}
	h.readers++
	if h.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		h.stop, h.ready = stop, make(chan struct{})
		go h.tail(ctx, h.ready)
		go h.keepLooking(ctx)
	}
	s := h.screens[key]
	if s == nil {
		s = &screen{
			hub: h, key: key, make: makePage, readers: map[*reader]bool{},
			changed: make(chan struct{}, 1), framed: make(chan struct{}, 1), printed: make(chan struct{}, 1), joined: make(chan struct{}, 1),
		}
		h.screens[key] = s
		go s.run()
	}
	r := &reader{messages: make(chan message, maxBehind), ready: h.ready, shape: shape}
	s.readers[r] = true
	s.coming = append(s.coming, r)
	signal(s.joined)
	return r, true
}

// leave removes a reader. With the last one the tail ends.
func (h *hub) leave(key string, r *reader) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.screens[key]
	if s == nil || !s.readers[r] {
		return
	}
	h.drop(s, r)
}

// drop forgets a reader, under the lock.
func (h *hub) drop(s *screen, r *reader) {
	delete(s.readers, r)
	h.readers--
	if len(s.readers) == 0 {
		delete(h.screens, s.key)
		close(s.changed)
	}
	if h.readers == 0 && h.stop != nil {
		h.stop()
		h.stop = nil
	}
}

// send gives a message to a reader, or cuts one that is too far behind: it is never
// waited for. Its browser asks again, and gets the page as it is then.
func (h *hub) send(s *screen, r *reader, m message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.isCut || !s.readers[r] {
		return
	}
	select {
	case r.messages <- m:
	default:
		r.isCut = true
		close(r.messages)
		h.drop(s, r)
	}
}

// tail follows the events until it is stopped. It begins at a place that it knows, so that a page
// made after that misses nothing. If it loses its place, every page is made again.
func (h *hub) tail(ctx context.Context, ready chan struct{}) {
	wait := time.Second
	for ctx.Err() == nil {
		list, err := h.svc.Workspaces(ctx, croft.WorkspacesRequest{Repos: croft.ScopeAll, Page: croft.Page{Limit: 1}})
		h.tell(nil)
		if ready != nil {
			close(ready)
			ready = nil
		}
		if err == nil {
			for e, err := range h.svc.Events(ctx, croft.EventsRequest{After: list.Cursor, Follow: croft.FollowNew}) {
				if err != nil {
					break
				}
				wait = time.Second
				h.tell(&e)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
			wait = min(2*wait, 30*time.Second)
		}
	}
}

// keepLooking has the projects of open pages looked at, until it is stopped.
func (h *hub) keepLooking(ctx context.Context) {
	clock := time.NewTicker(lookEvery)
	defer clock.Stop()
	for {
		repos := map[croft.ID]bool{}
		h.mu.Lock()
		for _, s := range h.screens {
			if s.isMade {
				repos[s.repo] = true
			}
		}
		h.mu.Unlock()
		for repo := range repos {
			h.look(repo)
		}
		select {
		case <-ctx.Done():
			return
		case <-clock.C:
		}
	}
}

// tell marks the pages that an event changes; nil changes all.
func (h *hub) tell(e *croft.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.screens {
		if e != nil && e.Kind == croft.EventCheckOutput {
			if s.output != nil && s.output.Check == e.Check {
				signal(s.printed)
			}
			continue
		}
		if e == nil || s.watch == nil || s.watch(e) {
			signal(s.changed)
		} else {
			signal(s.framed)
		}
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run makes the page again when it may have changed, until nobody reads it.
func (s *screen) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	last := map[int]uint64{} // the keys of what was sent last
	var every, frame <-chan time.Time
	var rested time.Time // until when what is around the page is not made again
	for {
		select {
		case <-s.joined:
			if d, ok := s.welcome(ctx, last); ok {
				every = after(d)
			}
		case _, ok := <-s.changed:
			if !ok {
				return
			}
			time.Sleep(quiet)
			every = s.update(ctx, last)
		case <-every:
			every = s.update(ctx, last)
		case <-s.framed:
			if frame == nil {
				frame = time.After(max(quiet, time.Until(rested)))
			}
		case <-frame:
			frame, rested = nil, s.updateFrame(ctx, last)
		case <-s.printed:
			time.Sleep(quiet)
			s.sendOutput(ctx)
		}
	}
}

// welcome sends the page to those who have come and are still there, and what has changed to
// those who were here before. It returns after which time the page is to be made again.
func (s *screen) welcome(ctx context.Context, last map[int]uint64) (time.Duration, bool) {
	s.hub.mu.Lock()
	isNew := map[*reader]bool{}
	for _, r := range s.coming {
		if s.readers[r] {
			isNew[r] = true
		}
	}
	s.coming = nil
	s.hub.mu.Unlock()
	if len(isNew) == 0 {
		return 0, false
	}
	for r := range isNew {
		<-r.ready
	}
	m, ok := s.remake(ctx, extentAll)
	if !ok {
		return 0, false
	}
	for r := range isNew {
		s.sendTo(r, m, nil)
	}
	s.sendChanged(last, m, isNew)
	return m.every, true
}

// update makes the page again, sends what has changed, and rests. It returns when the page is to be
// made again without an event.
func (s *screen) update(ctx context.Context, last map[int]uint64) <-chan time.Time {
	begun := time.Now()
	m, ok := s.remake(ctx, extentAll)
	if ok {
		s.sendChanged(last, m, nil)
	}
	took := time.Since(begun)
	if !ok {
		time.Sleep(max(pace-took, share*took))
		return nil
	}
	time.Sleep(max(m.pace-took, share*took))
	return after(m.every)
}

// updateFrame makes what is around the page again, sends what has changed, and returns when that may
// be done again.
func (s *screen) updateFrame(ctx context.Context, last map[int]uint64) time.Time {
	begun := time.Now()
	if m, ok := s.remake(ctx, extentFrame); ok {
		s.sendChanged(last, m, nil)
	}
	return time.Now().Add(max(framePace, frameShare*time.Since(begun)))
}

// after is a clock that strikes once, or never if there is no time for it.
func after(d time.Duration) <-chan time.Time {
	if d == 0 {
		return nil
	}
	return time.After(d)
}

// remake makes the page. One that cannot be made any more is loaded again by the browsers,
// which then show why.
func (s *screen) remake(ctx context.Context, e extent) (*made, bool) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	m, err := s.make(ctx, e)
	if err != nil {
		for _, r := range s.all() {
			s.hub.send(s, r, message{string(shapeReloads), "again"})
		}
		return nil, false
	}
	if m.isWhole {
		s.hub.mu.Lock()
		defer s.hub.mu.Unlock()
		s.watch, s.output, s.repo, s.isMade = m.watch, m.output, m.repo, true
	}
	return m, true
}

// all are the readers of the page now.
func (s *screen) all() []*reader {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	var all []*reader
	for r := range s.readers {
		all = append(all, r)
	}
	return all
}

// sendChanged sends the readers what has changed, but for those who have it.
func (s *screen) sendChanged(last map[int]uint64, m *made, have map[*reader]bool) {
	for _, r := range s.all() {
		if !have[r] {
			s.sendTo(r, m, last)
		}
	}
	s.remember(last, m)
}

// sendTo sends a reader what differs from what it was sent last.
func (s *screen) sendTo(r *reader, m *made, last map[int]uint64) {
	isOther := m.isWhole && r.shape != m.shape
	if isOther {
		s.hub.send(s, r, message{string(m.onShape), "again"})
		if m.onShape == shapeReloads {
			return
		}
	}
	for i, e := range m.all() {
		if key, ok := last[i]; !ok || key != e.key {
			s.hub.send(s, r, message{"element", e.html})
		}
	}
	if m.output != nil && r.out.Check != m.output.Check {
		r.out = *m.output // the element with the output of the next check was sent with it
	}
}

func (s *screen) remember(last map[int]uint64, m *made) {
	if m.isWhole {
		clear(last)
	}
	for i, e := range m.all() {
		last[i] = e.key
	}
}

// all yields the elements with their places: the frame counts down from -1.
func (m *made) all() iter.Seq2[int, element] {
	return func(yield func(int, element) bool) {
		for i, e := range m.frame {
			if !yield(-1-i, e) {
				return
			}
		}
		for i, e := range m.elements {
			if !yield(i, e) {
				return
			}
		}
	}
}

// sendOutput sends each reader the output that it does not have yet.
func (s *screen) sendOutput(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	texts := map[output]message{}
	next := map[output]int64{}
	for _, r := range s.all() {
		if r.out.Check == "" {
			continue
		}
		at := r.out
		if _, ok := texts[at]; !ok {
			texts[at], next[at] = readOutput(ctx, s.hub.svc, at)
		}
		if next[at] > at.Offset {
			r.out.Offset = next[at]
			s.hub.send(s, r, texts[at])
		}
	}
}

// readOutput reads whole lines of output from a place on, as long as they are not too long,
// and returns where they end.
func readOutput(ctx context.Context, svc croft.Merges, at output) (message, int64) {
	log, err := svc.CheckLog(ctx, croft.CheckLogRequest{Merge: at.Merge, Check: at.Check, Offset: at.Offset, Limit: maxOutput})
	if err != nil || log.Offset != at.Offset {
		return message{}, 0
	}
	data := log.Data
	if i := bytes.LastIndexByte(data, '\n'); i >= 0 {
		data = data[:i+1]
	} else if len(data) < maxOutput {
		return message{}, 0
	}
	return message{"append", appendText("out", plain(data))}, at.Offset + int64(len(data))
}

// keyOf is the key of a region: that which its page gave it, or its contents.
func keyOf(seed maphash.Seed, g region, html string) uint64 {
	if g.Key != "" {
		return maphash.String(seed, g.Key)
	}
	return maphash.String(seed, formKey().ReplaceAllString(html, "")) // each has another one
}
