package git

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
)

// writers are git's commands that write below the common directory, a git
// directory or a checkout, whatever else the call says of itself.
var writers = []string{"index-pack", "pack-objects", "unpack-objects", "read-tree", "update-index", "reset", "checkout", "merge", "update-ref"}

// isWriter reports whether a call may write.
func (c call) isWriter() bool {
	return c.locks || c.network || len(c.writes) > 0 || slices.Contains(writers, verbOf(c.args))
}

// writesFiles reports whether a call writes the files of a checkout, and not only an
// index or objects.
func (c call) writesFiles() bool {
	switch verbOf(c.args) {
	case "reset":
		return slices.Contains(c.args, "--hard")
	case "checkout", "checkout-index", "merge", "read-tree":
		return true
	}
	return false
}

// writeBelow are the directories below which a call may write: whoever works in
// a checkout can put links to elsewhere where git writes, also while it writes. A
// call with a work tree writes that, its git directory, objects and refs; the
// state directory is never among them. It returns nil for calls that are not held to
// it: those that write nothing, and those that run programs of the user's (to
// sign, to filter contents, to reach a server), which have files of their own.
func (g *Git) writeBelow(ctx context.Context, d door, c call) []string {
	if g.opts.Unfenced || d.repo == nil || !c.isWriter() {
		return nil
	}
	if slices.Contains(c.args, "-S") || verbOf(c.args) == "fetch" {
		return nil
	}
	s, err := d.repo.settingsOf(ctx, d.checkoutDir())
	if err != nil || s.hasFilters || c.network && (s.hasLFS || d.repo.format.partial) {
		return nil
	}
	dirs := []string{d.gitDirectory()}
	if d.work != "" {
		dirs = append(dirs, d.work)
		for _, name := range []string{"objects", "refs", "logs", "reftable", "modules", "lfs"} { // and no hooks, no configuration
			dirs = append(dirs, d.repo.commonPath(name))
		}
		d.repo.makeLogs()
	} else {
		dirs = append(dirs, d.repo.CommonDir)
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

// makeLogs makes the directory of logs, which a bare repository does not have: git
// makes it with the first commit of a worktree, where a fence keeps it from that.
func (r *Repository) makeLogs() {
	if fsx.IsThere(r.commonPath("logs")) {
		return
	}
	files := fsx.OpenTree(r.CommonDir)
	defer files.Close()
	_, _ = files.MakeDir("logs")
}
