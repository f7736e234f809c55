package gitconfig

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Entry is one setting with the scope and the name of the file that it came from.
type Entry struct {
	Scope, File, Key, Value string
	Bare                    bool // a key without a value, which means true
}

// IsOfUser reports whether the setting is the user's or the system's, and not the
// repository's.
func (e Entry) IsOfUser() bool { return e.Scope == "global" || e.Scope == "system" }

// IsCommand reports whether a setting of a filter is a command.
func (e Entry) IsCommand() bool { return !strings.HasSuffix(e.Key, ".required") }

// Subsection returns the middle part of a key such as filter.lfs.clean.
func Subsection(key, section string) (string, bool) {
	rest, ok := strings.CutPrefix(key, section)
	i := strings.LastIndexByte(rest, '.')
	if !ok || i <= 0 {
		return "", false
	}
	return rest[:i], true
}

// ParseList parses `git config --list -z --show-scope --show-origin`: a scope, an origin,
// and a key and its value with a newline between them, each terminated by NUL.
func ParseList(out []byte) ([]Entry, error) {
	var entries []Entry
	fields := strings.Split(string(out), "\x00")
	if len(fields)%3 != 1 || fields[len(fields)-1] != "" {
		return nil, fmt.Errorf("configuration: output ends within an entry: %w", io.ErrUnexpectedEOF)
	}
	for f := range slices.Chunk(fields[:len(fields)-1], 3) {
		key, value, hasValue := strings.Cut(f[2], "\n")
		if f[0] == "" || !strings.Contains(key, ".") {
			return nil, fmt.Errorf("configuration: not an entry: %q", f)
		}
		entries = append(entries, Entry{f[0], strings.TrimPrefix(f[1], "file:"), key, value, !hasValue})
	}
	return entries, nil
}

// Write writes a setting in the syntax of a configuration file.
func Write(b *bytes.Buffer, e Entry) {
	first, last := strings.IndexByte(e.Key, '.'), strings.LastIndexByte(e.Key, '.')
	if first < 0 {
		return
	}
	b.WriteString("[" + e.Key[:first])
	if last > first {
		b.WriteString(` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(e.Key[first+1:last]) + `"`)
	}
	b.WriteString("]\n\t" + e.Key[last+1:])
	if !e.Bare {
		b.WriteString(` = "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`).Replace(e.Value) + `"`)
	}
	b.WriteString("\n")
}

// Setting is one key and its value.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Setting returns the key with its value; a key without a value is true.
func (e Entry) Setting() Setting {
	if e.Bare {
		return Setting{e.Key, "true"}
	}
	return Setting{e.Key, e.Value}
}

// IsTrue reports whether git takes a value for true.
func IsTrue(v string) bool {
	switch strings.ToLower(v) {
	case "true", "yes", "on", "1":
		return true
	}
	return false
}

// RoleInclude is the path, relative to the common directory, of the included configuration
// that names the ignore file of Croft's worktrees. It is for the git that agents run.
const RoleInclude = "croft/gitconfig"

// Quote quotes a value for a git configuration file.
func Quote(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(value) + `"`
}
