package check

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

const (
	logHalf = 512 << 10 // how many bytes of the beginning of an output are kept, and of its end
	logTail = 4 << 10   // how many bytes of its end a result has
	maxLogs = 200       // how many log files are kept
)

// log is the log file of a check. The beginning of the output is written as it comes,
// the end when the check has ended. Output that cannot be written is lost: a check
// passes or fails whether or not its output can be kept.
type log struct {
	path string

	mu    sync.Mutex
	f     *os.File
	begun int   // bytes of the beginning that were written
	all   int64 // bytes of output so far
	end   []byte
}

// newLog makes the next log file of a label, and deletes the oldest log files.
func newLog(dir, label, command string) (*log, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	deleteOldest(dir, maxLogs-1)
	for n := 1; ; n++ {
		path := filepath.Join(dir, label+"-"+strconv.Itoa(n)+".log")
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		_, _ = f.WriteString("$ " + command + "\n")
		return &log{path: path, f: f}, nil
	}
}

// Log is the log file of a command that is no check, such as one that sets a workspace up.
type Log struct{ log *log }

// NewLog makes the next log file of a label in dir, and deletes the oldest ones there.
func NewLog(dir, label, command string) (*Log, error) {
	l, err := newLog(dir, label, command)
	return &Log{l}, err
}

// Path is where the file is.
func (l *Log) Path() string { return l.log.path }

// Writer returns what the command writes to; other gets all of it, too, unless it is nil.
func (l *Log) Writer(other io.Writer) io.Writer {
	if other == nil {
		return l.log
	}
	return io.MultiWriter(l.log, other)
}

// Tail returns the end of the output.
func (l *Log) Tail() string { return l.log.tail() }

// Close writes what is left, and closes the file.
func (l *Log) Close() { l.log.close() }

// deleteOldest deletes the oldest files of a directory but keep of them.
func deleteOldest(dir string, keep int) {
	entries, _ := os.ReadDir(dir)
	var files []os.FileInfo
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && strings.HasSuffix(entry.Name(), ".log") {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b os.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	for _, f := range files[:max(len(files)-keep, 0)] {
		_ = os.Remove(filepath.Join(dir, f.Name()))
	}
}

// Write never fails.
func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all += int64(len(b))
	if n := min(logHalf-l.begun, len(b)); n > 0 {
		l.begun += n
		_, _ = l.f.Write(b[:n])
	}
	l.end = append(l.end, b...)
	if over := len(l.end) - logHalf; over > logHalf {
		l.end = l.end[:copy(l.end, l.end[over:])]
	}
	return len(b), nil
}

// remark writes a sentence of Croft's to the log.
func (l *log) remark(text string) {
	if n := len(l.end); n > 0 && l.end[n-1] != '\n' {
		text = "\ncroft: " + text
	} else {
		text = "croft: " + text
	}
	_, _ = l.Write([]byte(text + "\n"))
}

// close writes the end of a long output.
func (l *log) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := l.all - int64(l.begun)
	if rest > 0 {
		end := l.end[max(len(l.end)-logHalf, 0):]
		if left := rest - int64(len(end)); left > 0 {
			_, _ = fmt.Fprintf(l.f, "\n[croft: %d bytes are left out here]\n", left)
		} else {
			end = end[int64(len(end))-rest:]
		}
		_, _ = l.f.Write(end)
	}
	_ = l.f.Close()
}

// tail returns the end of the output, in whole lines if it has any.
func (l *log) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.end
	if len(text) > logTail {
		text = text[len(text)-logTail:]
		if i := slices.Index(text, '\n'); i >= 0 && i+1 < len(text) {
			text = text[i+1:]
		}
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}
