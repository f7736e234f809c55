// Package socket is the way between the daemon and programs of the same user on the same
// machine: where the daemon's socket lies, how it is made so that no other user reaches it, and
// how each side makes sure that the other one is the same user.
//
// The daemon of a state directory writes into it where it listens ([Record]); a client that
// finds no such file looks where a daemon would listen by the rule of [Path]. So the two find
// each other also if only one of them has XDG_RUNTIME_DIR, and a socket that systemd holds is
// found before the daemon first ran.
package socket

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
)

// maxPath is how long the path of a socket may be on every system that Croft runs on.
const maxPath = 103

// RunDir is the directory for the files of a running daemon.
func RunDir(stateDir string) string { return filepath.Join(stateDir, "run") }

// Path returns where the daemon of a state directory listens: below XDG_RUNTIME_DIR if that is
// a directory that only this user can enter, and otherwise in the state directory. A state
// directory that is not the user's usual one has a socket of another name.
func Path(environ []string, stateDir string) string {
	runtime := lookUp(environ, "XDG_RUNTIME_DIR")
	if !filepath.IsAbs(runtime) || checkPrivate(runtime) != nil {
		return filepath.Join(RunDir(stateDir), "daemon.sock")
	}
	name := "daemon.sock"
	if filepath.Clean(stateDir) != usualState(environ) {
		sum := sha256.Sum256([]byte(filepath.Clean(stateDir)))
		name = "daemon-" + hex.EncodeToString(sum[:6]) + ".sock"
	}
	return filepath.Join(runtime, "croft", name)
}

// usualState is the state directory of a user who has set nothing.
func usualState(environ []string) string {
	if dir := lookUp(environ, "XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "croft")
	}
	return filepath.Join(lookUp(environ, "HOME"), ".local", "state", "croft")
}

func lookUp(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// Record says which daemon runs. It is written when it has begun to listen.
type Record struct {
	PID       int       `json:"pid"`
	Version   string    `json:"version,omitempty"`
	Socket    string    `json:"socket"`        // its path
	TCP       []string  `json:"tcp,omitempty"` // host:port
	StartedAt time.Time `json:"startedAt"`
}

func recordPath(stateDir string) string { return filepath.Join(RunDir(stateDir), "daemon.json") }

// maxRecord is more than a record has.
const maxRecord = 64 << 10

// WriteRecord says where a daemon listens.
func WriteRecord(stateDir string, r Record) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return fsx.ReplaceFile(recordPath(stateDir), append(data, '\n'), 0o600)
}

// ReadRecord returns what the last daemon wrote. It may have died since.
func ReadRecord(stateDir string) (Record, error) {
	data, err := fsx.ReadFile(recordPath(stateDir), maxRecord)
	if err != nil {
		return Record{}, err
	}
	var r Record
	err = json.Unmarshal(data, &r)
	return r, err
}

// RemoveRecord says that no daemon runs.
func RemoveRecord(stateDir string) { _ = os.Remove(recordPath(stateDir)) }

// Connect connects to the daemon of a state directory. It fails with DaemonUnreachable if none
// listens, and with AccessDenied if another user does.
func Connect(ctx context.Context, environ []string, stateDir string) (net.Conn, error) {
	paths := []string{Path(environ, stateDir)}
	if r, err := ReadRecord(stateDir); err == nil && filepath.IsAbs(r.Socket) && r.Socket != paths[0] {
		paths = []string{r.Socket, paths[0]}
	}
	var errs []error
	for _, path := range paths {
		conn, err := Dial(ctx, path)
		if err == nil {
			return conn, nil
		}
		if errors.Is(err, croft.AccessDenied) {
			return nil, err
		}
		errs = append(errs, err)
	}
	return nil, &croft.Error{
		Code: croft.DaemonUnreachable, Op: "connect", Message: "no daemon answers", Details: strings.Join(paths, "\n"), Hint: "croft serve --detach", Err: errors.Join(errs...),
	}
}

// Dial connects to the socket at a path. The process that listens there must be this user's.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	if _, err := os.Lstat(path); err != nil {
		return nil, err // a sandbox that refuses all sockets would refuse this one, too
	}
	short, done, err := shorten(path)
	if err != nil {
		return nil, err
	}
	defer done()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", short)
	if err != nil {
		return nil, err
	}
	if err := CheckPeer(conn); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// CheckPeer fails with AccessDenied unless the process at the other end of a connection runs
// as this user.
func CheckPeer(conn net.Conn) error {
	uid, err := peerUID(conn)
	if err != nil {
		return &croft.Error{Code: croft.AccessDenied, Op: "connect", Message: "the system does not tell which user is at the other end of the socket", Err: err}
	}
	if uid != os.Geteuid() {
		return &croft.Error{Code: croft.AccessDenied, Op: "connect", Message: fmt.Sprintf("user %d is at the other end of the socket", uid)}
	}
	return nil
}

// Listen makes the socket at a path and listens there. The caller holds the lock of the
// daemon, so that a socket at which nobody listens is one that a dead daemon left; it is
// replaced. The directory is made if it is not there, and nobody else may enter it. refused is
// told of connections of other users.
func Listen(ctx context.Context, path string, refused func(error)) (net.Listener, error) {
	if err := makePrivate(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if err := removeStale(ctx, path); err != nil {
		return nil, err
	}
	short, done, err := shorten(path)
	if err != nil {
		return nil, err
	}
	defer done()
	l, err := new(net.ListenConfig).Listen(ctx, "unix", short)
	if err != nil {
		return nil, &croft.Error{Code: croft.NotWritable, Op: "serve", Message: "the socket cannot be made", Details: path, Err: err}
	}
	unix := l.(*net.UnixListener)
	unix.SetUnlinkOnClose(false)
	// Nobody else could enter the directory while the socket had its first mode.
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close()
		return nil, &croft.Error{Code: croft.NotWritable, Op: "serve", Message: "the socket cannot be closed to others", Details: path, Err: err}
	}
	made, err := os.Lstat(path)
	if err != nil {
		_ = l.Close()
		return nil, err
	}
	return &listener{Listener: checked{l, refused}, path: path, made: made}, nil
}

// listener removes its socket when it is closed, if it is still there.
type listener struct {
	net.Listener
	path string
	made os.FileInfo
}

// Addr is the path that was asked for, also where the kernel knows a shorter one.
func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }

func (l *listener) Close() error {
	if now, err := os.Lstat(l.path); err == nil && os.SameFile(now, l.made) {
		_ = os.Remove(l.path)
	}
	return l.Listener.Close()
}

// removeStale removes a socket at which nobody listens, and nothing else.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != os.ModeSocket {
		return &croft.Error{Code: croft.FileIrregular, Op: "serve", Message: "something else lies where the daemon's socket belongs", Details: path, Hint: "move it away"}
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := Dial(ctx, path)
	if err == nil {
		_ = conn.Close()
	}
	if err == nil || !isRefused(err) {
		return &croft.Error{
			Code: croft.DaemonRunning, Op: "serve", Message: "another process listens at the socket", Details: path, Hint: "systemctl --user stop croft.socket", Err: err,
		}
	}
	return os.Remove(path)
}

// checked is a listener whose connections are all of this user. Others are closed, and refused
// is called, if it is not nil.
type checked struct {
	net.Listener
	refused func(error)
}

func (c checked) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		err = CheckPeer(conn)
		if err == nil {
			return conn, nil
		}
		_ = conn.Close()
		if c.refused != nil {
			c.refused(err)
		}
	}
}

// makePrivate makes a directory that nobody else can enter, and those above it. One that is
// there must be this user's; it is closed to others.
func makePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return &croft.Error{Code: croft.NotWritable, Op: "serve", Message: "the directory of the socket cannot be made", Details: dir, Err: err}
	}
	err := checkPrivate(dir)
	if errors.Is(err, errOpen) {
		if err = os.Chmod(dir, 0o700); err == nil {
			err = checkPrivate(dir)
		}
	}
	if err != nil {
		return &croft.Error{Code: croft.NotWritable, Op: "serve", Message: "the directory of the socket is not this user's alone", Details: dir, Err: err}
	}
	return nil
}

// errOpen says that others may enter a directory.
var errOpen = errors.New("other users may enter it")

// checkPrivate fails unless a path is a directory, no link to one, of this user, that nobody
// else may enter.
func checkPrivate(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return errors.New("it is no directory")
	}
	if uid, ok := ownerOf(info); !ok || uid != os.Geteuid() {
		return errors.New("it is another user's")
	}
	if info.Mode().Perm()&0o077 != 0 {
		return errOpen
	}
	return nil
}

// tooLongError says that a path cannot be that of a socket.
func tooLongError(path string) error {
	return &croft.Error{
		Code: croft.Unsupported, Op: "connect", Message: fmt.Sprintf("the path of the socket is %d bytes long; this system takes at most %d", len(path), maxPath),
		Details: path, Hint: "set CROFT_STATE_DIR to a shorter path",
	}
}
