//go:build !linux

package watch

import "time"

// Watches are none on this system.
type Watches struct{}

// Mark notes nothing on this system.
type Mark struct{}

// Open returns what watches nothing.
func Open(Options) *Watches { return &Watches{} }

// Close does nothing.
func (*Watches) Close() {}

// Begin returns what notes nothing.
func (*Watches) Begin(Checkout) *Mark { return nil }

// Answer has none.
func (*Watches) Answer(Checkout, string) (any, bool) { return nil, false }

// Since says nothing.
func (*Watches) Since(Checkout) uint64 { return 0 }

// Renew renews nothing.
func (*Watches) Renew(Checkout, any, time.Time) bool { return false }

// Older returns nothing.
func (*Watches) Older(time.Duration, int) []any { return nil }

// State says that nothing is watched.
func (*Watches) State() State { return State{Why: Unsupported} }

// Enter does nothing.
func (*Mark) Enter(int) {}

// Keep does nothing.
func (*Mark) Keep(string, any) {}

// Drop does nothing.
func (*Mark) Drop() {}

// Moment knows nothing on this system.
type Moment struct{}

// Moment begins one that knows nothing.
func (*Watches) Moment() *Moment { return nil }

// Answer has none.
func (*Moment) Answer(Checkout, string) (any, bool) { return nil, false }

// Since says nothing.
func (*Moment) Since(Checkout) uint64 { return 0 }
