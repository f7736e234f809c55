package git

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/object"
)

// ConflictFile is a file in conflict as a merge wrote it to a worktree.
type ConflictFile struct {
	Path string
	// Stat and Sum show whether the file was written since. They are empty if there was no
	// file.
	Stat string
	Sum  string
	// Markers are the conflict markers that the merge wrote.
	Markers []string
}

// ConflictFiles records the files in conflict right after a merge. sides are the commits that
// were merged: a line that one of them has is not a marker.
func (w *Worktree) ConflictFiles(ctx context.Context, paths []string, sides ...string) ([]ConflictFile, error) {
	var list []ConflictFile
	for _, name := range paths {
		l := ConflictFile{Path: name, Stat: w.statOf(name)}
		if l.Stat != "" {
			text, sum, err := w.readConflictFile(name)
			if err != nil {
				return nil, err
			}
			l.Sum = sum
			if l.Markers, err = w.conflictMarkers(ctx, name, text, sides); err != nil {
				return nil, err
			}
		}
		list = append(list, l)
	}
	return list, nil
}

// IsUntouched reports whether a file was not written since the merge. A file that was
// written again with the same bytes counts as written: its author has decided for this
// content.
func (w *Worktree) IsUntouched(l ConflictFile) (bool, error) {
	if l.Stat == "" || w.statOf(l.Path) != l.Stat {
		return false, nil
	}
	// Two writes may have the same mtime.
	_, sum, err := w.readConflictFile(l.Path)
	return err == nil && sum == l.Sum, err
}

// HasMarkers reports whether a file still has conflict markers of the merge.
func (w *Worktree) HasMarkers(l ConflictFile) (bool, error) {
	if len(l.Markers) == 0 || w.statOf(l.Path) == "" {
		return false, nil
	}
	text, _, err := w.readConflictFile(l.Path)
	if err != nil {
		return false, err
	}
	for line := range bytes.Lines(text) {
		if slices.Contains(l.Markers, trimLine(line)) {
			return true, nil
		}
	}
	return false, nil
}

// ConflictText returns a file in conflict as it is in the worktree; empty if there is none, or if it is too large to
// be resolved as text.
func (w *Worktree) ConflictText(name string) (string, error) {
	const most = 1 << 20
	if info, err := index.Lstat(filepath.Join(w.Path, filepath.FromSlash(name))); err != nil || !info.Mode.IsRegular() || info.Size > most {
		return "", nil //nolint:nilerr // there is none, or something else
	}
	text, _, err := w.readConflictFile(name)
	return string(text), err
}

// statOf returns the stat data that changes whenever a file is written.
func (w *Worktree) statOf(name string) string {
	info, err := index.Lstat(filepath.Join(w.Path, filepath.FromSlash(name)))
	if err != nil || !info.Mode.IsRegular() {
		return ""
	}
	return fmt.Sprintf("%d %d %d", info.ModTime.UnixNano(), info.Size, info.Inode())
}

// maxMarkerFile is the size up to which a file is searched for markers; a larger one is no text
// to resolve.
const maxMarkerFile = 64 << 20

// readConflictFile reads a file, following no symbolic link, and returns its digest.
func (w *Worktree) readConflictFile(name string) ([]byte, string, error) {
	top, err := fsx.OpenDir(w.Path)
	if err != nil {
		return nil, "", err
	}
	defer top.Close()
	dir, err := top.OpenBelow(filepath.FromSlash(path.Dir(name)))
	if err != nil {
		return nil, "", err
	}
	defer dir.Close()
	f, err := dir.Open(path.Base(name))
	if errors.Is(err, os.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxMarkerFile))
	if err != nil {
		return nil, "", err
	}
	h := sha256.New()
	h.Write(text)
	if _, err := io.Copy(h, f); err != nil {
		return nil, "", err
	}
	return text, fmt.Sprintf("%x", h.Sum(nil)), nil
}

// conflictMarkers returns the lines of a file that look like the first or last line of a
// conflict and that neither side has. An attribute may set their length.
func (w *Worktree) conflictMarkers(ctx context.Context, name string, text []byte, sides []string) ([]string, error) {
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, nil
	}
	found := map[byte][]string{}
	for line := range bytes.Lines(text) {
		if c := line[0]; isMarker(line, '<') || isMarker(line, '>') {
			found[c] = append(found[c], trimLine(line))
		}
	}
	if len(found['<']) == 0 || len(found['>']) == 0 || strings.ContainsAny(name, "\n\x00") {
		return nil, nil
	}
	lines := slices.Concat(found['<'], found['>'])
	for _, side := range sides {
		o, err := w.Repo.Read(ctx, side+":"+name)
		if errors.Is(err, object.ErrMissing) {
			continue
		}
		if err != nil {
			return nil, err
		}
		own := map[string]bool{}
		for line := range bytes.Lines(o.Data) {
			own[trimLine(line)] = true
		}
		lines = slices.DeleteFunc(lines, func(line string) bool { return own[line] })
	}
	slices.Sort(lines)
	return slices.Compact(lines), nil
}

// isMarker reports whether a line begins with at least three times c and a blank.
func isMarker(line []byte, c byte) bool {
	rest := bytes.TrimLeft(line, string(c))
	return len(line)-len(rest) >= 3 && len(rest) > 0 && rest[0] == ' '
}

func trimLine(line []byte) string { return strings.TrimRight(string(line), "\r\n") }

// IsMergeConcluded reports whether a merged commit is part of the worktree's work: an ancestor of
// HEAD, or in MERGE_HEAD.
func (w *Worktree) IsMergeConcluded(ctx context.Context, commit string) (bool, error) {
	if slices.Contains(w.MergeHeads(), commit) {
		return true, nil
	}
	_, head, err := w.Head(ctx)
	if err != nil || head == "" {
		return false, err
	}
	return w.Repo.IsAncestor(ctx, commit, head)
}
