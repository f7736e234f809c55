package journal

import (
	"context"
	"strings"
)

// IsPathTaken reports whether a live workspace is at a path, without regard to case.
// Workspaces in legacy mode do not count.
func (t *Tx) IsPathTaken(path string) (bool, error) {
	n, err := t.count(`SELECT count(*) FROM workspaces WHERE path_fold = ? AND mode <> 'legacy' AND `+live, strings.ToLower(path))
	return n > 0, err
}

// LiveAtPath finds the live workspace at a path, without regard to case. One in legacy mode does not count.
func (j *Journal) LiveAtPath(ctx context.Context, path string) (Record, error) {
	return firstRow(read(ctx, j, scanRecord, `SELECT id, record FROM workspaces WHERE path_fold = ? AND mode <> 'legacy' AND `+live, strings.ToLower(path)))
}
