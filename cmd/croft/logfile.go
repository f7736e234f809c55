package main

import (
	"os"
	"sync"
)

// maxLog is how long the log of a daemon becomes before it is begun anew.
const maxLog = 16 << 20

// logFile is the log of a daemon. When it has become long it is kept under another name, in place
// of the one from before, and begun anew: who can make the daemon log, by requests that it refuses,
// must not fill the disk.
type logFile struct {
	path string
	most int64

	mu   sync.Mutex
	file *os.File
	size int64
}

func openLogFile(path string, most int64) (*logFile, error) {
	l := &logFile{path: path, most: most}
	return l, l.open()
}

// open opens the file, and moves one away that is long.
func (l *logFile) open() error {
	if sizeOf(l.path) >= l.most {
		_ = os.Rename(l.path, l.path+".old")
	}
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if l.file != nil {
		_ = l.file.Close()
	}
	l.file, l.size = f, sizeOf(l.path)
	return nil
}

// Write appends a line.
func (l *logFile) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size >= l.most && l.open() != nil {
		l.size = 0 // the file that is open is written to, and another try made later
	}
	n, err := l.file.Write(line)
	l.size += int64(n)
	return n, err
}

// Close closes the file.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}
