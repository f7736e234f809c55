package watch

import (
	"sync"
	"time"
)

// Moment asks for many checkouts at once. What was told before it began is in each of its answers; the directories of a
// checkout are compared, and its events read, when it is asked for first. A nil Moment knows nothing.
type Moment struct {
	of    *Watches
	began time.Time
	found sync.Map // the marks whose answers hold, or nil, by checkout
}

// Moment begins one.
func (w *Watches) Moment() *Moment {
	if w == nil {
		return nil
	}
	return &Moment{of: w, began: time.Now()}
}

// Answer is [Watches.Answer].
func (m *Moment) Answer(at Checkout, key string) (any, bool) {
	k := m.held(at)
	if k == nil || k.key != key {
		return nil, false
	}
	return k.answer, true
}

// Since is [Watches.Since].
func (m *Moment) Since(at Checkout) uint64 {
	if k := m.held(at); k != nil {
		return k.number
	}
	return 0
}

func (m *Moment) held(at Checkout) *Mark {
	if m == nil {
		return nil
	}
	if known, ok := m.found.Load(at); ok {
		return known.(*Mark)
	}
	k := m.of.heldSince(at, m.began)
	m.found.Store(at, k)
	return k
}
