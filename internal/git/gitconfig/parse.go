// Package gitconfig parses git's configuration syntax without git, and says how Croft
// treats each setting of a repository's own configuration, which an agent can write.
//
// Git itself cannot be used: it follows includes to any file, blocks on a pipe, and does
// not tell which bytes it has read. This parser takes a file that was read once, follows
// nothing, and fails where git would; a test compares both. The package reads files only
// in [ReadFile] and [FilterSettings].
package gitconfig

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
)

// MaxSize bounds the size of a configuration file.
const MaxSize = 1 << 20

// ErrConfig says that a repository's configuration file cannot be used: it is
// not a regular file, too large, or not in git's syntax.
var ErrConfig = errors.New("the repository's configuration cannot be used")

// ReadFile reads one configuration file of a repository, once, and parses it. It follows
// no symbolic link and no include, and never blocks. It fails with os.ErrNotExist if there
// is no file.
func ReadFile(file string) ([]Entry, error) {
	b, err := fsx.ReadFile(file, MaxSize)
	if err != nil {
		return nil, err
	}
	entries, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrConfig, file, err)
	}
	return entries, nil
}

// Parse parses git's configuration syntax. Sections and keys are in lower case, as git
// prints them; quoted subsections are kept as they are. It fails where git would.
func Parse(text []byte) ([]Entry, error) {
	p := &parser{text: strings.TrimPrefix(string(text), "\xef\xbb\xbf"), line: 1}
	if strings.IndexByte(p.text, 0) >= 0 {
		return nil, errors.New("a NUL byte")
	}
	var entries []Entry
	section := ""
	for {
		c := p.next()
		var err error
		switch {
		case p.eof:
			return entries, nil
		case isConfigSpace(c):
		case c == '#' || c == ';':
			for c != '\n' {
				c = p.next()
			}
		case c == '[':
			section, err = p.section()
			section += "."
		case isLetter(c):
			var e Entry
			if e, err = p.setting(c); err == nil {
				e.Key = section + e.Key
				entries = append(entries, e)
			}
		default:
			err = errBadConfig
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", p.line, err)
		}
	}
}

var errBadConfig = errors.New("not a section, a setting or a comment")

// parser reads a configuration file a byte at a time.
type parser struct {
	text string
	at   int
	line int
	eof  bool
}

// next returns the next byte. A carriage return before a newline is skipped, and the end
// of the file counts as a newline.
func (p *parser) next() byte {
	if strings.HasPrefix(p.text[p.at:], "\r\n") {
		p.at++
	}
	if p.at >= len(p.text) {
		p.eof = true
		return '\n'
	}
	c := p.text[p.at]
	p.at++
	if c == '\n' {
		p.line++
	}
	return c
}

func isConfigSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func isKeyByte(c byte) bool { return isLetter(c) || c >= '0' && c <= '9' || c == '-' }

// section parses the rest of [section], [section.sub] or [section "sub"].
func (p *parser) section() (string, error) {
	var name strings.Builder
	for {
		switch c := p.next(); {
		case p.eof:
			return "", errBadConfig
		case c == ']' && name.Len() == 0:
			return "", errBadConfig
		case c == ']':
			return strings.ToLower(name.String()), nil
		case isConfigSpace(c):
			sub, err := p.subsection(c)
			return strings.ToLower(name.String()) + "." + sub, err
		case isKeyByte(c) || c == '.':
			name.WriteByte(c)
		default:
			return "", errBadConfig
		}
	}
}

func (p *parser) subsection(c byte) (string, error) {
	for ; isConfigSpace(c); c = p.next() {
		if c == '\n' {
			return "", errBadConfig
		}
	}
	if c != '"' {
		return "", errBadConfig
	}
	var name strings.Builder
	for {
		c := p.next()
		if c == '"' {
			break
		}
		if c == '\\' {
			c = p.next()
		}
		if c == '\n' {
			return "", errBadConfig
		}
		name.WriteByte(c)
	}
	if p.next() != ']' {
		return "", errBadConfig
	}
	return name.String(), nil
}

// setting parses a key, whose first byte is given, and its value.
func (p *parser) setting(first byte) (Entry, error) {
	key := []byte{first}
	c := p.next()
	for ; isKeyByte(c); c = p.next() {
		key = append(key, c)
	}
	for c == ' ' || c == '\t' {
		c = p.next()
	}
	e := Entry{Key: strings.ToLower(string(key))}
	switch c {
	case '\n':
		e.Bare = true
		return e, nil
	case '=':
		var err error
		e.Value, err = p.value()
		return e, err
	}
	return e, errBadConfig
}

// value parses a value up to the end of its line, or of its last continuation line.
func (p *parser) value() (string, error) {
	var b strings.Builder
	isQuoted, spaces := false, 0
	for {
		c := p.next()
		switch {
		case c == '\n' && isQuoted:
			return "", errors.New("a quote that does not end")
		case c == '\n':
			return b.String(), nil
		case isConfigSpace(c) && !isQuoted:
			if b.Len() > 0 {
				spaces++
			}
			continue
		case (c == '#' || c == ';') && !isQuoted:
			for c != '\n' {
				c = p.next()
			}
			return b.String(), nil
		}
		b.WriteString(strings.Repeat(" ", spaces))
		spaces = 0
		switch c {
		case '"':
			isQuoted = !isQuoted
			continue
		case '\\':
			c = p.next()
			if c == '\n' {
				if p.eof {
					return b.String(), nil
				}
				continue
			}
			i := strings.IndexByte(`tbn\"`, c)
			if i < 0 {
				return "", fmt.Errorf("\\%c is no escape", c)
			}
			c = "\t\b\n\\\""[i]
		}
		b.WriteByte(c)
	}
}

// FilterSettings lists the filter settings in a repository's configuration and in the
// files that it includes, under any condition. They are read to know which filters exist;
// they are not used.
func FilterSettings(entries []Entry, file, home string, depth int) []Entry {
	var found []Entry
	for _, e := range entries {
		if _, ok := Subsection(e.Key, "filter."); ok {
			found = append(found, e)
		}
		isInclude := e.Key == "include.path" || strings.HasPrefix(e.Key, "includeif.") && strings.HasSuffix(e.Key, ".path")
		if !isInclude || depth == 0 || e.Value == RoleInclude {
			continue
		}
		path := IncludedFile(e.Value, file, home)
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
			continue // a pipe is not even opened
		}
		if more, err := ReadFile(path); err == nil {
			found = append(found, FilterSettings(more, path, home, depth-1)...)
		}
	}
	return found
}

// IncludeDepth bounds how deep includes are followed.
const IncludeDepth = 5

// IncludedFile returns the path of the file that an include in the file in names.
func IncludedFile(path, in, home string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(home, rest)
	}
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(in), path)
}
