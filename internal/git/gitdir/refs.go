package gitdir

import (
	"errors"
	"os"
	"strings"
	"syscall"

	"github.com/croft-sh/croft/internal/fsx"
)

// ReadRefFile reads a loose ref. If there is a directory at the path, or a file in the
// place of a directory above, there is no ref; a symbolic link or a pipe is an error.
func ReadRefFile(file string) ([]byte, error) {
	b, err := fsx.ReadSmall(file)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return b, err
	}
	info, serr := os.Lstat(file)
	if errors.Is(serr, syscall.ENOTDIR) || serr == nil && info.IsDir() {
		return nil, os.ErrNotExist
	}
	return nil, err
}

// ParseRefFile returns the content of a loose ref and, if it is a symbolic ref, its
// target.
func ParseRefFile(b []byte) (text, next string) {
	text = strings.TrimSpace(string(b))
	if name, ok := strings.CutPrefix(text, "ref:"); ok {
		next = strings.TrimSpace(name)
	}
	return text, next
}

// IsRefName reports whether a name can be that of a ref, by git's rules.
func IsRefName(name string) bool {
	if !strings.HasPrefix(name, "refs/") || strings.HasSuffix(name, ".") || strings.Contains(name, "..") || strings.Contains(name, "@{") {
		return false
	}
	for _, c := range []byte(name) {
		if c <= ' ' || c == 0x7f || strings.IndexByte(`~^:?*[\`, c) >= 0 {
			return false
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}
