package snapshot

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
)

// surveyConverted finds files that are as they were staged and that a checkout
// would nevertheless write otherwise, because it converts them. The suspects
// that changed are noted or stored already.
func (s *saver) surveyConverted(found map[string]git.Conversion, w *walk) error {
	var filtered []string
	for path, c := range found {
		i := s.plain[path]
		_, stored := s.files[path]
		_, gone := s.deleted[path]
		switch {
		case stored || gone:
		case c.Filter != "":
			filtered = append(filtered, path)
		case w.as[i] != suspect: // it is what is staged, and would get other line endings
			s.files[path] = s.index.Entries[i].OID
		}
	}
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(writers)
	for _, path := range filtered {
		g.Go(func() error {
			raw, keep, err := s.judgeFiltered(path, s.index.Entries[s.plain[path]].OID, found[path].Filter)
			if keep {
				mu.Lock()
				defer mu.Unlock()
				s.files[path] = raw
			}
			return err
		})
	}
	return g.Wait()
}

// largePointer is more than git-lfs writes for a large file.
const largePointer = 1024

// judgeFiltered reports whether a file that git calls unchanged has to be stored
// as it is on disk, and the name of its object if that is there. What a filter
// will write is not known, but for large files: they come back exactly.
func (s *saver) judgeFiltered(path, staged, filter string) (string, bool, error) {
	f, err := fsx.Open(filepath.Join(s.root, path))
	if err != nil {
		return "", false, err
	}
	defer f.Close()
	if info, err := f.Stat(); filter == "lfs" && (err != nil || info.Size() > largePointer) {
		return "", false, err
	}
	raw, same, err := s.equalsObject(f, staged)
	switch {
	case err != nil || filter == "lfs" && !same:
		return "", false, err
	case same:
		return raw, true, nil
	}
	return "", true, nil
}

// comesBack reports whether a checkout of an object would write a file as it is,
// although they differ: git writes line endings of Windows, and the file has
// nothing else.
func (s *saver) comesBack(full, staged string) (bool, error) {
	f, err := fsx.Open(full)
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() > largeText {
		return false, err
	}
	text, err := io.ReadAll(f)
	if err != nil || !allCRLF(bytes.NewReader(text)) || bytes.ContainsFunc(text, isControl) {
		return false, err // git may take it for no text at all
	}
	plain := bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	oid, err := s.w.Repo.HashBlob(bytes.NewReader(plain), int64(len(plain)))
	return oid == staged, err
}

// isControl reports whether git counts a character against a file's being text.
func isControl(c rune) bool {
	return c < ' ' && c != '\r' && c != '\n' && c != '\t' && c != '\b' && c != '\f' && c != '\x1b' || c == '\x7f'
}

// largeText is the size above which a file is stored rather than read into
// memory.
const largeText = 16 << 20

// equalsObject reports whether a file's bytes are those of an object.
func (s *saver) equalsObject(f *os.File, oid string) (string, bool, error) {
	info, err := f.Stat()
	if err != nil {
		return "", false, err
	}
	raw, err := s.w.Repo.HashBlob(f, info.Size())
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	return raw, raw == oid, err
}

// allCRLF reports whether every line ends in a carriage return and a newline,
// and there is neither of them elsewhere.
func allCRLF(f io.Reader) bool {
	var last byte
	for r := bufio.NewReader(f); ; {
		b, err := r.ReadByte()
		if err != nil {
			return errors.Is(err, io.EOF) && last != '\r'
		}
		if (last == '\r') != (b == '\n') {
			return false
		}
		last = b
	}
}
