package flock

import (
	"context"
	"fmt"
)

// Queue is the lock on a path for the goroutines of one process that share it.
// They have it in the order in which they came, and only the first of them waits
// for other processes: a file lock has no order, and has to be asked for again
// and again.
type Queue struct {
	path string
	turn chan struct{} // whoever blocks on it first is next
}

// NewQueue returns the queue for the lock on a path.
func NewQueue(path string) *Queue {
	return &Queue{path: path, turn: make(chan struct{}, 1)}
}

// Acquire waits for the lock until the context ends, but not for ever.
func (q *Queue) Acquire(ctx context.Context) (*Lock, error) {
	select {
	case q.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for %s: %w", q.path, ctx.Err())
	}
	l, err := Acquire(ctx, q.path)
	if err != nil {
		<-q.turn
		return nil, err
	}
	l.queue = q
	return l, nil
}
