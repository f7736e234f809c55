package snapshot

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/git"
)

// plain lists the tracked files.
func (s *saver) plain() []string {
	var paths []string
	for _, e := range s.index {
		if e.Stage == 0 && strings.HasPrefix(e.Mode, "100") && !e.Hidden() {
			paths = append(paths, e.Path)
		}
	}
	return paths
}

// surveyConverted finds files that git calls unchanged and that a checkout
// would nevertheless write otherwise: git compares what a filter or the
// settings of line endings make of a file, and several files may become the
// same.
func (s *saver) surveyConverted(found map[string]git.Conversion) error {
	for _, e := range s.index {
		c, ok := found[e.Path]
		_, stored := s.files[e.Path]
		_, gone := s.deleted[e.Path]
		if !ok || stored || gone || e.Stage > 0 {
			continue
		}
		if err := s.addConverted(e.Path, e.OID, c); err != nil {
			return err
		}
	}
	return nil
}

func (s *saver) addConverted(path, staged string, c git.Conversion) error {
	f, err := openFile(filepath.Join(s.root, path))
	if err != nil {
		return err
	}
	defer f.Close()
	raw, same, err := s.compare(f, staged)
	switch {
	case err != nil:
		return err
	case c.Filter == "lfs" && !same, c.Filter == "" && !c.CRLF && same:
		return nil // a large file comes back exactly, and so does one that is as it is stored
	case c.Filter == "" && c.CRLF && !same && allCRLF(f):
		return nil
	case same:
		s.files[path] = raw
	default:
		s.files[path] = ""
	}
	return nil
}

// compare reports whether a file's bytes are those of an object.
func (s *saver) compare(f *os.File, oid string) (string, bool, error) {
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
