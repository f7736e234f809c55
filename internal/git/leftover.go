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

// Leftover is a file in conflict as a merge left it in a worktree.
type Leftover struct {
	Path string
	// Stat and Sum tell whether anybody touched it since. Without them nothing
	// was there.
	Stat string
	Sum  string
	// Markers are the lines that the merge itself wrote into it.
	Markers []string
}

// Leftovers notes what a merge has just left of files in conflict. The sides are
// the commits that were merged: what is a line of theirs is no marker.
func (w *Worktree) Leftovers(ctx context.Context, paths []string, sides ...string) ([]Leftover, error) {
	var list []Leftover
	for _, name := range paths {
		l := Leftover{Path: name, Stat: w.statOf(name)}
		if l.Stat != "" {
			text, sum, err := w.readLeftover(name)
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

// IsUntouched reports whether nobody has written a file since a merge left it. What
// was written again with the same bytes was touched: somebody wants it so.
func (w *Worktree) IsUntouched(l Leftover) (bool, error) {
	if l.Stat == "" || w.statOf(l.Path) != l.Stat {
		return false, nil
	}
	// Two writes may fall into one step of the clock.
	_, sum, err := w.readLeftover(l.Path)
	return err == nil && sum == l.Sum, err
}

// HasMarkers reports whether a file still has lines that a merge wrote.
func (w *Worktree) HasMarkers(l Leftover) (bool, error) {
	if len(l.Markers) == 0 || w.statOf(l.Path) == "" {
		return false, nil
	}
	text, _, err := w.readLeftover(l.Path)
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

// statOf is what tells a file from one that was written at another time.
func (w *Worktree) statOf(name string) string {
	info, err := index.Lstat(filepath.Join(w.Path, filepath.FromSlash(name)))
	if err != nil || !info.Mode.IsRegular() {
		return ""
	}
	return fmt.Sprintf("%d %d %d", info.ModTime.UnixNano(), info.Size, info.Inode())
}

// mostText is how much of a file is looked through for markers; what is larger
// is no text that anybody resolves.
const mostText = 64 << 20

// readLeftover reads a file, through no link, and digests it.
func (w *Worktree) readLeftover(name string) ([]byte, string, error) {
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
	text, err := io.ReadAll(io.LimitReader(f, mostText))
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

// conflictMarkers finds the lines of a file that look like the ends of a conflict and
// that neither side has. How long they are an attribute may say.
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

// isMarker reports whether a line begins with at least three of a character, and
// a blank.
func isMarker(line []byte, c byte) bool {
	rest := bytes.TrimLeft(line, string(c))
	return len(line)-len(rest) >= 3 && len(rest) > 0 && rest[0] == ' '
}

func trimLine(line []byte) string { return strings.TrimRight(string(line), "\r\n") }

// Concluded reports whether what a merge brought in is part of the worktree's
// work: in its history, or about to be.
func (w *Worktree) Concluded(ctx context.Context, commit string) (bool, error) {
	if slices.Contains(w.mergeHeads(), commit) {
		return true, nil
	}
	_, head, err := w.Head(ctx)
	if err != nil || head == "" {
		return false, err
	}
	return w.Repo.IsAncestor(ctx, commit, head)
}
