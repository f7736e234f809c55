//go:build unix

package battery

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/croft-sh/croft/client"
)

// served is a daemon of a project's state.
type served struct {
	t   *testing.T
	p   *project
	cmd *exec.Cmd
	out *lockedBuffer

	program string
	env     []string // beside the project's

	http http.Client
}

// lockedBuffer is what a process printed so far.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(data)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// serve starts a daemon, and waits until it answers. It is killed with the test.
func (p *project) serve() *served {
	p.t.Helper()
	return p.serveWith(filepath.Join(p.bin, "croft"))
}

// serveWith starts a daemon that is another program than the released one.
func (p *project) serveWith(program string, env ...string) *served {
	p.t.Helper()
	s := &served{t: p.t, p: p, out: &lockedBuffer{}, program: program, env: env}
	s.http.Transport = &http.Transport{MaxIdleConnsPerHost: 64, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", s.socket())
	}}
	s.start()
	p.t.Cleanup(s.kill)
	return s
}

func (s *served) start() {
	s.t.Helper()
	s.cmd = exec.Command(s.program, "serve")
	s.cmd.Dir, s.cmd.Env, s.cmd.Stdout, s.cmd.Stderr = s.p.dir, append(s.p.environ(), s.env...), s.out, s.out
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	c := s.client(-1)
	defer func() { _ = c.Close() }()
	for deadline := time.Now().Add(30 * time.Second); ; {
		ctx, cancel := context.WithTimeout(s.t.Context(), time.Second)
		_, err := c.About(ctx)
		if cancel(); err == nil {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the daemon does not answer: %v\n%s", err, s.out)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// kill ends the daemon as kill -9 does.
func (s *served) kill() {
	if s.cmd.Process != nil {
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		_ = s.cmd.Wait()
	}
}

func (s *served) socket() string {
	for _, at := range s.p.environ() {
		if dir, ok := bytes.CutPrefix([]byte(at), []byte("CROFT_STATE_DIR=")); ok {
			return filepath.Join(string(dir), "run", "daemon.sock")
		}
	}
	return filepath.Join(s.p.home(), ".local", "state", "croft", "run", "daemon.sock")
}

// client opens a client of the daemon.
func (s *served) client(patience time.Duration) *client.Client {
	s.t.Helper()
	c, err := client.Open(s.t.Context(), client.Options{Socket: s.socket(), Dir: s.p.dir, Patience: patience})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// list asks for all workspaces, and reads the answer without making anything of it.
func (s *served) list(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://croft/v1/workspaces?repo="+url.QueryEscape("path:"+s.p.dir), nil)
	if err != nil {
		return err
	}
	response, err := s.http.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if n, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK || n < 1000 {
		return fmt.Errorf("%s with %d bytes: %w", response.Status, n, err)
	}
	return nil
}

// cpu returns the time that the daemon has used a core.
func (s *served) cpu() time.Duration {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join("/proc", itoa(s.cmd.Process.Pid), "stat"))
	if err != nil {
		s.t.Fatal(err)
	}
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	return time.Duration(atoi(string(fields[11]))+atoi(string(fields[12]))+atoi(string(fields[13]))+atoi(string(fields[14]))) * 10 * time.Millisecond
}

// percentile returns the smallest time that so many of a hundred are not above.
func percentile(times []time.Duration, of int) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[min(len(sorted)-1, len(sorted)*of/100)]
}
