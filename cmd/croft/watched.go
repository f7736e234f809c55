package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/daemon/metrics"
)

// watchedGauges tell how far the files of workspaces are watched.
func watchedGauges(w engine.Watched) []metrics.Gauge {
	isLimited := 0.0
	if w.Why != "" {
		isLimited = 1
	}
	return []metrics.Gauge{
		{Name: "croft_watched_workspaces", Help: "workspaces of which it is known that nothing was touched since they were looked at", Value: float64(w.Workspaces)},
		{Name: "croft_watched_directories", Help: "directories that the system tells about", Value: float64(w.Directories)},
		{Name: "croft_watched_directories_most", Help: "the limit of these", Value: float64(w.Most)},
		{Name: "croft_watch_limited", Help: "1 if not all workspaces can be watched; the log says why", Value: isLimited},
		{Name: "croft_watch_overflows", Help: "how often the system had more to tell than it keeps, since the daemon began", Value: float64(w.Overflows)},
	}
}

// tellWatched logs why not all workspaces are watched, when that begins and when it is over.
func tellWatched(ctx context.Context, state func() engine.Watched, every time.Duration, log *slog.Logger) {
	var last engine.Watched
	for {
		now := state()
		switch {
		case now.Why != last.Why && now.Why != "":
			log.Warn("not all workspaces are watched: the others are looked at each time", "why", now.Why, "watched", now.Workspaces, "directories", now.Directories, "most", now.Most)
		case now.Why != last.Why:
			log.Info("all workspaces can be watched again")
		case now.Overflows > last.Overflows:
			log.Info("more was written than the system tells of: all workspaces are looked at again (fs.inotify.max_queued_events)")
		}
		last = now
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
	}
}
