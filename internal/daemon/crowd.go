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

// crowd bounds the connections of a listener: every process of the machine can open some at a
// port, and each one is a descriptor of the daemon's. When there are too many, one is closed for a
// new one: the one that is open for longest of those on which nobody has said who calls, whatever
// they ask for or send; else the one that has waited longest for a request. One whose request of a
// known caller is being answered, and a stream, is never closed for another; if all are such, the
// new one is closed. How many of them a caller may have is bounded by shares.
type crowd struct {
	net.Listener
	kind    string // for the metrics
	most    int
	metrics *metrics.Set
	shares  *shares

	mu    sync.Mutex
	conns map[*member]place
}

// member is a connection of a crowd.
type member struct {
	net.Conn
	crowd *crowd
	leave sync.Once
}

// place is what is known of a member.
type place struct {
	since   time.Time // when it came, or had its last answer; zero: it has a request of a known caller
	isKnown bool      // a request of a known caller came on it
}

func newCrowd(l net.Listener, kind string, most int, set *metrics.Set) *crowd {
	most = max(most, 1)
	return &crowd{Listener: l, kind: kind, most: most, metrics: set, shares: newShares(most), conns: map[*member]place{}}
}

// size is how many connections are open.
func (c *crowd) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.conns)
}

// gauges are how many connections are open, by the kind of their listeners.
func gauges(crowds []*crowd) []metrics.Gauge {
	open := map[string]int{}
	for _, c := range crowds {
		open[c.kind] += c.size()
	}
	var list []metrics.Gauge
	for _, kind := range slices.Sorted(maps.Keys(open)) {
		list = append(list, metrics.Gauge{Name: "croft_connections", Help: "connections that are open", Labels: []string{"listener", kind}, Value: float64(open[kind])})
	}
	return list
}

// Accept waits for a connection for which there is room, or for which room can be made.
func (c *crowd) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		m := &member{Conn: conn, crowd: c}
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
func (c *crowd) join(m *member) (closing *member, isIn bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.conns) >= c.most {
		var its place
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
	c.conns[m] = place{since: time.Now()}
	return closing, true
}

// goesBefore reports whether a connection is closed rather than another one.
func (p place) goesBefore(other place) bool {
	if p.isKnown != other.isKnown {
		return !p.isKnown
	}
	return p.since.Before(other.since)
}

// change notes that a connection waits for a request. It is for http.Server.ConnState.
func (c *crowd) change(conn net.Conn, state http.ConnState) {
	if m, ok := conn.(*member); ok && state == http.StateIdle {
		c.set(m, func(p *place) { p.since = time.Now() })
	}
}

func (c *crowd) set(m *member, change func(*place)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.conns[m]; ok {
		change(&p)
		c.conns[m] = p
	}
}

type memberKey struct{}

// withMember adds to the context of a connection's requests which one it is.
func withMember(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, memberKey{}, conn)
}

// admit is the handler behind the guard: it keeps the connections of known callers, and refuses
// those who have too many.
func (c *crowd) admit(next http.Handler) http.Handler {
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
		if m, ok := r.Context().Value(memberKey{}).(*member); ok {
			c.set(m, func(p *place) { *p = place{isKnown: true} })
		}
		next.ServeHTTP(w, r)
	})
}

// closeStrangers closes the connections on which nobody has said who calls.
func (c *crowd) closeStrangers() {
	c.mu.Lock()
	var all []*member
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

// Close ends the connection, and its place in the crowd.
func (m *member) Close() error {
	m.leave.Do(func() {
		m.crowd.mu.Lock()
		defer m.crowd.mu.Unlock()
		delete(m.crowd.conns, m)
	})
	return m.Conn.Close()
}

// CloseWrite lets net/http say that it writes no more before it closes, so that a client that
// still sends gets the answer.
func (m *member) CloseWrite() error {
	if half, ok := m.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
