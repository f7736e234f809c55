//go:build linux

package mcp

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/buildtest"
)

// process is a server as a program.
type process struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func (f *fixture) process(program string, args ...string) *process {
	f.t.Helper()
	p := &process{Cmd: exec.CommandContext(f.t.Context(), program, append([]string{"mcp"}, args...)...)}
	p.Dir, p.Env = f.repo.Dir, f.env
	var err error
	if p.in, err = p.StdinPipe(); err != nil {
		f.t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if err := p.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
	})
	fmt.Fprintln(p.in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}`)
	if _, err := p.out.ReadString('\n'); err != nil {
		f.t.Fatal(err)
	}
	return p
}

func (p *process) send(id int, tool, arguments string) {
	fmt.Fprintf(p.in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", id, tool, arguments)
}

func buildCroft(t *testing.T) string {
	t.Helper()
	program, err := buildtest.Croft(t.TempDir(), buildtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// TestKilled: a server is killed at some moment between a request and its answer. The request
// is repeated with its key, and done once.
func TestKilled(t *testing.T) {
	f := newFixture(t)
	program := buildCroft(t)
	for i := range 12 {
		f.write(f.a, "file.txt", fmt.Sprintln(i))
		request := fmt.Sprintf(`{"message":"round %d","key":"k%d"}`, i, i)
		p := f.process(program, "--workspace", "a")
		p.send(2, "save", request)
		time.Sleep(time.Duration(i*8) * time.Millisecond)
		_ = p.Process.Kill()
		_ = p.Wait()
		again := f.process(program, "--workspace", "a")
		again.send(3, "save", request)
		answer, err := again.out.ReadString('\n')
		head := f.repo.GitIn(f.a.Path, "rev-parse", "HEAD")
		if err != nil || !strings.Contains(answer, head) {
			t.Errorf("round %d, %v: %s; the workspace is at %s", i, err, answer, head)
		}
		if n := f.repo.GitIn(f.a.Path, "rev-list", "--count", "main..HEAD"); n != fmt.Sprint(i+1) {
			t.Fatalf("round %d: %s commits", i, n)
		}
		_ = again.in.Close()
		_ = again.Wait()
	}
}

// maxIdle is how much memory of its own an idle server has at most.
const maxIdle = 12 << 20

// TestIdle: idle servers have little memory of their own, also after calls.
func TestIdle(t *testing.T) {
	servers := 3
	if os.Getenv("CROFT_LONG") != "" {
		servers = 50
	}
	f := newFixture(t)
	program := buildCroft(t)
	var all []*process
	for i := range servers {
		p := f.process(program, "--workspace", "a")
		if i%2 == 0 {
			p.send(2, "status", "{}")
			if _, err := p.out.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, p)
	}
	time.Sleep(idleTime + 2*time.Second) // until their Services are closed
	most, sum := 0, 0
	for _, p := range all {
		n := anonymous(t, p.Process.Pid)
		most, sum = max(most, n), sum+n
	}
	t.Logf("%d servers: %.1f MB of anonymous memory each, at most %.1f", servers, float64(sum)/float64(servers)/1e6, float64(most)/1e6)
	if most > maxIdle {
		t.Errorf("%d bytes, at most %d", most, maxIdle)
	}
}

// anonymous is the memory that is a process's own.
func anonymous(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if text, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			var kb int
			if _, err := fmt.Sscan(text, &kb); err == nil {
				return kb << 10
			}
		}
	}
	t.Fatal("no RssAnon")
	return 0
}
