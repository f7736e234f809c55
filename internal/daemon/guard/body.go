package guard

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// timedBody ends the deadline of a body with the body.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

func (b *timedBody) Close() error {
	err := b.ReadCloser.Close()
	_ = b.control.SetReadDeadline(time.Time{})
	return err
}

// limiter counts events in a window of time, all callers together: there is one user.
type limiter struct {
	now  func() time.Time
	most int
	per  time.Duration

	mu    sync.Mutex
	since time.Time
	count int
}

// isOver reports whether the limit is reached.
func (l *limiter) isOver() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now().Sub(l.since) >= l.per {
		l.since, l.count = l.now(), 0
	}
	return l.count >= l.most
}

// add counts an event.
func (l *limiter) add() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
}
