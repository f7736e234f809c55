package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/flock"
)

// upkeepStamp is the prefix of the names of the files that record the start of a
// project's upkeep. Project and hour are part of the name, so that exactly one of many
// processes can create the file.
const upkeepStamp = "upkeep-"

// claimUpkeep reports whether this process is to start the upkeep of a project: one
// process an hour does, and none if the user turned it off. Errors count as no.
func claimUpkeep(environ []string, root string, now time.Time) bool {
	set, err := settings(environ, root, nil)
	if err != nil {
		return false
	}
	c := set.Config()
	return c.GC.Auto && claimHour(c.StateDir, root, now)
}

// fillPause is how long a process that fills a stock waits before it looks at it: the next command of a series is not
// disturbed, and one process fills for all of them.
const fillPause = 300 * time.Millisecond

// claimFilling reports whether this process is to start another one that fills the checkouts in stock of a project: not if one
// was started that has not looked yet.
func claimFilling(environ []string, root string) bool {
	set, err := settings(environ, root, nil)
	if err != nil {
		return false
	}
	c := set.Config()
	return c.GC.Auto && c.Pool.Size > 0 && claimPause(filepath.Join(c.StateDir, fmt.Sprintf("filling-%016x", hashOf(root))), time.Now())
}

// claimPause reports whether a file's time is longer ago than fillPause, and makes it now. Of several processes that ask at
// once, one is told so.
func claimPause(file string, now time.Time) bool {
	_, err := os.Lstat(file)
	isNew := errors.Is(err, os.ErrNotExist)
	lock, err := flock.Try(file)
	if err != nil {
		return !errors.Is(err, flock.ErrHeld) // who holds it has just started one, or found one that was
	}
	defer func() { _ = lock.Unlock() }()
	if info, err := lock.File().Stat(); err == nil && !isNew {
		if ago := now.Sub(info.ModTime()); ago >= 0 && ago < fillPause {
			return false
		}
	}
	_ = os.Chtimes(file, now, now) // if it cannot be done, each of them starts one
	return true
}

func hashOf(root string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(root))
	return h.Sum64()
}

// claimHour creates the stamp of this hour. It reports false if another process did
// before.
func claimHour(stateDir, root string, now time.Time) bool {
	hour := fmt.Sprintf("-%d", now.Unix()/int64(time.Hour/time.Second))
	name := fmt.Sprintf("%s%016x%s", upkeepStamp, hashOf(root), hour)
	stamp, err := os.OpenFile(filepath.Join(stateDir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil || stamp.Close() != nil {
		return false
	}
	removeOldStamps(stateDir, hour)
	return true
}

// removeOldStamps removes the stamps of other hours. One that cannot be removed is
// tried again in the next hour.
func removeOldStamps(stateDir, hour string) {
	entries, _ := os.ReadDir(stateDir)
	for _, entry := range entries {
		if name := entry.Name(); strings.HasPrefix(name, upkeepStamp) && !strings.HasSuffix(name, hour) {
			_ = os.Remove(filepath.Join(stateDir, name))
		}
	}
}

// pause waits, or until the context ends.
func pause(ctx context.Context, long time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(long):
	}
}
