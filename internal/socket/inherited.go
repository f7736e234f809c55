package socket

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/shellword"
)

// firstInherited is the first descriptor that a service manager hands over.
const firstInherited = 3

// maxInherited is more than any unit has.
const maxInherited = 64

// Listeners are where a daemon listens. Those of Unix give connections of the user only.
type Listeners struct {
	Unix []net.Listener
	TCP  []net.Listener
}

// Close closes this process's ends.
func (l Listeners) Close() {
	for _, one := range slices.Concat(l.Unix, l.TCP) {
		_ = one.Close()
	}
}

// FromManager returns the sockets that a service manager made for this process and listens at, as
// the environment says in systemd's way: LISTEN_PID, LISTEN_FDS. Without any it is empty. They are
// neither unlinked nor changed: the manager keeps them, and calls that come while no daemon runs
// wait there for the next one. refused is told of connections of other users.
func FromManager(environ []string, pid int, refused func(error)) (Listeners, error) {
	var in Listeners
	if lookUp(environ, "LISTEN_PID") != strconv.Itoa(pid) {
		return in, nil
	}
	n, err := strconv.Atoi(lookUp(environ, "LISTEN_FDS"))
	if err != nil || n < 0 || n > maxInherited {
		return in, invalidError("LISTEN_FDS is no small number", nil)
	}
	names := strings.Split(lookUp(environ, "LISTEN_FDNAMES"), ":")
	for i := range n {
		name := "socket"
		if i < len(names) && names[i] != "" {
			name = names[i]
		}
		l, err := listenerOf(firstInherited+i, name)
		if err != nil {
			in.Close()
			return Listeners{}, err
		}
		switch l.Addr().Network() {
		case "unix":
			in.Unix = append(in.Unix, checked{l, refused})
		default:
			in.TCP = append(in.TCP, l)
		}
	}
	return in, nil
}

// listenerOf makes a listener of a descriptor, which children of this process do not get.
func listenerOf(fd int, name string) (net.Listener, error) {
	closeOnExec(fd)
	f := os.NewFile(uintptr(fd), name)
	if f == nil {
		return nil, invalidError(fmt.Sprintf("descriptor %d of the service manager is not open", fd), nil)
	}
	defer f.Close() // the listener has its own
	l, err := net.FileListener(f)
	if err != nil {
		return nil, invalidError(fmt.Sprintf("descriptor %d of the service manager (%q) is no socket that listens", fd, name), err)
	}
	switch addr := l.Addr().(type) {
	case *net.UnixAddr:
		return l, nil
	case *net.TCPAddr:
		if addr.IP.IsLoopback() {
			return l, nil
		}
	}
	_ = l.Close()
	return nil, invalidError(fmt.Sprintf("the socket %s of the service manager is neither of this machine alone nor a Unix one", l.Addr()), nil)
}

func invalidError(message string, err error) error {
	return &croft.Error{Code: croft.InvalidRequest, Op: "serve", Message: message, Err: err}
}

// ListenTCP listens at an address of this machine that no other can reach: 127.0.0.1, ::1 or
// localhost, with a port; port 0 is any that is free.
func ListenTCP(addr string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if _, notPort := strconv.ParseUint(addr, 10, 16); notPort == nil { // a port alone
		host, port, err = "", addr, nil
	}
	if err != nil {
		return nil, invalidError(fmt.Sprintf("%q is no address such as 127.0.0.1:7450", addr), err)
	}
	if host == "" {
		return nil, &croft.Error{
			Code: croft.InvalidRequest, Op: "serve", Message: fmt.Sprintf("%q has no address before its port; the daemon serves this machine only", addr),
			Hint: "croft serve --tcp=127.0.0.1:" + shellword.Quote(port),
		}
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	ip := net.ParseIP(host)
	if ip == nil || !ip.Equal(net.IPv4(127, 0, 0, 1)) && !ip.Equal(net.IPv6loopback) {
		return nil, &croft.Error{
			Code: croft.InvalidRequest, Op: "serve", Message: fmt.Sprintf("%q is not 127.0.0.1 or ::1; the daemon serves this machine only", host),
			Hint: "croft serve --tcp, and from another machine: ssh -L 7450:127.0.0.1:7450 HOST",
		}
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return nil, invalidError(fmt.Sprintf("%q is no port", port), err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, &croft.Error{Code: croft.Unsupported, Op: "serve", Message: "the port cannot be listened at", Details: addr, Hint: "croft serve --tcp=127.0.0.1:0", Err: err}
	}
	return l, nil
}
