// Package txlog is a file from which a database can be made again: a dump of its
// rows, and after that the statements of each transaction since. It knows files and
// checksums, and neither SQL nor what the statements say: its caller runs them.
//
// Every line of the file is
//
//	checksum number json
//
// where the number is that of the last transaction that the line belongs to. The
// first line is a [Header], with the number of lines of the dump; then come the rows of
// the dump, with the header's number, and then the transactions, each with the next
// number. Logs that earlier builds wrote lack the number of lines. The caller appends a
// line while it holds the database's lock for writing, and before it commits the
// transaction. So a number may be there twice: a process died between the two, and
// the later line counts.
//
// The package keeps true that a line is believed only with its checksum, that a log with a
// damaged line is not replayed without an error unless the line was cut when a process died
// or does not count, that no transaction is replayed after one that is missing, and that the
// file at the path is either the one before or the one after a Write.
package txlog

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

// Log is the file of one database. Several goroutines may use it.
type Log struct {
	path string

	mu   sync.Mutex
	f    *os.File    // nil: not open
	info os.FileInfo // of f
	file string      // the header's
}

// New returns the log at a path. There need not be a file yet.
func New(path string) *Log { return &Log{path: path} }

// Path returns the path of the file.
func (l *Log) Path() string { return l.path }

// Header says which database a log is of.
type Header struct {
	Epoch   string `json:"epoch"`   // of the state: it stays when a database is made again from the log
	File    string `json:"file"`    // of the database's file: another one after that
	Version int    `json:"version"` // of the schema
}

// firstLine is the header as it is written.
type firstLine struct {
	Header
	// Lines is how many lines the dump has, in ten digits: Write knows the number only after
	// it has written the dump, and then writes the line again. Empty in logs of earlier
	// builds.
	Lines string `json:"lines,omitempty"`
}

func newFirstLine(h Header, lines int) firstLine { return firstLine{h, fmt.Sprintf("%010d", lines)} }

// parseFirstLine decodes the header and the number of lines of the dump, which is -1 if the
// header lacks it.
func parseFirstLine(b []byte) (l line, h Header, lines int, err error) {
	l, ok := parseLine(b)
	first := firstLine{}
	if !ok || json.Unmarshal(l.text, &first) != nil || first.Epoch == "" {
		return l, h, 0, fmt.Errorf("%w: its beginning is damaged", ErrNone)
	}
	lines = -1
	if first.Lines != "" {
		if lines, err = strconv.Atoi(first.Lines); err != nil {
			err = fmt.Errorf("%w: %w", ErrNone, err)
		}
	}
	return l, first.Header, lines, err
}

// ErrNone says that there is no log, or that it cannot be read.
var ErrNone = errors.New("there is no second copy of the state")

// ErrBehind says that the log lacks transactions, so that it has to be written anew.
var ErrBehind = errors.New("the second copy of the state lacks transactions")

// ErrDump is an [ErrBehind] which says that lines of the dump are damaged, and that no
// transaction after the dump is missing.
var ErrDump = fmt.Errorf("%w: its dump is damaged", ErrBehind)

// ErrOtherFile says that the log is of another database file than the one in which a
// transaction was made.
var ErrOtherFile = errors.New("the second copy of the state is of another database")

// maxLine bounds the length of a line.
const maxLine = 1 << 28

// line is a decoded line of the file.
type line struct {
	number int64
	text   []byte
}

func formatLine(number int64, v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	text := strconv.AppendInt(nil, number, 10)
	text = append(append(text, ' '), b...)
	return fmt.Appendf(nil, "%08x %s\n", crc32.ChecksumIEEE(text), text), nil
}

func parseLine(b []byte) (line, bool) {
	b = bytes.TrimSuffix(b, []byte("\n"))
	sum, text, ok := bytes.Cut(b, []byte(" "))
	if !ok || len(sum) != 8 {
		return line{}, false
	}
	want, err := strconv.ParseUint(string(sum), 16, 32)
	if err != nil || crc32.ChecksumIEEE(text) != uint32(want) {
		return line{}, false
	}
	number, body, ok := bytes.Cut(text, []byte(" "))
	n, err := strconv.ParseInt(string(number), 10, 64)
	return line{n, body}, ok && err == nil
}

// State is the header of a log and the numbers of its transactions.
type State struct {
	Header
	Base, Last int64 // the numbers of its dump and of its last transaction
}

// State reads the first and the last line of the log.
func (l *Log) State() (State, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, err := os.Open(l.path)
	if err != nil {
		return State{}, fmt.Errorf("%w: %w", ErrNone, err)
	}
	defer f.Close()
	return readState(f)
}

func readState(f *os.File) (s State, err error) {
	first, err := bufio.NewReader(io.NewSectionReader(f, 0, 4096)).ReadBytes('\n')
	if err != nil {
		return s, fmt.Errorf("%w: %w", ErrNone, err)
	}
	header, h, _, err := parseFirstLine(first)
	if err != nil {
		return s, err
	}
	s.Header, s.Base = h, header.number
	s.Last, err = lastNumber(f)
	return s, err
}

// lastNumber returns the number of the last whole line, searching from the end.
func lastNumber(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	end := info.Size()
	for step := int64(4096); ; step *= 4 {
		from := max(end-step, 0)
		tail := make([]byte, end-from)
		if _, err := f.ReadAt(tail, from); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		lines := bytes.SplitAfter(tail, []byte("\n"))
		first := 1 // the first may be the end of a line, unless it begins the file
		if from == 0 {
			first = 0
		}
		for i := len(lines) - 1; i >= first; i-- {
			if l, ok := parseLine(lines[i]); ok && bytes.HasSuffix(lines[i], []byte("\n")) {
				return l.number, nil
			}
		}
		if from == 0 {
			return 0, ErrNone
		}
	}
}

// Appended is a line that was appended for a transaction that is not committed yet.
type Appended struct {
	Number int64 // of the transaction

	log        *Log
	f          *os.File
	start, end int64
}

// Append adds a transaction of a database file to the log. The caller holds the
// database's lock for writing.
func (l *Log) Append(number int64, file string, list []Statement) (*Appended, error) {
	text, err := formatLine(number, list)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.open(); err != nil {
		return nil, err
	}
	if l.file != file {
		return nil, ErrOtherFile
	}
	last, err := lastNumber(l.f)
	if err != nil {
		return nil, err
	}
	if last != number-1 && last != number {
		return nil, ErrBehind
	}
	var end [1]byte
	size, err := l.f.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = l.f.ReadAt(end[:], size-1)
	}
	if err != nil {
		return nil, err
	}
	if end[0] != '\n' { // a process died while it wrote
		text = append([]byte("\n"), text...)
	}
	if _, err := l.f.Write(text); err != nil {
		return nil, errors.Join(err, l.f.Truncate(size))
	}
	return &Appended{number, l, l.f, size, size + int64(len(text))}, nil
}

// Sync waits until the line is on disk.
func (a *Appended) Sync() error { return a.f.Sync() }

// Retract removes the line from the log, unless another line was appended after it. The
// caller holds the database's lock for writing, and knows that the transaction was not
// committed.
func (a *Appended) Retract() error {
	a.log.mu.Lock()
	defer a.log.mu.Unlock()
	if err := a.log.open(); err != nil || a.log.f != a.f {
		return err
	}
	if info, err := a.f.Stat(); err != nil || info.Size() != a.end {
		return err
	}
	return a.f.Truncate(a.start)
}

// open opens the file at the path, unless it is open already.
func (l *Log) open() error {
	now, err := os.Stat(l.path)
	if err == nil && l.f != nil && os.SameFile(now, l.info) {
		return nil
	}
	l.closeFile()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBehind, err)
	}
	f, err := os.OpenFile(l.path, os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	s, err := readState(f)
	info, serr := f.Stat()
	if err := errors.Join(err, serr); err != nil {
		_ = f.Close()
		return fmt.Errorf("%w: %w", ErrBehind, err)
	}
	l.f, l.info, l.file = f, info, s.File
	return nil
}

func (l *Log) closeFile() {
	if l.f != nil {
		_ = l.f.Close()
		l.f = nil
	}
}

// Close closes the file. The next Append opens it again.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closeFile()
}

// Size returns the size of the file, or -1 if there is none.
func (l *Log) Size() int64 {
	info, err := os.Stat(l.path)
	if err != nil {
		return -1
	}
	return info.Size()
}

// SetAside renames the file, if there is one: it appends a suffix to the name.
func (l *Log) SetAside(suffix string) { _ = os.Rename(l.path, l.path+suffix) }

// dumpRows is how many rows one line of a dump holds.
const dumpRows = 200

// Write replaces the file by one with a header and the statements that dump adds, all
// with one number.
func (l *Log) Write(h Header, number int64, dump func(add func(Statement) error) error) error {
	dir := filepath.Dir(l.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".copy-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	out := bufio.NewWriterSize(f, 1<<16)
	writeLine := func(v any) error {
		text, err := formatLine(number, v)
		if err == nil {
			_, err = out.Write(text)
		}
		return err
	}
	var list []Statement
	lines := 0
	writeList := func() error {
		err := writeLine(list)
		list, lines = list[:0], lines+1
		return err
	}
	err = writeLine(newFirstLine(h, 0))
	if err == nil {
		err = dump(func(s Statement) error {
			if list = append(list, s); len(list) < dumpRows {
				return nil
			}
			return writeList()
		})
	}
	if err == nil && len(list) > 0 {
		err = writeList()
	}
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		var text []byte
		if text, err = formatLine(number, newFirstLine(h, lines)); err == nil {
			_, err = f.WriteAt(text, 0)
		}
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), l.path)
}
