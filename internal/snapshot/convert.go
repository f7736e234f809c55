package snapshot

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
)

// surveyConverted finds files that are as they were staged but that a checkout would
// write differently, because it converts them. Files that changed since they were
// staged are noted or stored already.
func (s *saver) surveyConverted(found map[string]git.Conversion, w *walk) error {
	var filtered []string
	for path, c := range found {
		i := s.plain[path]
		_, stored := s.files[path]
		gone := s.deleted[path]
		switch {
		case stored || gone:
		case c.Filter != "":
			filtered = append(filtered, path)
		case w.as[i] != suspect: // it is as it was staged, and would get other line endings
			s.files[path] = s.index.Entries[i].OID
		}
	}
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(parallelWrites)
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

// largePointer is more than the size of the pointer that git-lfs stores for a large
// file.
const largePointer = 1024

// judgeFiltered reports whether a file that git calls unchanged has to be stored as it
// is on disk, and the name of its object if the repository has it. Croft cannot know
// what a filter will write at a checkout, except for git-lfs, which writes large files
// exactly.
func (s *saver) judgeFiltered(path, staged, filter string) (string, bool, error) {
	full := filepath.Join(s.root, path)
	info, err := os.Lstat(full)
	if err != nil || filter == "lfs" && info.Size() > largePointer {
		return "", false, err
	}
	raw, err := hashFile(s.w.Repo, full)
	switch {
	case err != nil || filter == "lfs" && raw != staged:
		return "", false, err
	case raw == staged:
		return raw, true, nil
	}
	return "", true, nil
}

// isSameAfterCheckout reports whether a checkout of an object would write a file as it
// is, although their bytes differ: git would write CRLF line endings, and the file has
// no others.
func (s *saver) isSameAfterCheckout(full, staged string) (bool, error) {
	text, err := fsx.ReadFile(full, largeText)
	if errors.Is(err, fsx.ErrTooLarge) {
		return false, nil
	}
	if err != nil || !hasOnlyCRLF(text) || bytes.ContainsFunc(text, isControl) {
		return false, err // git may not treat it as text
	}
	plain := bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	oid, err := s.w.Repo.HashBlob(bytes.NewReader(plain), int64(len(plain)))
	return oid == staged, err
}

// isControl reports whether git counts a character as a sign that a file is not text.
func isControl(c rune) bool {
	return c < ' ' && c != '\r' && c != '\n' && c != '\t' && c != '\b' && c != '\f' && c != '\x1b' || c == '\x7f'
}

// largeText is the size above which a file is stored rather than read into memory.
const largeText = 16 << 20

// hasOnlyCRLF reports whether every carriage return and every newline of a text is part
// of a CRLF.
func hasOnlyCRLF(text []byte) bool {
	pairs := bytes.Count(text, []byte("\r\n"))
	return pairs == bytes.Count(text, []byte("\r")) && pairs == bytes.Count(text, []byte("\n"))
}
