package daemon

import (
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/croft-sh/croft/internal/daemon/metrics"
)

// The most connections at once that a listener keeps, where the process may open enough files.
const (
	maxUnixConns = 4096
	maxTCPConns  = 512
)

// crowd bounds the connections of a listener: every process of the machine can open some at a
// port, and each one is a descriptor of the daemon's. When there are too many, the one that has
// waited longest for a request is closed for a new one. One whose request is being answered, and
// a stream, is never closed for another; if all are such, the new one is closed.
type crowd struct {
	net.Listener
	kind    string // for the metrics
	most    int
	metrics *metrics.Set

	mu    sync.Mutex
	conns map[*member]time.Time // since when it waits for a request; zero: it does not wait
}

// member is a connection of a crowd.
type member struct {
	net.Conn
	crowd *crowd
	leave sync.Once
}

func newCrowd(l net.Listener, kind string, most int, set *metrics.Set) *crowd {
	return &crowd{Listener: l, kind: kind, most: max(most, 1), metrics: set, conns: map[*member]time.Time{}}
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
		var since time.Time
		for one, at := range c.conns {
			if !at.IsZero() && (closing == nil || at.Before(since)) {
				closing, since = one, at
			}
		}
		if closing == nil {
			return m, false
		}
		delete(c.conns, closing)
	}
	c.conns[m] = time.Now()
	return closing, true
}

// change notes whether a connection waits for a request. It is for http.Server.ConnState.
func (c *crowd) change(conn net.Conn, state http.ConnState) {
	m, ok := conn.(*member)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.conns[m]; !ok {
		return
	}
	switch state {
	case http.StateActive, http.StateHijacked:
		c.conns[m] = time.Time{}
	case http.StateIdle:
		c.conns[m] = time.Now()
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
