package gitdir

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
)

const (
	maxAlternates = 1 << 20 // bytes of one file
	maxBorrowing  = 6       // how many alternates git follows one after another
	maxStores     = 256     // more than any repository has
)

// AlternatesOf lists an object directory and all its alternates, the nearest first.
func AlternatesOf(objects string) ([]string, error) {
	dirs := []string{objects}
	for depth, level := 0, dirs; depth < maxBorrowing && len(level) > 0; depth++ {
		var next []string
		for _, dir := range level {
			lines, err := ReadAlternates(dir)
			if err != nil {
				return nil, err
			}
			for _, dir := range lines {
				if info, err := os.Stat(dir); err != nil || !info.IsDir() || slices.Contains(dirs, dir) {
					continue // git skips it, too
				}
				if dirs, next = append(dirs, dir), append(next, dir); len(dirs) > maxStores {
					return nil, fmt.Errorf("%s borrows from more than %d directories: %w", objects, maxStores, fsx.ErrNotPlain)
				}
			}
		}
		level = next
	}
	return dirs, nil
}

// ReadAlternates returns the alternates that an object directory names. It refuses a file
// that git could parse differently: after the end of a quoted path git continues in the
// same line, and a NUL byte ends the file for git.
func ReadAlternates(objects string) ([]string, error) {
	b, err := fsx.ReadFile(filepath.Join(objects, "info", "alternates"), maxAlternates)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	unclear := func() error {
		return fmt.Errorf("%s: %w", filepath.Join(objects, "info", "alternates"), fsx.ErrNotPlain)
	}
	if bytes.IndexByte(b, 0) >= 0 {
		return nil, unclear()
	}
	var dirs []string
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		path, err := UnquotePath(line)
		if err != nil {
			return nil, unclear()
		}
		line = path
		if !filepath.IsAbs(line) {
			line = filepath.Join(objects, line)
		}
		dirs = append(dirs, filepath.Clean(line))
	}
	return dirs, nil
}

// QuoteAlternate quotes a path for a file of alternates.
func QuoteAlternate(path string) string {
	path = filepath.ToSlash(path)
	if !strings.ContainsAny(path, "\n\"\\") {
		return path
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
}

// QuoteInList quotes a path for an environment variable of git's that has a list.
func QuoteInList(path string) string {
	if strings.ContainsRune(path, os.PathListSeparator) || strings.HasPrefix(path, `"`) {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
	}
	return path
}

// GlobLiteral escapes a path so that it is not taken for a pattern.
func GlobLiteral(path string) string {
	if filepath.Separator == '\\' {
		return path // there is no escape on this system, and brackets are rare
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
