package git

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/croft-sh/croft/internal/git/object"
)

// LogEntry is a commit as a person reads it.
type LogEntry struct{ Commit, Author, Subject string }

// Log lists the commits that are reachable from commit and not from not, newest first, at
// most limit of them.
func (r *Repository) Log(ctx context.Context, not, commit string, limit int) ([]LogEntry, error) {
	if err := allHex(not, commit); err != nil {
		return nil, err
	}
	out, err := r.run(ctx, "-c", "log.showSignature=false", "log", "-z", "--no-color", "--no-decorate", "--no-notes", "--no-patch",
		"--max-count="+strconv.Itoa(limit), "--format=%H%x01%an%x01%s", "^"+not, commit, "--")
	if err != nil {
		return nil, err
	}
	var list []LogEntry
	for _, line := range splitNUL(out) {
		f := strings.SplitN(line, "\x01", 3)
		if len(f) != 3 || !object.IsOID(f[0]) {
			return nil, fmt.Errorf("not an answer of log: %.80q", line)
		}
		list = append(list, LogEntry{f[0], f[1], f[2]})
	}
	return list, nil
}
