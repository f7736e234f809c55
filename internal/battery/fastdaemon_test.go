//go:build unix

package battery

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/docs/openapi"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/daemon"
	"github.com/croft-sh/croft/internal/daemon/keeper"
	"github.com/croft-sh/croft/internal/daemon/process"
	"github.com/croft-sh/croft/internal/daemon/stream"
	"github.com/croft-sh/croft/internal/daemon/watcher"
	"github.com/croft-sh/croft/internal/daemon/web"
)

// daemonVariable makes the test binary a daemon of a state directory that does what it does by
// itself so many times as often as the released one: its value is "24 /path/of/the/state".
const daemonVariable = "CROFT_BATTERY_DAEMON"

// tailed is an engine with one tail of its events, as the released daemon has it.
type tailed struct {
	*stream.Hub
	engine *engine.Engine
}

// runFastDaemon is what cmd/croft does for "croft serve", with other intervals.
func runFastDaemon() int {
	var speed int
	var state string
	if _, err := fmt.Sscanf(os.Getenv(daemonVariable), "%d %s", &speed, &state); err != nil {
		fmt.Println(err)
		return 1
	}
	debug.SetGCPercent(100)
	fast := func(d time.Duration) time.Duration { return d / time.Duration(speed) }
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	err := process.Serve(ctx, process.Options{
		StateDir: state, Environ: os.Environ(), User: "ada", Log: log,
		Times: keeper.Times{Look: fast(10 * time.Minute), Retry: fast(time.Minute), Upkeep: fast(time.Hour), Again: fast(time.Second)},
		Open: func(ctx context.Context) (croft.Service, error) {
			e, err := engine.Open(ctx, "/", &engine.Options{Environ: os.Environ(), Actor: "ada", Watch: engine.WatchFiles})
			if err != nil {
				return nil, err
			}
			return tailed{stream.NewHub(e), e}, nil
		},
		Background: func(ctx context.Context, svc croft.Service) {
			watcher.Run(ctx, watcher.Options{
				Service: svc, Tell: svc.(tailed).engine.Observe, Log: log,
				Least: fast(3 * time.Second), Most: fast(30 * time.Second), List: fast(10 * time.Minute),
			})
		},
		Web: func(svc croft.Service, stopping <-chan struct{}) daemon.Handlers {
			return web.New(svc.(tailed).Hub, web.Options{Stopping: stopping, Log: log, Document: openapi.Document(), Notices: svc.(tailed).engine.Notices})
		},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}
