package run

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The output of an agent is cut into files that are called by the place where they begin, such as
// output-0000000000. A place in the output stays the same when files in the middle are deleted.
const (
	prefix   = "output-"
	fileSize = 4 << 20 // of one file
	lastKept = 4       // files at the end, beside the first one
)

// Output is what an agent prints, as it is written down. Of a long one the beginning and the end
// are kept. It is for one goroutine.
type Output struct {
	dir  string
	most int64 // of one file
	file *os.File
	size int64 // of the file
	at   int64 // where the output goes on
}

// CreateOutput begins an output in a directory, which is made.
func CreateOutput(dir string) (*Output, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	w := &Output{dir: dir, most: fileSize}
	return w, w.begin()
}

// ContinueOutput goes on with an output at its end, where nobody else writes it any more.
func ContinueOutput(dir string) (*Output, error) {
	parts, err := partsOf(dir)
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 {
		return CreateOutput(dir)
	}
	last := parts[len(parts)-1]
	f, err := os.OpenFile(filepath.Join(dir, last.name), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil, err
	}
	return &Output{dir: dir, most: fileSize, file: f, size: last.to - last.from, at: last.to}, nil
}

// begin begins a file, and deletes the one that is too many.
func (w *Output) begin() error {
	f, err := os.OpenFile(filepath.Join(w.dir, fmt.Sprintf("%s%010d", prefix, w.at)), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if w.file != nil {
		_ = w.file.Close()
	}
	w.file, w.size = f, 0
	if parts, err := partsOf(w.dir); err == nil && len(parts) > 1+lastKept {
		_ = os.Remove(filepath.Join(w.dir, parts[1].name))
	}
	return nil
}

// Write appends to the output. What cannot be written, because the disk is full, is left out:
// the agent must not wait for it.
func (w *Output) Write(b []byte) (int, error) {
	if w.size >= w.most && w.begin() != nil {
		w.size = 0 // the file that is open grows on, and another try is made later
	}
	n, _ := w.file.Write(b)
	w.size, w.at = w.size+int64(n), w.at+int64(n)
	return len(b), nil
}

// Close ends the output.
func (w *Output) Close() error { return w.file.Close() }

// part is a file of an output.
type part struct {
	name     string
	from, to int64
}

// partsOf lists the files of an output in order.
func partsOf(dir string) ([]part, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var parts []part
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), prefix)
		from, perr := strconv.ParseInt(number, 10, 64)
		info, ierr := e.Info()
		if !ok || perr != nil || ierr != nil || !info.Mode().IsRegular() {
			continue
		}
		parts = append(parts, part{e.Name(), from, from + info.Size()})
	}
	slices.SortFunc(parts, func(a, b part) int { return int(min(max(a.from-b.from, -1), 1)) })
	return parts, nil
}

// Piece is a part of an output.
type Piece struct {
	Data         []byte
	Offset, Size int64 // where Data begins, and how long the output is so far
}

// ReadOutput reads at most limit bytes of an output, from a place on: from the end, if that is
// negative. What is not kept is passed over. It fails with os.ErrNotExist if there is no output.
func ReadOutput(dir string, offset int64, limit int) (Piece, error) {
	parts, err := partsOf(dir)
	if err != nil {
		return Piece{}, err
	}
	if len(parts) == 0 {
		return Piece{}, os.ErrNotExist
	}
	p := Piece{Offset: offset, Size: parts[len(parts)-1].to}
	if offset < 0 {
		p.Offset = max(0, p.Size+offset)
	}
	i := slices.IndexFunc(parts, func(q part) bool { return p.Offset < q.to })
	if i < 0 {
		p.Offset = min(p.Offset, p.Size)
		return p, nil
	}
	p.Offset = max(p.Offset, parts[i].from)
	f, err := os.Open(filepath.Join(dir, parts[i].name))
	if errors.Is(err, os.ErrNotExist) && i+1 < len(parts) {
		return ReadOutput(dir, parts[i+1].from, limit) // it was deleted meanwhile
	}
	if err != nil {
		return Piece{}, err
	}
	defer f.Close()
	p.Data, err = io.ReadAll(io.NewSectionReader(f, p.Offset-parts[i].from, min(int64(limit), parts[i].to-p.Offset)))
	return p, err
}
