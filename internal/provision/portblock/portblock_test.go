package portblock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/croft-sh/croft"
)

// TestFreeBlock: blocks never overlap, have no known port, and the same name gets the same one again.
func TestFreeBlock(t *testing.T) {
	t.Parallel()
	leased := map[int]croft.ID{}
	free := func(int) bool { return true }
	freeBlock := func(count int, name string, leased map[int]croft.ID, isUsable func(int) bool) ([]croft.Port, error) {
		return Blocks{Count: count, First: 20000, Last: 29999, Begin: BeginFor(name)}.Find(func(port int) bool { return leased[port] == "" }, isUsable)
	}
	first := map[string]int{}
	for i := range 900 {
		name := fmt.Sprint("r/", i)
		count := 10
		if i%3 == 0 {
			count = 7 // projects differ
		}
		ports, err := freeBlock(count, name, leased, free)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range ports {
			if leased[p.Port] != "" || p.Port == 27017 || p.Port < 20000 || p.Port > 29999 {
				t.Fatalf("%s got %d", name, p.Port)
			}
			leased[p.Port] = croft.ID(name)
		}
		first[name] = ports[0].Port
	}
	for port, id := range leased {
		if id == "r/5" {
			delete(leased, port)
		}
	}
	again, err := freeBlock(10, "r/5", leased, free)
	if err != nil || again[0].Port != first["r/5"] {
		t.Errorf("%v, %v, want %d", again, err, first["r/5"])
	}
	if _, err := freeBlock(10, "r", leased, func(int) bool { return false }); !errors.Is(err, croft.LimitReached) {
		t.Errorf("with no port free: %v", err)
	}
}

// TestIsUnused: a server on one address makes the port one that is used.
func TestIsUnused(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"127.0.0.1", "::1", "0.0.0.0", "::"} {
		network := map[bool]string{true: "tcp6", false: "tcp4"}[strings.Contains(host, ":")] // [::] alone, not with 0.0.0.0
		l, err := net.Listen(network, net.JoinHostPort(host, "0"))
		if err != nil {
			t.Logf("%s is not looked at: %v", host, err)
			continue
		}
		if IsUnused(l.Addr().(*net.TCPAddr).Port) {
			t.Errorf("a port at which a process listens on %s is said to be unused", host)
		}
		_ = l.Close()
	}
}

// TestIsUnusedBesideForks: a port is unused also while this process starts others, which have its sockets until they run
// their own program.
func TestIsUnusedBesideForks(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("true")
	if err != nil {
		t.Skip(err)
	}
	const port = 30000              // below the ports that systems give to clients, and in no other test
	_ = exec.Command(program).Run() // the first one makes Go fork to find out what the kernel can do
	if !IsUnused(port) {
		t.Skipf("%d is used", port)
	}
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				_ = exec.CommandContext(ctx, program).Run()
			}
		})
	}
	for range 2000 {
		if !IsUnused(port) {
			t.Error("a port at which nothing listens is said to be used")
			break
		}
	}
	stop()
	wg.Wait()
}
