package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// secondCopy is a file with everything that the database holds: a dump of it,
// and after that the statements of each transaction since. It lies apart from the
// database, so that the loss of one is not the loss of both, and holds enough to
// make the database again.
//
// Every line is
//
//	checksum number json
//
// where the number is that of the last transaction that the line belongs to. The
// first line is a [copyHeader]; then come the rows of the dump, with the
// header's number, and then the transactions, each with the next number. A line
// is appended while its transaction holds the database's lock for writing, and
// before it is committed. So a number may be there twice: the process died
// between the two, and the later line stands.
type secondCopy struct {
	path string

	mu   sync.Mutex
	f    *os.File    // nil: not open
	info os.FileInfo // of f
	file string      // the header's
}

// copyHeader says which database a copy is of.
type copyHeader struct {
	Epoch   string `json:"epoch"`   // of the state: it stays when a database is made again from the copy
	File    string `json:"file"`    // of the database's file: another one after that
	Version int    `json:"version"` // of the schema
}

// statement is one change of the database.
type statement struct {
	SQL  string `json:"q"`
	Args []arg  `json:"a,omitempty"`
}

// copyLine is a line of the copy.
type copyLine struct {
	number int64
	text   []byte
}

// errNoCopy says that there is no copy, or none that can be read.
var errNoCopy = errors.New("there is no second copy of the state")

// errCopyBehind says that the copy lacks transactions before the one that was to
// be appended, so that it has to be written anew.
var errCopyBehind = errors.New("the second copy of the state lacks transactions")

// maxLine bounds what is read as one line.
const maxLine = 1 << 28

func formatLine(number int64, v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	text := strconv.AppendInt(nil, number, 10)
	text = append(append(text, ' '), b...)
	return fmt.Appendf(nil, "%08x %s\n", crc32.ChecksumIEEE(text), text), nil
}

func parseLine(b []byte) (copyLine, bool) {
	b = bytes.TrimSuffix(b, []byte("\n"))
	sum, text, ok := bytes.Cut(b, []byte(" "))
	if !ok || len(sum) != 8 {
		return copyLine{}, false
	}
	want, err := strconv.ParseUint(string(sum), 16, 32)
	if err != nil || crc32.ChecksumIEEE(text) != uint32(want) {
		return copyLine{}, false
	}
	number, body, ok := bytes.Cut(text, []byte(" "))
	n, err := strconv.ParseInt(string(number), 10, 64)
	return copyLine{n, body}, ok && err == nil
}

// copyState is what a copy says about itself.
type copyState struct {
	copyHeader
	base, last int64 // the numbers of its dump and of its last transaction
}

// state reads the first and the last line.
func (c *secondCopy) state() (copyState, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, err := os.Open(c.path)
	if err != nil {
		return copyState{}, fmt.Errorf("%w: %w", errNoCopy, err)
	}
	defer f.Close()
	return readState(f)
}

func readState(f *os.File) (s copyState, err error) {
	first, err := bufio.NewReader(io.NewSectionReader(f, 0, 4096)).ReadBytes('\n')
	if err != nil {
		return s, fmt.Errorf("%w: %w", errNoCopy, err)
	}
	line, ok := parseLine(first)
	if !ok || json.Unmarshal(line.text, &s.copyHeader) != nil || s.Epoch == "" {
		return s, fmt.Errorf("%w: its beginning is damaged", errNoCopy)
	}
	s.base = line.number
	s.last, err = lastNumber(f)
	return s, err
}

// lastNumber finds the last line that is whole, from the end.
func lastNumber(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	end := info.Size()
	var tail []byte
	for step := int64(4096); ; step *= 4 {
		from := max(end-step, 0)
		tail = make([]byte, end-from)
		if _, err := f.ReadAt(tail, from); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		lines := bytes.SplitAfter(tail, []byte("\n"))
		first := 1 // the first is a part of a line, unless it begins the file
		if from == 0 {
			first = 0
		}
		for i := len(lines) - 1; i >= first; i-- {
			if line, ok := parseLine(lines[i]); ok && bytes.HasSuffix(lines[i], []byte("\n")) {
				return line.number, nil
			}
		}
		if from == 0 {
			return 0, errNoCopy
		}
	}
}

// appended is a line that was appended for a transaction that is not committed
// yet.
type appended struct {
	copy       *secondCopy
	f          *os.File
	number     int64
	start, end int64
}

// append adds a transaction. The caller holds the database's lock for writing.
func (c *secondCopy) append(number int64, file string, list []statement) (*appended, error) {
	line, err := formatLine(number, list)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.open(); err != nil {
		return nil, err
	}
	if c.file != file {
		return nil, errMoved // another database has taken the place of this one
	}
	last, err := lastNumber(c.f)
	if err != nil {
		return nil, err
	}
	if last != number-1 && last != number {
		return nil, errCopyBehind
	}
	var end [1]byte
	size, err := c.f.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = c.f.ReadAt(end[:], size-1)
	}
	if err != nil {
		return nil, err
	}
	if end[0] != '\n' { // a process died while it wrote
		line = append([]byte("\n"), line...)
	}
	if _, err := c.f.Write(line); err != nil {
		return nil, errors.Join(err, c.f.Truncate(size))
	}
	return &appended{c, c.f, number, size, size + int64(len(line))}, nil
}

// sync waits until the line is on disk.
func (a *appended) sync() error { return a.f.Sync() }

// retract takes the line off the copy again, unless others were appended. The
// caller holds the database's lock for writing, and knows that the transaction
// was not committed.
func (a *appended) retract() error {
	a.copy.mu.Lock()
	defer a.copy.mu.Unlock()
	if err := a.copy.open(); err != nil || a.copy.f != a.f {
		return err
	}
	if info, err := a.f.Stat(); err != nil || info.Size() != a.end {
		return err
	}
	return a.f.Truncate(a.start)
}

// open opens the file at the path, unless that is the one that is open.
func (c *secondCopy) open() error {
	now, err := os.Stat(c.path)
	if err == nil && c.f != nil && os.SameFile(now, c.info) {
		return nil
	}
	c.closeFile()
	if err != nil {
		return fmt.Errorf("%w: %w", errCopyBehind, err)
	}
	f, err := os.OpenFile(c.path, os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	s, err := readState(f)
	info, serr := f.Stat()
	if err := errors.Join(err, serr); err != nil {
		_ = f.Close()
		return fmt.Errorf("%w: %w", errCopyBehind, err)
	}
	c.f, c.info, c.file = f, info, s.File
	return nil
}

func (c *secondCopy) closeFile() {
	if c.f != nil {
		_ = c.f.Close()
		c.f = nil
	}
}

// close closes the file.
func (c *secondCopy) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closeFile()
}

// size is how large the file is.
func (c *secondCopy) size() int64 {
	info, err := os.Stat(c.path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// lines calls each for every line but the first, in their order, until one is
// damaged or missing. Of lines with the same number after the dump, only the last
// counts.
func (c *secondCopy) lines(each func(copyLine) error) error {
	f, err := os.Open(c.path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<16)
	header, _, err := nextLine(in)
	if err != nil {
		return err
	}
	base := header.number
	var held *copyLine // the transaction that the next line may replace
	for {
		line, ok, err := nextLine(in)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if !ok {
			continue // what a process was writing when it died; if it was more, a number is missing
		}
		if line.number == base {
			if err := each(line); err != nil {
				return err
			}
			continue
		}
		last := base
		if held != nil {
			last = held.number
		}
		switch line.number {
		case last:
		case last + 1:
			if held != nil {
				if err := each(*held); err != nil {
					return err
				}
			}
		default:
			return fmt.Errorf("%w: after %d comes %d", errCopyBehind, last, line.number)
		}
		held = &line
	}
	if held != nil {
		return each(*held)
	}
	return nil
}

func nextLine(in *bufio.Reader) (copyLine, bool, error) {
	var b []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(b)+len(part) > maxLine {
			return copyLine{}, false, fmt.Errorf("a line of the second copy is longer than %d bytes", maxLine)
		}
		b = append(b, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return copyLine{}, false, err
		}
		line, ok := parseLine(b)
		return line, ok, nil
	}
}

// write replaces the file by one that fill writes.
func (c *secondCopy) write(fill func(io.Writer) error) (err error) {
	dir := filepath.Dir(c.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".copy-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	out := bufio.NewWriterSize(f, 1<<16)
	if err = fill(out); err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), c.path)
}
