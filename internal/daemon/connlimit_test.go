package daemon

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/daemon/metrics"
	"github.com/croft-sh/croft/internal/token"
)

// TestCrowd: with too many connections the one that has waited longest is closed, never one that
// is being answered; if all are, the new one is.
func TestCrowd(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := limitConns(l, "tcp", 2, metrics.New())
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
	answer := func(conn net.Conn) { c.set(conn.(*limitedConn), func(p *connUse) { *p = connUse{isKnown: true} }) }
	answer(one)
	third, three := next() // the second has waited longest, since the first is answered
	if !isOpen(first) || isOpen(second) || !isOpen(third) {
		t.Errorf("open: %v %v %v", isOpen(first), isOpen(second), isOpen(third))
	}
	_ = two.Close() // net/http closes it too
	answer(three)
	if fourth, four := next(); four != nil || isOpen(fourth) {
		t.Error("a connection came in although all are answered")
	}
	_ = three.Close()
	if _, five := next(); five == nil {
		t.Error("there is room, and a connection is refused")
	}
	c.change(one, http.StateIdle)
	if n := c.size(); n != 2 {
		t.Errorf("%d connections", n)
	}
	if sixth, six := next(); six == nil || !isOpen(first) || !isOpen(sixth) {
		t.Error("a connection of a known caller was closed rather than one of a stranger")
	}
}

// TestStrangersKeepNobodyOut: connections on which nobody says who calls take no room from others,
// also if a request is at work on them: one whose body does not come, or whose answers are not read.
// They do not keep the daemon from stopping.
func TestStrangersKeepNobodyOut(t *testing.T) {
	r := startWith(t, nil, 40) // ten connections
	address := strings.TrimPrefix(r.url, "http://")
	for range 30 {
		conn, err := net.DialTimeout("tcp", address, 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /login HTTP/1.1\r\nHost: %s\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nt", address)
	}
	time.Sleep(50 * time.Millisecond)
	for range 20 {
		if status, _ := r.fresh(t, "/healthz", r.token); status != http.StatusOK {
			t.Fatalf("the answer is %d", status)
		}
	}
	begun := time.Now()
	r.cancel()
	if err := r.wait(t); err != nil || time.Since(begun) > 10*time.Second {
		t.Errorf("%v after %v", err, time.Since(begun))
	}
}

// TestTokensKeepNobodyOut: one token has a fifth of the connections, all that are not for everything
// have three quarters, and one for everything is answered beside them.
func TestTokensKeepNobodyOut(t *testing.T) {
	entered, end := make(chan struct{}), make(chan struct{})
	r := startWith(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		entered <- struct{}{}
		<-end
		w.WriteHeader(http.StatusOK)
	}), 80) // twenty connections
	var asking sync.WaitGroup
	defer asking.Wait()
	defer close(end)
	for n := range 5 {
		_, secret, err := r.tokens.Make(t.Context(), token.Request{Name: fmt.Sprint("agent", n), Access: croft.AccessWorkspace, Workspace: croft.ID(fmt.Sprint("ws", n))})
		if err != nil {
			t.Fatal(err)
		}
		refused := 0
		for range 6 {
			answer := make(chan int, 1)
			asking.Go(func() {
				status, _ := r.fresh(t, "/v1/merges/x/wait", secret)
				answer <- status
			})
			select {
			case status := <-answer:
				if refused++; status != http.StatusTooManyRequests {
					t.Errorf("the answer is %d", status)
				}
			case <-entered:
			}
		}
		if want := []int{2, 2, 2, 3, 6}[n]; refused != want {
			t.Errorf("of the token %d %d were refused, not %d", n, refused, want)
		}
		if status, _ := r.fresh(t, "/healthz", r.token); status != http.StatusOK {
			t.Errorf("the user's answer is %d", status)
		}
	}
}
