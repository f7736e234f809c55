package main

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"time"
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

// fillsPool reports whether the checkouts in stock of a project are filled in the background.
func fillsPool(environ []string, root string) bool {
	set, err := settings(environ, root, nil)
	return err == nil && set.Config().GC.Auto && set.Config().Pool.Size > 0
}

// claimHour creates the stamp of this hour. It reports false if another process did
// before.
func claimHour(stateDir, root string, now time.Time) bool {
	project := fnv.New64a()
	project.Write([]byte(root))
	hour := fmt.Sprintf("-%d", now.Unix()/int64(time.Hour/time.Second))
	name := fmt.Sprintf("%s%016x%s", upkeepStamp, project.Sum64(), hour)
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
