package flock

import (
	"context"
	"time"
)

// await waits until nobody else holds the lock on a path, and takes it. It returns ErrHeld if that takes too long.
func await(ctx context.Context, path string, m mode, patience time.Duration) (*Lock, error) {
	return poll(ctx, path, m, patience)
}
