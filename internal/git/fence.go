package git

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
)

// writers are git's commands that write below the common directory, a git
// directory or a checkout, whatever else the call says of itself.
var writers = []string{"index-pack", "pack-objects", "unpack-objects", "read-tree", "update-index", "reset", "checkout", "merge", "update-ref"}

// writeBelow are the directories below which a call may write: whoever works in
// a checkout can put links to elsewhere where git writes. It returns nil for
// calls that are not held to it: those that write nothing, those that run
// programs of the user's (to sign, to reach a server, to filter contents), which
// have files of their own.
func (g *Git) writeBelow(ctx context.Context, d door, c call) []string {
	if d.repo == nil || c.network || !c.locks && len(c.writes) == 0 && !slices.Contains(writers, verbOf(c.args)) {
		return nil
	}
	if slices.Contains(c.args, "-S") {
		return nil
	}
	if s, err := d.repo.settingsOf(ctx, d.gitDirectory()); err != nil || s.hasFilters {
		return nil
	}
	dirs := []string{d.repo.CommonDir, d.repo.Dir, g.opts.ConfigDir}
	if dir := d.gitDirectory(); dir != d.repo.CommonDir {
		dirs = append(dirs, dir)
	}
	if d.work != "" {
		dirs = append(dirs, d.work)
	}
	for _, kv := range c.env {
		if file, ok := strings.CutPrefix(kv, "GIT_INDEX_FILE="); ok {
			dirs = append(dirs, filepath.Dir(file))
		}
		if dir, ok := strings.CutPrefix(kv, "GIT_OBJECT_DIRECTORY="); ok {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
