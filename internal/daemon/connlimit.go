package daemon

import (
	"context"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/api"
	"github.com/croft-sh/croft/internal/caller"
	"github.com/croft-sh/croft/internal/daemon/metrics"
)

// The most connections at once that a listener keeps, where the process may open enough files.
const (
	maxUnixConns = 4096
	maxTCPConns  = 512
)

// limitedListener bounds the connections of a listener: every process of the machine can open
// some at a port, and each one is a descriptor of the daemon's. When there are too many, one is
// closed for a new one: the one that is open for longest of those on which nobody has said who
// calls, whatever they ask for or send; else the one that has waited longest for a request. One
// whose request of a known caller is being answered, and a stream, is never closed for another; if
// all are such, the new one is closed. How many of them a caller may have is bounded by shares.
type limitedListener struct {
	net.Listener
	kind    string // for the metrics
	most    int
	metrics *metrics.Set
	shares  *shares

	mu    sync.Mutex
	conns map[*limitedConn]connUse
}

// limitedConn is a connection of a limitedListener.
type limitedConn struct {
	net.Conn
	of    *limitedListener
	leave sync.Once
}

// connUse is what is known of a connection.
type connUse struct {
	since   time.Time // when it came, or had its last answer; zero: it has a request of a known caller
	isKnown bool      // a request of a known caller came on it
}

func limitConns(l net.Listener, kind string, most int, set *metrics.Set) *limitedListener {
	most = max(most, 1)
	return &limitedListener{Listener: l, kind: kind, most: most, metrics: set, shares: newShares(most), conns: map[*limitedConn]connUse{}}
}

// size is how many connections are open.
func (c *limitedListener) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.conns)
}

// gauges are how many connections are open, by the kind of their listeners.
func gauges(listeners []*limitedListener) []metrics.Gauge {
	open := map[string]int{}
	for _, c := range listeners {
		open[c.kind] += c.size()
	}
	var list []metrics.Gauge
	for _, kind := range slices.Sorted(maps.Keys(open)) {
		list = append(list, metrics.Gauge{Name: "croft_connections", Help: "connections that are open", Labels: []string{"listener", kind}, Value: float64(open[kind])})
	}
	return list
}

// Accept waits for a connection for which there is room, or for which room can be made.
func (c *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		m := &limitedConn{Conn: conn, of: c}
		closing, isIn := c.join(m)
		if closing != nil {
			c.metrics.Add("croft_connections_closed_total", 1, "listener", c.kind)
			_ = closing.Close()
		}
		if isIn {
			return m, nil
		}
	}
}

// join adds a connection. It returns one that has to be closed for that, or the new one itself.
func (c *limitedListener) join(m *limitedConn) (closing *limitedConn, isIn bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.conns) >= c.most {
		var its connUse
		for one, at := range c.conns {
			if !at.since.IsZero() && (closing == nil || at.goesBefore(its)) {
				closing, its = one, at
			}
		}
		if closing == nil {
			return m, false
		}
		delete(c.conns, closing)
	}
	c.conns[m] = connUse{since: time.Now()}
	return closing, true
}

// goesBefore reports whether a connection is closed rather than another one.
func (p connUse) goesBefore(other connUse) bool {
	if p.isKnown != other.isKnown {
		return !p.isKnown
	}
	return p.since.Before(other.since)
}

// change notes that a connection waits for a request. It is for http.Server.ConnState.
func (c *limitedListener) change(conn net.Conn, state http.ConnState) {
	if m, ok := conn.(*limitedConn); ok && state == http.StateIdle {
		c.set(m, func(p *connUse) { p.since = time.Now() })
	}
}

func (c *limitedListener) set(m *limitedConn, change func(*connUse)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.conns[m]; ok {
		change(&p)
		c.conns[m] = p
	}
}

type connKey struct{}

// withConn adds to the context of a connection's requests which one it is.
func withConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// admit is the handler behind the guard: it keeps the connections of known callers, and refuses
// those who have too many.
func (c *limitedListener) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		by := caller.From(r.Context())
		if by.Access == "" { // it may have what is public
			next.ServeHTTP(w, r)
			return
		}
		if !c.shares.enter(by) {
			w.Header().Set("Retry-After", "1")
			api.WriteError(w, "serve", &croft.Error{Code: croft.LimitReached, Message: "the token has too many requests at work", Hint: "wait for some of them"})
			return
		}
		defer c.shares.leave(by)
		if m, ok := r.Context().Value(connKey{}).(*limitedConn); ok {
			c.set(m, func(p *connUse) { *p = connUse{isKnown: true} })
		}
		next.ServeHTTP(w, r)
	})
}

// closeStrangers closes the connections on which nobody has said who calls.
func (c *limitedListener) closeStrangers() {
	c.mu.Lock()
	var all []*limitedConn
	for m, p := range c.conns {
		if !p.isKnown {
			all = append(all, m)
		}
	}
	c.mu.Unlock()
	for _, m := range all {
		_ = m.Close()
	}
}

// Close ends the connection, which then counts no more.
func (m *limitedConn) Close() error {
	m.leave.Do(func() {
		m.of.mu.Lock()
		defer m.of.mu.Unlock()
		delete(m.of.conns, m)
	})
	return m.Conn.Close()
}

// CloseWrite lets net/http say that it writes no more before it closes, so that a client that
// still sends gets the answer.
func (m *limitedConn) CloseWrite() error {
	if half, ok := m.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
