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
	maxBorrowing  = 6       // how far git follows one that leads to another
	maxStores     = 256     // more than anybody borrows from
)

// AlternatesOf lists an object directory and all that it borrows from, the nearest
// first.
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
					continue // git passes over it too
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

// ReadAlternates returns the directories that an object directory names. A file that
// git could read in another way than this is refused: after the end of a quoted path
// git goes on in the same line, and a zero byte ends the file for it.
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

// QuoteAlternate writes a path as git reads it in a list of alternates.
func QuoteAlternate(path string) string {
	path = filepath.ToSlash(path)
	if !strings.ContainsAny(path, "\n\"\\") {
		return path
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
}

// QuoteInList writes a path as git reads it in a variable that lists several.
func QuoteInList(path string) string {
	if strings.ContainsRune(path, os.PathListSeparator) || strings.HasPrefix(path, `"`) {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
	}
	return path
}

// GlobLiteral keeps a path from being taken for a pattern.
func GlobLiteral(path string) string {
	if filepath.Separator == '\\' {
		return path // there is no escape there, and brackets are rare
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
