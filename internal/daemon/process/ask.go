package process

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/api"
	"github.com/croft-sh/croft/internal/daemon"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/socket"
)

// Place says which daemon is meant.
type Place struct {
	StateDir string
	Environ  []string
}

// Status asks the daemon about itself. It fails with DaemonUnreachable if none runs.
func (p Place) Status(ctx context.Context) (*daemon.Status, error) {
	return ask[daemon.Status](ctx, p, http.MethodGet, "/daemon/status")
}

// Once asks the daemon for a link to log in with.
func (p Place) Once(ctx context.Context) (string, error) {
	once, err := ask[daemon.Once](ctx, p, http.MethodPost, "/daemon/once")
	if err != nil {
		return "", err
	}
	return once.URL, nil
}

// Stop stops the daemon and waits until it has ended: it may answer requests for a while. It
// returns the status from before.
func (p Place) Stop(ctx context.Context) (*daemon.Status, error) {
	before, err := ask[daemon.Status](ctx, p, http.MethodPost, "/daemon/stop")
	if err != nil {
		return nil, err
	}
	for {
		// Its lock is free when its Service is closed. A daemon that a service manager has begun
		// in its place may hold it by then.
		lock, err := flock.TryExisting(lockPath(p.StateDir))
		switch {
		case err == nil:
			return before, lock.Unlock()
		case errors.Is(err, os.ErrNotExist):
			return before, nil
		case !errors.Is(err, flock.ErrHeld):
			return nil, err
		}
		if now, err := socket.ReadRecord(p.StateDir); err == nil && now.PID != 0 && now.PID != before.PID {
			return before, nil
		}
		select {
		case <-ctx.Done():
			return nil, croft.AsError("serve", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Await waits until a daemon answers that was started in the background, or hasFailed says
// that it has not begun.
func (p Place) Await(ctx context.Context, patience time.Duration, hasFailed func() bool) (*daemon.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		status, err := p.Status(ctx)
		if err == nil || ctx.Err() != nil || hasFailed() {
			return status, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// ask makes a request to the daemon on its socket.
func ask[T any](ctx context.Context, p Place, method, path string) (*T, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return socket.Connect(ctx, p.Environ, p.StateDir)
	}}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, method, "http://croft"+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		if e, ok := errors.AsType[*croft.Error](err); ok {
			return nil, e
		}
		return nil, &croft.Error{Code: croft.DaemonUnreachable, Op: "serve", Message: "the daemon does not answer", Hint: "croft serve --detach", Err: err}
	}
	defer response.Body.Close()
	var answer T
	if err := api.ReadAnswer(response, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}
