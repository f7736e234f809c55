package daemon

import (
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/daemon/metrics"
)

// TestCrowd: with too many connections the one that has waited longest is closed, never one that
// is being answered; if all are, the new one is.
func TestCrowd(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := newCrowd(l, "tcp", 2, metrics.New())
	defer c.Close()
	accept := make(chan net.Conn)
	go func() {
		for {
			conn, err := c.Accept()
			if err != nil {
				close(accept)
				return
			}
			accept <- conn
		}
	}()
	next := func() (ours, theirs net.Conn) {
		t.Helper()
		ours, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ours.Close() })
		select {
		case theirs = <-accept:
		case <-time.After(300 * time.Millisecond):
		}
		return ours, theirs
	}
	isOpen := func(conn net.Conn) bool {
		t.Helper()
		_ = conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		_, err := conn.Read(make([]byte, 1))
		e, ok := err.(net.Error) //nolint:errorlint // Read returns it as it is
		return ok && e.Timeout()
	}
	first, one := next()
	second, two := next()
	c.change(one, http.StateActive)
	third, three := next() // the second has waited longest, since the first is answered
	if !isOpen(first) || isOpen(second) || !isOpen(third) {
		t.Errorf("open: %v %v %v", isOpen(first), isOpen(second), isOpen(third))
	}
	_ = two.Close() // net/http closes it too
	c.change(three, http.StateHijacked)
	if fourth, four := next(); four != nil || isOpen(fourth) {
		t.Error("a connection came in although all are answered")
	}
	_ = three.Close()
	if _, five := next(); five == nil {
		t.Error("there is room, and a connection is refused")
	}
	c.change(one, http.StateIdle)
	if len(c.conns) != 2 {
		t.Errorf("%d connections", len(c.conns))
	}
}
