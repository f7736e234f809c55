// Package client is Croft's Service over a daemon's socket or HTTP.
//
//	svc, err := client.Open(ctx, client.Options{Socket: path, Dir: "."})
//
// Most programs want package connect instead, which finds the daemon and does without one.
//
// A call whose context ends is canceled at the daemon, and returns when the daemon has rolled
// back what it had begun. If the daemon goes away in the middle of a call, one that only reads
// and one that has a Key are made again, for a few seconds; another one fails with Closed, and
// what it had begun is finished or rolled back by the next process that opens Croft.
package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/api"
	"github.com/croft-sh/croft/internal/lifetime"
	"github.com/croft-sh/croft/internal/owner"
	"github.com/croft-sh/croft/internal/socket"
)

// Options say where the daemon is, and who calls.
type Options struct {
	// Dial connects to the daemon's socket. Either it, Socket or Address is required.
	Dial func(context.Context) (net.Conn, error)
	// Socket is the path of the daemon's socket. Another user who listens there is refused
	// with AccessDenied.
	Socket string
	// Address is the daemon's address, such as "http://127.0.0.1:7450", and Token the secret
	// of the token that it asks for there.
	Address string
	Token   string
	// Dir is the directory that calls are about: requests that name no project mean the one
	// that it lies in. Default: none.
	Dir string
	// From is the directory that the caller stands in. Default: Dir.
	From string
	// Actor is the name of the caller for the history. Default: the user of the daemon.
	Actor string
	// Patience is how long a call is tried again while the daemon is away. Default: 5
	// seconds; less than zero: not at all.
	Patience time.Duration
}

// Client implements croft.Service.
type Client struct {
	http     *http.Client
	base     string
	token    string
	dir      string
	from     string
	actor    string
	patience time.Duration
	self     croft.Owner
	life     *lifetime.Lifetime

	waits    context.Context // of the calls that only wait
	endWaits context.CancelFunc

	mu      sync.Mutex
	leases  map[croft.ID]bool // that this process took for itself
	notices []string
}

var _ croft.Service = (*Client)(nil)

// Open returns a Service of the daemon. It does not ask whether there is one; About does.
// Options that name no daemon, or one by something else than http or https, fail with
// InvalidRequest.
func Open(_ context.Context, o Options) (*Client, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	c := &Client{base: o.Address, token: o.Token, actor: o.Actor, patience: o.Patience, life: lifetime.New(), leases: map[croft.ID]bool{}}
	if c.patience == 0 {
		c.patience = 5 * time.Second
	}
	c.waits, c.endWaits = context.WithCancel(context.Background())
	transport := &http.Transport{MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute}
	if dial := o.Dial; dial != nil || o.Socket != "" {
		if dial == nil {
			dial = func(ctx context.Context) (net.Conn, error) { return socket.Dial(ctx, o.Socket) }
		}
		c.base = "http://croft"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := dial(ctx)
			if err != nil {
				return nil, dialError{err}
			}
			return conn, nil
		}
	}
	c.http = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	var err error
	if c.dir, err = absolute(o.Dir); err != nil {
		return nil, croft.AsError("open", err)
	}
	if c.from, err = absolute(o.From); err != nil {
		return nil, croft.AsError("open", err)
	}
	c.self = owner.Self()
	return c, nil
}

// check refuses options that name no daemon.
func (o Options) check() error {
	if o.Dial != nil || o.Socket != "" {
		return nil
	}
	at, err := url.Parse(o.Address)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return &croft.Error{
			Code: croft.InvalidRequest, Op: "open", Message: fmt.Sprintf("%q is not the address of a daemon", o.Address),
			Hint: "give the path of its socket, or an address such as http://127.0.0.1:7450",
		}
	}
	return nil
}

// absolute returns the absolute path of a directory; none stays none.
func absolute(dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	return filepath.Abs(dir)
}

// About is what a daemon says about itself.
type About struct {
	Version  string // of Croft
	PID      int    // of its process
	StateDir string // where its state is
	// Settings stands for the settings that the daemon goes by now, and API for the version of
	// the API that it speaks: two processes with the same ones do the same.
	Settings, API string
}

// About asks the daemon what it is, once. It fails with DaemonUnreachable if none answers; the
// error has the one of the system as its cause.
func (c *Client) About(ctx context.Context) (*About, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+api.AboutPath, nil)
	if err != nil {
		return nil, croft.AsError("about", err)
	}
	c.authorize(r)
	response, err := c.http.Do(r)
	if failure, ok := errors.AsType[*croft.Error](err); ok {
		return nil, failure
	}
	if ctx.Err() != nil {
		return nil, croft.AsError("about", ctx.Err())
	}
	if err != nil {
		return nil, &croft.Error{Code: croft.DaemonUnreachable, Op: "about", Message: "no daemon answers", Hint: "croft serve --detach", Err: err}
	}
	defer response.Body.Close()
	var about api.About
	if err := api.ReadAnswer(response, &about); err != nil {
		return nil, err
	}
	return &About{Version: about.Version, PID: about.PID, StateDir: about.StateDir, Settings: about.Settings, API: about.API}, nil
}

// Notices returns the sentences for the user that came with answers and were not returned
// before.
func (c *Client) Notices() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.notices
	c.notices = nil
	return out
}

// Close waits for the calls that are at work, cancels those that only wait, and releases
// the leases that were taken for this process. Leases that a daemon which is gone could not
// release expire.
func (c *Client) Close() error {
	c.endWaits()
	isFirst, err := c.life.Close(30 * time.Second)
	if !isFirst {
		return nil
	}
	defer c.life.Cancel()
	err = errors.Join(err, c.releaseAll())
	c.life.Wait()
	c.http.CloseIdleConnections()
	return err
}

// releaseTime is how long Close tries to release leases.
const releaseTime = 10 * time.Second

// releaseAll releases the leases that were taken for this process, until the daemon turns out to
// be gone.
func (c *Client) releaseAll() error {
	c.mu.Lock()
	held := c.leases
	c.leases = nil
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), releaseTime)
	defer cancel()
	var errs []error
	for id := range held {
		_, err := exchange[croft.ReleaseRequest, croft.Released](ctx, c, api.ByName("Release"), croft.ReleaseRequest{Lease: id})
		if !errors.Is(err, croft.LeaseLost) {
			errs = append(errs, err)
		}
		if errors.Is(err, croft.Closed) || errors.Is(err, croft.DaemonUnreachable) || ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// authorize adds the token.
func (c *Client) authorize(r *http.Request) {
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
}

// context returns the context of a call with its actor, where the caller said nothing else.
func (c *Client) context(ctx context.Context) context.Context {
	a := croft.ActorFrom(ctx)
	if a.Dir == "" {
		a.Dir = c.dir
	}
	if a.From == "" {
		a.From = c.from
	}
	if a.Name == "" && a.Author == nil && a.Workspace == "" {
		a.Name = c.actor
	}
	return croft.WithActor(ctx, a)
}

// newCall returns a name for a call that nobody can guess.
func newCall() string { return rand.Text() }

// awayError says that the daemon is away, or went away in the middle of a call.
func awayError(op string, err error) error {
	if e, ok := errors.AsType[*croft.Error](err); ok && e.Code == croft.DaemonUnreachable {
		return e
	}
	return &croft.Error{
		Code: croft.Closed, Op: op, Message: "the daemon does not answer", Err: err,
		Details: "What the call had begun is finished or rolled back by the next process that opens Croft.",
		Hint:    "croft serve --status",
	}
}

// closed says that the Service was closed.
func closed(op string) error {
	return &croft.Error{Code: croft.Closed, Op: op, Message: "the service was closed", Hint: "open another one"}
}
