package gitcmd

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
)

// writingCommands are the git commands that write below the common directory, a git
// directory or a checkout, whatever the fields of the call say.
var writingCommands = []string{"index-pack", "pack-objects", "unpack-objects", "read-tree", "update-index", "reset", "checkout", "merge", "update-ref"}

// isWriter reports whether a call may write.
func (c Call) isWriter() bool {
	return c.Locks || c.Network || len(c.Writes) > 0 || slices.Contains(writingCommands, verbOf(c.Args))
}

// writesFiles reports whether a call writes the files of a checkout, and not only an index
// or objects.
func (c Call) writesFiles() bool {
	switch verbOf(c.Args) {
	case "reset":
		return slices.Contains(c.Args, "--hard")
	case "checkout", "checkout-index", "merge", "read-tree":
		return true
	}
	return false
}

// writableDirs returns the directories below which a call may write, or nil if the call
// is not fenced: an agent can put symbolic links where git writes, even during the
// call. A call with a work tree writes to that, its git directory, objects and refs;
// the state directory is never among them. It returns nil for calls that are not
// fenced: those that write nothing, and those that run programs of the user (to sign,
// to filter content, to reach a server), which write files of their own.
func (g *Git) writableDirs(ctx context.Context, d Target, c Call) []string {
	if g.Options.Unfenced || d.Repo == nil || !c.isWriter() {
		return nil
	}
	if slices.Contains(c.Args, "-S") || slices.Contains([]string{"fetch", "ls-remote", "push"}, verbOf(c.Args)) {
		return nil
	}
	s, err := d.Repo.SettingsOf(ctx, d.checkoutDir())
	if err != nil || s.HasFilters || c.Network && (s.hasLFS || d.Repo.Format.Partial) {
		return nil
	}
	dirs := []string{d.gitDirectory()}
	if d.Work != "" {
		dirs = append(dirs, d.Work)
		for _, name := range []string{"objects", "refs", "logs", "reftable", "modules", "lfs"} { // without hooks and configuration
			dirs = append(dirs, d.Repo.CommonPath(name))
		}
		d.Repo.makeLogs()
	} else {
		dirs = append(dirs, d.Repo.CommonDir)
	}
	for _, kv := range c.Env {
		if file, ok := strings.CutPrefix(kv, "GIT_INDEX_FILE="); ok {
			dirs = append(dirs, filepath.Dir(file))
		}
		if dir, ok := strings.CutPrefix(kv, "GIT_OBJECT_DIRECTORY="); ok {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// makeLogs makes the directory of reflogs, which a bare repository lacks: git would make
// it with the first commit of a worktree, which the fence forbids.
func (r *Repository) makeLogs() {
	if fsx.IsThere(r.CommonPath("logs")) {
		return
	}
	files := fsx.OpenTree(r.CommonDir)
	defer files.Close()
	_, _ = files.MakeDir("logs")
}
