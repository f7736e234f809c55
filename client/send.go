package client

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/api"
)

// send makes one call.
func send[R, T any](ctx context.Context, c *Client, name string, req R) (*T, error) {
	op := strings.ToLower(name)
	ctx, leave, err := c.life.Enter(c.context(ctx))
	if err != nil {
		return nil, closed(op)
	}
	defer leave()
	if api.OnlyWaits(req) {
		waiting, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(c.waits, cancel)()
		ctx = waiting
	}
	c.ownLease(&req)
	answer, err := exchange[R, T](ctx, c, api.ByName(name), req)
	if err != nil && api.OnlyWaits(req) && c.waits.Err() != nil {
		err = closed(op)
	}
	if err == nil {
		c.noteLease(req, answer)
	}
	return answer, err
}

// ownLease makes this process the owner of a lease that the request names no owner for: the
// default of the daemon is itself.
func (c *Client) ownLease(req any) {
	if r, ok := req.(*croft.LeaseRequest); ok && r.Owner == (croft.Owner{}) {
		r.Owner = c.self
	}
}

// noteLease remembers which leases Close has to release.
func (c *Client) noteLease(req, answer any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch req := req.(type) {
	case croft.LeaseRequest:
		if l := answer.(*croft.Lease); req.Owner == c.self && c.leases != nil {
			c.leases[l.ID] = true
		}
	case croft.ReleaseRequest:
		delete(c.leases, req.Lease)
	}
}

// exchange sends a request and reads its answer, again while the daemon is away and the
// call can be repeated.
func exchange[R, T any](ctx context.Context, c *Client, call api.Call, req R) (*T, error) {
	op := strings.ToLower(call.Name)
	since := time.Now()
	for {
		answer := new(T)
		begun := time.Now()
		err := c.once(ctx, call, req, answer)
		if err == nil {
			return answer, nil
		}
		if time.Since(begun) > time.Second && !isNotSent(err) {
			since = time.Now() // the daemon has only now gone
		}
		e, ok := errors.AsType[*croft.Error](err)
		if ok && e.Code != croft.DaemonUnreachable && (e.Code != croft.Closed || !api.OnlyWaits(req)) {
			if e.Op == "" {
				e.Op = op
			}
			return nil, e
		}
		if ctx.Err() != nil {
			return nil, croft.AsError(op, ctx.Err())
		}
		if !canRepeat(call, req, err) || time.Since(since) >= c.patience {
			return nil, awayError(op, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// canRepeat reports whether a call may be made again after the connection failed.
func canRepeat(call api.Call, req any, err error) bool {
	if _, isRenewal := req.(croft.RenewRequest); isRenewal || call.Method == http.MethodGet || api.OnlyWaits(req) {
		return true // a renewal that was done already is the same once more
	}
	if isNotSent(err) {
		return true
	}
	key := reflect.ValueOf(req).FieldByName("Key")
	return key.IsValid() && key.String() != ""
}

// dialError says that there was no connection.
type dialError struct{ error }

func (e dialError) Unwrap() error { return e.error }

// isNotSent reports whether the daemon cannot have seen a request.
func isNotSent(err error) bool {
	if _, ok := errors.AsType[dialError](err); ok {
		return true
	}
	failed, ok := errors.AsType[*net.OpError](err)
	return ok && failed.Op == "dial"
}

// once makes a call once. When the context ends, it has the daemon cancel the call, and
// waits for the answer: then the daemon has rolled back what it had begun.
func (c *Client) once(ctx context.Context, call api.Call, req, answer any) error {
	if err := ctx.Err(); err != nil {
		return croft.AsError(strings.ToLower(call.Name), err)
	}
	calling, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	r, err := api.NewRequest(calling, c.base, call, req)
	if err != nil {
		return err
	}
	name := newCall()
	r.Header.Set(api.HeaderCall, name)
	c.authorize(r)
	defer context.AfterFunc(ctx, func() { c.cancel(calling, giveUp, name) })()
	response, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	c.addNotices(response.Header)
	return api.ReadAnswer(response, answer)
}

// rollback is how long a canceled call may take to roll back what it had begun.
const rollback = 30 * time.Second

// again is how long cancel waits for a call that the daemon does not know yet.
const again = 20 * time.Millisecond

// cancel has the daemon cancel a call. A request to cancel may overtake the call; it is repeated
// until the daemon knows the call, or the call has ended. If the daemon does not hear of it, or
// takes too long, the connection of the call is closed, which cancels it too.
func (c *Client) cancel(calling context.Context, giveUp context.CancelFunc, name string) {
	defer giveUp()
	ctx, stop := context.WithTimeout(calling, rollback)
	defer stop()
	for {
		switch c.askToCancel(ctx, name) {
		case http.StatusNoContent:
			<-ctx.Done() // the call has ended, or it took too long
			return
		case http.StatusNotFound:
			select {
			case <-ctx.Done():
				return
			case <-time.After(again):
			}
		default:
			return
		}
	}
}

// askToCancel asks the daemon to cancel a call, and returns the status of its answer, or 0.
func (c *Client) askToCancel(ctx context.Context, name string) int {
	r, err := http.NewRequestWithContext(ctx, http.MethodDelete, c.base+strings.Replace(api.CancelPath, "{call}", name, 1), nil)
	if err != nil {
		return 0
	}
	c.authorize(r)
	response, err := c.http.Do(r)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<16)) // so that the connection is used again
	_ = response.Body.Close()
	return response.StatusCode
}

// addNotices keeps the sentences for the user that came with an answer.
func (c *Client) addNotices(h http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, escaped := range h.Values(api.HeaderNotice) {
		if text, err := url.PathUnescape(escaped); err == nil {
			c.notices = append(c.notices, text)
		}
	}
}
