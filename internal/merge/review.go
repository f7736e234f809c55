package merge

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/object"
)

const (
	noMode        = "000000"
	submoduleMode = "160000"
)

// PathText returns a path as a review shows it: unchanged, or quoted if it would not
// survive JSON or could be mistaken for a quoted path.
func PathText(path string) string {
	if utf8.ValidString(path) && !strings.HasPrefix(path, `"`) {
		return path
	}
	return gitdir.QuotePath(path)
}

// ReviewFiles returns the files of a review for patches.
func ReviewFiles(patches []mergetree.FilePatch) []croft.ReviewFile {
	files := make([]croft.ReviewFile, len(patches))
	for i, p := range patches {
		f := croft.ReviewFile{
			Path: PathText(p.Path), Status: statusOf(p), IsBinary: p.IsBinary, NotShown: p.NotShown,
			IsSubmodule: p.OldMode == submoduleMode || p.NewMode == submoduleMode,
		}
		if p.OldPath != "" {
			f.OldPath = PathText(p.OldPath)
		}
		if p.OldMode != noMode {
			f.OldMode, f.OldObject = p.OldMode, p.OldOID
		}
		if p.NewMode != noMode {
			f.NewMode, f.NewObject = p.NewMode, p.NewOID
		}
		for n, h := range p.Hunks {
			f.Added += h.Added
			f.Deleted += h.Deleted
			f.Hunks = append(f.Hunks, reviewHunk(n+1, h))
		}
		files[i] = f
	}
	return files
}

// reviewHunk returns a hunk with its number in the file.
func reviewHunk(number int, h mergetree.PatchHunk) croft.Hunk {
	out := croft.Hunk{
		ID: number, Header: strings.ToValidUTF8(h.Header, "\uFFFD"), OldStart: h.OldStart, OldLines: h.OldLines, NewStart: h.NewStart, NewLines: h.NewLines,
		Text: strings.ToValidUTF8(h.Text, "\uFFFD"),
	}
	if out.Text != h.Text {
		out.Raw = []byte(h.Text)
	}
	return out
}

func statusOf(p mergetree.FilePatch) croft.FileStatus {
	switch p.Status {
	case 'A':
		return croft.FileAdded
	case 'D':
		return croft.FileDeleted
	case 'R':
		return croft.FileRenamed
	case 'T':
		return croft.FileTypeChange
	}
	if p.OldOID == p.NewOID {
		return croft.FileMode
	}
	return croft.FileModified
}

// FilesWithin returns the files that are at paths or below them. A renamed file has
// both its paths.
func FilesWithin(files []croft.ReviewFile, paths []string) []croft.ReviewFile {
	if len(paths) == 0 {
		return files
	}
	return slices.DeleteFunc(slices.Clone(files), func(f croft.ReviewFile) bool {
		return !slices.ContainsFunc(paths, func(p string) bool {
			return isAtOrBelow(f.Path, p) || f.OldPath != "" && isAtOrBelow(f.OldPath, p)
		})
	})
}

// Count sums up the changes of files.
func Count(files []croft.ReviewFile) croft.Changes {
	out := croft.Changes{Files: len(files)}
	for _, f := range files {
		out.Added += f.Added
		out.Deleted += f.Deleted
	}
	return out
}

// isAtOrBelow reports whether path is at, or is below it.
func isAtOrBelow(path, at string) bool {
	if at == "" {
		return false
	}
	at = strings.TrimSuffix(strings.TrimPrefix(at, "./"), "/")
	return at == "." || at == "" || path == at || strings.HasPrefix(path, at+"/") || isSamePath(path, at)
}

// isSamePath reports whether a path that may be quoted is the path raw.
func isSamePath(quoted, raw string) bool {
	if !strings.HasPrefix(quoted, `"`) {
		return false
	}
	path, err := gitdir.UnquotePath(quoted)
	return err == nil && (path == raw || strings.HasPrefix(path, raw+"/"))
}

// Choice is the chosen part of one file: the whole, or some of its hunks.
type Choice struct {
	File  croft.ReviewFile
	Hunks []croft.Hunk // none: the whole file, or edits
	Edits []croft.Edit
}

// Choose returns the parts of a review's files that a request chooses.
func Choose(files []croft.ReviewFile, paths []string, hunks map[string][]int, edits map[string][]croft.Edit) ([]Choice, error) {
	if len(files) == 0 {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: "the review is empty: there is no work that the target lacks"}
	}
	whole, named := map[string]bool{}, map[string]bool{}
	for _, f := range files {
		named[f.Path] = true
	}
	var unknown []string
	for _, p := range paths {
		if named[p] {
			whole[p] = true
			continue
		}
		hits := 0
		for _, f := range files {
			if isAtOrBelow(f.Path, p) {
				whole[f.Path] = true
				hits++
			}
		}
		if hits == 0 {
			unknown = append(unknown, missingPathError(files, p))
		}
	}
	some := map[string][]croft.Hunk{}
	for p, ids := range hunks {
		at := slices.IndexFunc(files, func(f croft.ReviewFile) bool { return f.Path == p || isSamePath(f.Path, p) })
		if at < 0 {
			unknown = append(unknown, missingPathError(files, p))
			continue
		}
		f := files[at]
		if whole[f.Path] && len(ids) > 0 {
			unknown = append(unknown, p+" is chosen whole and by hunks: choose one of them")
		}
		for _, id := range ids {
			if id < 1 || id > len(f.Hunks) {
				unknown = append(unknown, fmt.Sprintf("%s has no hunk %d: it has %d", p, id, len(f.Hunks)))
				continue
			}
			isChosen := func(h croft.Hunk) bool { return h.ID == id }
			if !slices.ContainsFunc(some[f.Path], isChosen) {
				some[f.Path] = append(some[f.Path], f.Hunks[id-1])
			}
		}
	}
	written, refused := chooseEdits(files, edits, func(path string) bool { return whole[path] || len(some[path]) > 0 })
	unknown = append(unknown, refused...)
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: "the review has not all that was chosen", Details: strings.Join(unknown, "\n")}
	}
	var list []Choice
	for _, f := range files {
		chosen := some[f.Path]
		switch {
		case whole[f.Path] || len(chosen) > 0 && len(chosen) == len(f.Hunks):
			list = append(list, Choice{File: f})
		case len(chosen) > 0:
			slices.SortFunc(chosen, func(a, b croft.Hunk) int { return cmp.Compare(a.ID, b.ID) })
			list = append(list, Choice{File: f, Hunks: chosen})
		case len(written[f.Path]) > 0:
			list = append(list, Choice{File: f, Edits: written[f.Path]})
		}
	}
	if len(list) == 0 {
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: "nothing was chosen"}
	}
	return list, nil
}

// chooseEdits returns the edits by the paths of a review's files, and why some cannot be.
func chooseEdits(files []croft.ReviewFile, edits map[string][]croft.Edit, isChosen func(path string) bool) (written map[string][]croft.Edit, refused []string) {
	written = map[string][]croft.Edit{}
	for p, list := range edits {
		at := slices.IndexFunc(files, func(f croft.ReviewFile) bool { return f.Path == p || isSamePath(f.Path, p) })
		switch {
		case at < 0:
			refused = append(refused, missingPathError(files, p))
		case isChosen(files[at].Path) || len(written[files[at].Path]) > 0:
			refused = append(refused, p+" is chosen whole or by hunks, and by edits: choose one of them")
		case len(files[at].Hunks) == 0 || files[at].NewMode == "":
			refused = append(refused, p+" can be chosen as a whole only")
		default:
			written[files[at].Path] = list
		}
	}
	return written, refused
}

// missingPathError returns the message for a path that no file of the review has.
func missingPathError(files []croft.ReviewFile, path string) string {
	for _, f := range files {
		if f.OldPath != "" && f.OldPath == path {
			return path + " was renamed to " + f.Path
		}
	}
	return path + " is not in the review"
}

// PartTree returns the tree of a base with the chosen parts applied.
func PartTree(ctx context.Context, a *mergetree.Session, base string, choices []Choice) (string, error) {
	var edits []object.TreeEdit
	for _, c := range choices {
		path, err := gitdir.UnquotePath(c.File.Path)
		if err != nil {
			return "", err
		}
		if c.File.OldPath != "" {
			old, err := gitdir.UnquotePath(c.File.OldPath)
			if err != nil {
				return "", err
			}
			edits = append(edits, object.TreeEdit{Path: old})
		}
		edit := object.TreeEdit{Path: path, Mode: c.File.NewMode, OID: c.File.NewObject}
		if len(c.Hunks)+len(c.Edits) > 0 {
			if edit.OID, err = spliceParts(ctx, a, c); err != nil {
				return "", err
			}
		}
		edits = append(edits, edit)
	}
	tree, err := object.EditTree(ctx, a, base, edits)
	if blocked, ok := errors.AsType[*object.BlockedError](err); ok {
		return "", &croft.Error{
			Code: croft.InvalidRequest, Message: fmt.Sprintf("%q cannot be applied without %q", PathText(blocked.Path), PathText(blocked.By)),
		}
	}
	return tree, err
}

// spliceParts writes the old file with the chosen hunks, or the edits, applied.
func spliceParts(ctx context.Context, a *mergetree.Session, c Choice) (string, error) {
	var sides [2][]byte
	for i, oid := range []string{c.File.OldObject, c.File.NewObject} {
		if oid == "" {
			continue // there was nothing
		}
		o, err := a.Read(ctx, oid)
		if err != nil {
			return "", err
		}
		sides[i] = o.Data
	}
	var data []byte
	var err error
	if len(c.Edits) > 0 {
		data, err = Replace(sides[0], c.Edits)
	} else {
		data, err = Splice(sides[0], sides[1], c.Hunks)
	}
	if e, ok := errors.AsType[*croft.Error](err); ok {
		e.Details = c.File.Path
		return "", e
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", c.File.Path, err)
	}
	return a.WriteBlob(data)
}

// Replace puts the lines of edits, which are in order, in the place of those of a file.
func Replace(old []byte, edits []croft.Edit) ([]byte, error) {
	from := lineStarts(old)
	var out []byte
	done := 0 // lines of the file
	for i, e := range edits {
		a := lineBefore(e.OldStart, e.OldLines)
		if e.OldLines < 0 || a < done || a >= len(from) || e.OldLines >= len(from)-a {
			return nil, &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("edit %d does not fit: its lines are not behind those of the one before, or not in the file", i+1)}
		}
		out = append(append(out, old[from[done]:from[a]]...), e.Text...)
		if e.Text == "" {
			out = append(out, e.Raw...)
		}
		done = a + e.OldLines
	}
	return append(out, old[from[done]:]...), nil
}

// Splice replaces lines of the old side by those of the new side, in the ranges of the
// hunks, which are in order. Between all hunks of a file both sides are equal, so the
// result is byte by byte the old side with a patch of these hunks applied.
func Splice(old, now []byte, hunks []croft.Hunk) ([]byte, error) {
	from, to := lineStarts(old), lineStarts(now)
	var out []byte
	done := 0 // lines of the old side
	for _, h := range hunks {
		a, b := lineBefore(h.OldStart, h.OldLines), lineBefore(h.NewStart, h.NewLines)
		if h.OldLines < 0 || h.NewLines < 0 || a < done || a+h.OldLines >= len(from) || b < 0 || b+h.NewLines >= len(to) {
			return nil, fmt.Errorf("hunk %d does not fit", h.ID)
		}
		out = append(out, old[from[done]:from[a]]...)
		out = append(out, now[to[b]:to[b+h.NewLines]]...)
		done = a + h.OldLines
	}
	return append(out, old[from[done]:]...), nil
}

// lineBefore returns how many lines come before a range.
func lineBefore(start, lines int) int {
	if lines == 0 {
		return start // an empty range names the line before it
	}
	return start - 1
}

// lineStarts returns the offsets where lines begin, and where the last one ends. A line
// ends after its newline.
func lineStarts(data []byte) []int {
	starts := []int{0}
	for at := 0; at < len(data); {
		end := bytes.IndexByte(data[at:], '\n')
		if end < 0 {
			return append(starts, len(data))
		}
		at += end + 1
		starts = append(starts, at)
	}
	return starts
}
