package view

import (
	"context"
	"sync"
	"time"
)

// turn lets whole lists be read one after the other. Each uses all cores, so that several at
// once only make each other slower; one after the other the first ones are done sooner and
// the last ones no later.
type turn struct {
	once sync.Once
	held chan struct{}
}

// patience is how long a list waits for its turn before it is read without. One that looks
// at all files takes long, and must not hold up those that do not.
const patience = 200 * time.Millisecond

// take waits for the turn of a list, and returns a function that ends it.
func (t *turn) take(ctx context.Context) func() {
	t.once.Do(func() { t.held = make(chan struct{}, 1) })
	wait := time.NewTimer(patience)
	defer wait.Stop()
	select {
	case t.held <- struct{}{}:
		return func() { <-t.held }
	case <-wait.C:
	case <-ctx.Done():
	}
	return func() {}
}
