package odb

import (
	"context"
	"fmt"
	"strings"

	"github.com/croft-sh/croft/internal/git/gitdir"
)

// Change is one path in which two trees differ.
type Change struct {
	Path             string
	OldMode, NewMode string // NoMode where there is no entry
	OldOID, NewOID   string
}

// Adds reports whether the path did not exist before.
func (c Change) Adds() bool { return c.OldMode == NoMode }

// Deletes reports whether the path no longer exists.
func (c Change) Deletes() bool { return c.NewMode == NoMode }

// Modes of tree entries, as git prints them.
const (
	NoMode   = "000000"
	TreeMode = "040000"
	LinkMode = "160000"
)

// Diff lists the files in which two commits or trees differ, in the order of an index. A renamed file is a
// deletion and an addition. Git is started only for trees that cannot be compared here.
func (r *Repository) Diff(ctx context.Context, old, now string) ([]Change, error) {
	if found, err := r.diffTrees(ctx, old, now); err == nil {
		return found, nil
	}
	out, err := r.RunGit(ctx, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--end-of-options", old, now)
	if err != nil {
		return nil, err
	}
	return ParseRaw(out)
}

// ParseRaw parses raw differences: ":<mode> <mode> <oid> <oid> <status>", then the path.
func ParseRaw(out []byte) ([]Change, error) {
	fields := gitdir.SplitNUL(out)
	var list []Change
	for i := 0; i < len(fields); i += 2 {
		f := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		if len(f) != 5 || !strings.HasPrefix(fields[i], ":") || i+1 == len(fields) {
			return nil, fmt.Errorf("not a raw difference: %q", fields[i])
		}
		list = append(list, Change{Path: fields[i+1], OldMode: f[0], NewMode: f[1], OldOID: f[2], NewOID: f[3]})
	}
	return list, nil
}
