package merge

import (
	"context"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/mergetree"
)

const (
	maxHunks    = 20
	maxHunkText = 4 << 10
	maxFileText = 1 << 20
)

// describeConflicts describes the two sides of each path in conflict. Against is the
// commit that brought the other side; the caller knows which workspace made it.
func (s *Stacker) describeConflicts(ctx context.Context, it Item, tip string, m mergetree.Merged) ([]croft.ConflictedPath, error) {
	list := make([]croft.ConflictedPath, len(m.Conflicts))
	base := it.Base
	if it.Kind == croft.KindMerge {
		var err error
		if base, err = s.MergeTree.MergeBase(ctx, tip, it.Head); err != nil {
			return nil, err
		}
	}
	for i, c := range m.Conflicts {
		list[i] = croft.ConflictedPath{Path: c.Path, Kind: c.Kind}
		if i >= maxHunks {
			continue
		}
		last, err := s.MergeTree.LastChange(ctx, base, tip, c.Path)
		if err != nil {
			return nil, err
		}
		list[i].Against = last
		if list[i].Hunks, err = s.readHunks(ctx, m.Tree, c.Path); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// readHunks reads the hunks in conflict from a file with markers.
func (s *Stacker) readHunks(ctx context.Context, tree, path string) ([]croft.ConflictHunk, error) {
	o, err := s.MergeTree.File(ctx, tree, path)
	if err != nil || o.Type != "blob" || o.Size > maxFileText || strings.Contains(string(o.Data), "\x00") {
		return nil, err
	}
	return ParseMarkers(string(o.Data)), nil
}

// ParseMarkers returns the hunks in conflict that a file's markers enclose. The text of
// the common ancestor, which some styles have between the two sides, is left out.
func ParseMarkers(text string) []croft.ConflictHunk {
	var list []croft.ConflictHunk
	var h *croft.ConflictHunk
	var side *string
	n := 0
	for line := range strings.Lines(text) {
		n++
		switch {
		case strings.HasPrefix(line, "<<<<<<< ") && len(list) < maxHunks:
			h = &croft.ConflictHunk{Line: n}
			side = &h.Ours
		case h != nil && strings.HasPrefix(line, "||||||| "):
			side = new(string)
		case h != nil && strings.TrimRight(line, "\r\n") == "=======":
			side = &h.Theirs
		case h != nil && strings.HasPrefix(line, ">>>>>>> "):
			list = append(list, *h)
			h = nil
		case h != nil && len(*side) < maxHunkText:
			*side += strings.ToValidUTF8(line, "\uFFFD")
		}
	}
	return list
}
