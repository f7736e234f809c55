package review

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/merge"
	"github.com/croft-sh/croft/internal/page"
)

// ShowDiff shows the work that a request names and keeps nothing: Base and Head are empty
// if the repository has no such commit. It also reads a workspace that may be damaged.
// Otherwise it fails as ReviewWork does.
func (svc *Reviews) ShowDiff(ctx context.Context, req croft.DiffRequest) (*croft.Review, error) {
	c, err := svc.open(ctx, source{repo: req.Repo, workspace: req.Workspace, review: req.Review, merge: req.Merge, target: req.Target})
	if err != nil {
		return nil, err
	}
	defer c.attempts.Close()
	state, err := c.state(ctx, req.Paths)
	if err == nil {
		err = c.setFiles(ctx, req.Detail)
	}
	if err == nil {
		err = svc.requirePaths(ctx, c, req.Paths)
	}
	if err == nil {
		err = c.cutPage(state, req)
	}
	if err == nil && !c.isStored {
		err = c.clearUnkept(ctx)
	}
	if err != nil {
		return nil, err
	}
	return c.Review, nil
}

// state identifies the trees that are compared and the paths that are chosen. The token of
// a page has it, so that no two pages are of different states.
func (c *comparison) state(ctx context.Context, paths []string) (string, error) {
	parts := []string{string(c.ID), string(c.Merge)}
	if !c.isStored {
		for _, oid := range []string{c.Base, c.Head} {
			commit, err := c.attempts.ReadCommit(ctx, oid)
			if err != nil {
				return "", err
			}
			parts = append(parts, commit.Tree)
		}
	}
	sum := sha256.Sum256([]byte(strings.Join(append(parts, paths...), "\x00")))
	return hex.EncodeToString(sum[:16]), nil
}

// maxPageLines is how many bytes of lines a page has.
const maxPageLines = 1 << 20

// cutPage leaves the files of a review that the request chooses, and cuts them to the page
// that it asks for.
func (c *comparison) cutPage(state string, req croft.DiffRequest) error {
	c.Files = merge.FilesWithin(c.Files, req.Paths)
	c.Total = merge.Count(c.Files)
	var files []placedFile
	for i, f := range inDetail(c.Review, req.Detail).Files {
		files = append(files, placedFile{f, i})
	}
	key := func(f placedFile) page.Key { return page.Key{ID: state + "\x00" + strconv.Itoa(f.place)} }
	list, err := page.Cut(files, req.Page, page.Listed, key)
	if errors.Is(err, croft.CursorExpired) {
		return &croft.Error{
			Code: croft.CursorExpired, Workspace: c.WorkspaceName, Message: "the work has changed since the page before, or other paths are asked for",
			Details: "Nothing was changed. The files can be read again from the first page.",
		}
	}
	if err != nil {
		return err
	}
	if n := countFitting(list.Items); req.Limit > 0 && n < len(list.Items) {
		req.Limit = n
		if list, err = page.Cut(files, req.Page, page.Listed, key); err != nil {
			return err
		}
	}
	c.Files, c.Next = make([]croft.ReviewFile, len(list.Items)), list.Next
	for i, f := range list.Items {
		c.Files[i] = f.ReviewFile
	}
	if req.Limit > 0 && len(c.Files) == 1 {
		c.Files[0] = cutHunks(c.Files[0])
	}
	return nil
}

// placedFile is a file with its place in the list. A tree that an agent wrote may have a
// path more than once.
type placedFile struct {
	croft.ReviewFile
	place int
}

// countFitting returns how many files fit on a page, at least one.
func countFitting(files []placedFile) int {
	size := 0
	for i, f := range files {
		places, lines := sizeOf(f.ReviewFile)
		if size += places + lines; size > maxPageLines && i > 0 {
			return i
		}
	}
	return len(files)
}

// hunkSize is about how many bytes a hunk takes besides its header and its lines.
const hunkSize = 100

// sizeOf returns how many bytes the places of a file's hunks have, and their lines.
func sizeOf(f croft.ReviewFile) (places, lines int) {
	for _, h := range f.Hunks {
		places += hunkSize + len(h.Header)
		lines += len(h.Text) + len(h.Raw)
	}
	return places, lines
}

// cutHunks returns a file without the lines of the hunks that do not fit on a page, and
// without the hunks of which the places do not.
func cutHunks(f croft.ReviewFile) croft.ReviewFile {
	if places, lines := sizeOf(f); places <= maxPageLines && lines <= maxPageLines {
		return f
	}
	f.IsCut, f.Hunks = true, slices.Clone(f.Hunks)
	places, lines := 0, 0
	for i, h := range f.Hunks {
		if places += hunkSize + len(h.Header); places > maxPageLines {
			f.Hunks = f.Hunks[:i]
			break
		}
		if lines += len(h.Text) + len(h.Raw); lines > maxPageLines {
			f.Hunks[i].Text, f.Hunks[i].Raw = "", nil
		}
	}
	return f
}

// inDetail returns a copy of a review with as much of each file as is wanted.
func inDetail(work *croft.Review, detail croft.Detail) *croft.Review {
	switch detail {
	case croft.DetailHunks:
		return withoutLines(work)
	case croft.DetailStat:
		kept := *work
		kept.Files = slices.Clone(work.Files)
		for i := range kept.Files {
			kept.Files[i].Hunks = nil
		}
		return &kept
	}
	return work
}

// withoutLines returns a copy of a review without the lines of its hunks.
func withoutLines(work *croft.Review) *croft.Review {
	kept := *work
	kept.Files = slices.Clone(work.Files)
	for i, f := range kept.Files {
		kept.Files[i].Hunks = slices.Clone(f.Hunks)
		for j := range f.Hunks {
			kept.Files[i].Hunks[j].Text, kept.Files[i].Hunks[j].Raw = "", nil
		}
	}
	return &kept
}

// withLinesOf returns the stored files of a review with the lines that git shows now. The
// numbers of stored hunks hold, by which parts are applied: another version of git may
// divide a file into other hunks, which have no lines here.
func withLinesOf(stored, shown []croft.ReviewFile) []croft.ReviewFile {
	lines := map[string]map[[4]int]croft.Hunk{}
	for _, f := range shown {
		lines[f.Path] = map[[4]int]croft.Hunk{}
		for _, h := range f.Hunks {
			lines[f.Path][rangesOf(h)] = h
		}
	}
	files := slices.Clone(stored)
	for i, f := range files {
		files[i].Hunks = slices.Clone(f.Hunks)
		for j, h := range f.Hunks {
			now, ok := lines[f.Path][rangesOf(h)]
			files[i].Hunks[j].Text, files[i].Hunks[j].Raw = now.Text, now.Raw
			files[i].IsCut = files[i].IsCut || !ok
		}
	}
	return files
}

// rangesOf returns where a hunk is on both sides.
func rangesOf(h croft.Hunk) [4]int { return [4]int{h.OldStart, h.OldLines, h.NewStart, h.NewLines} }
