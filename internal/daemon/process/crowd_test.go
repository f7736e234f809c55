//go:build linux

package process_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestIdleConnections: a daemon that may open 1,024 files has 2,000 connections over TCP opened to
// it that say nothing, and still answers there and on its socket. A stream that was open before
// goes on.
func TestIdleConnections(t *testing.T) {
	h := newHost(t)
	r := h.run(exec.Command("/bin/sh", "-c", `ulimit -n 1024 && exec "$0" serve --tcp=127.0.0.1:0`, binary))
	status := h.await(r)
	address := status.TCP[0]
	made := h.run(exec.Command(binary, "token", "new", "x", "--json"))
	if h.end(made) != 0 {
		t.Fatal(made.text())
	}
	_, secret, _ := strings.Cut(made.text(), "croft_")
	secret = "croft_" + strings.FieldsFunc(secret, func(r rune) bool { return r == '"' || r == '\n' })[0]
	stream := dial(t, address)
	fmt.Fprintf(stream, "GET /v1/events HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", address, secret)
	first, err := http.ReadResponse(bufio.NewReader(stream), nil)
	if err != nil || first.StatusCode != http.StatusOK {
		t.Fatalf("%+v, %v", first, err)
	}
	begun := time.Now()
	for range 2000 {
		conn := dial(t, address)
		defer conn.Close()
	}
	for range 20 {
		if _, err := h.place.Status(t.Context()); err != nil {
			t.Fatalf("the socket: %v\n%s", err, r.text())
		}
		res, err := (&http.Client{Timeout: 5 * time.Second}).Get("http://" + address + "/healthz")
		if err != nil {
			t.Fatalf("the port: %v\n%s", err, r.text())
		}
		_ = res.Body.Close()
	}
	t.Logf("2000 connections and 40 requests took %v", time.Since(begun))
	if err := stream.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Read(make([]byte, 1)); err != nil && !strings.Contains(err.Error(), "timeout") {
		t.Errorf("the stream was closed for others: %v", err)
	}
	if strings.Contains(r.text(), "too many open files") {
		t.Error(r.text())
	}
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}
