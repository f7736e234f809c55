package main

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// upkeepStamp begins the name of the file which says that upkeep of a project
// was started in an hour. Project and hour are part of the name, so that of
// many processes exactly one can make it.
const upkeepStamp = "upkeep-"

// isUpkeepDue claims the upkeep of this hour, unless the user turned it off.
// What hinders it is no concern of the command that asked.
func isUpkeepDue(environ []string, root string, now time.Time) bool {
	set, err := settings(environ, root, nil)
	if err != nil {
		return false
	}
	c := set.Config()
	return c.GC.Auto && claimHour(c.StateDir, root, now)
}

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

// removeOldStamps removes those of other hours. What stays behind is removed
// in the next hour.
func removeOldStamps(stateDir, hour string) {
	entries, _ := os.ReadDir(stateDir)
	for _, entry := range entries {
		if name := entry.Name(); strings.HasPrefix(name, upkeepStamp) && !strings.HasSuffix(name, hour) {
			_ = os.Remove(filepath.Join(stateDir, name))
		}
	}
}
