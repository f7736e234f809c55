package config

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// A value is held as string (TypeString, TypePath), int64, bool, Duration,
// []string or commands. The errors in this file are the second half of a sentence that
// begins with the key.

// fromText reads a value as a flag, a variable or Key.Default gives it.
func (k Key) fromText(text, home, kind string) (any, error) {
	var value any
	var err error
	switch k.Type {
	case TypeInteger:
		value, err = parseInteger(text)
	case TypeBoolean:
		if value, err = strconv.ParseBool(strings.TrimSpace(text)); err != nil {
			err = fmt.Errorf("must be true or false, not %s", quote(text))
		}
	case TypeDuration:
		value, err = parseDuration(strings.TrimSpace(text))
	case TypeList:
		value = splitList(text)
	case TypeCommands:
		value = splitCommands(text)
	case TypePath:
		value, err = expandPath(text, home)
	default:
		value = text
	}
	if err != nil {
		return nil, err
	}
	return value, k.verify(value, kind)
}

// fromTOML takes a value as the TOML decoder gives it.
func (k Key) fromTOML(raw any, home, kind string) (any, error) {
	var value any
	var err error
	switch k.Type {
	case TypeInteger:
		value, err = asType[int64](raw, "an integer")
	case TypeBoolean:
		value, err = asType[bool](raw, "true or false")
	case TypeList:
		value, err = stringList(raw)
	case TypeCommands:
		var list []string
		if list, err = stringList(raw); err == nil {
			value = commands(list)
		}
	case TypeDuration:
		var text string
		if text, err = asType[string](raw, `a string such as "168h" or "7d"`); err == nil {
			value, err = parseDuration(text)
		}
	case TypePath:
		var text string
		if text, err = asType[string](raw, "a string"); err == nil {
			value, err = expandPath(text, home)
		}
	default:
		value, err = asType[string](raw, "a string")
	}
	if err != nil {
		return nil, err
	}
	return value, k.verify(value, kind)
}

// verify fails if a value of the right type is out of range, has characters or items
// that are not allowed, or fails the key's own check.
func (k Key) verify(value any, kind string) error {
	switch v := value.(type) {
	case int64:
		if v < k.min || v > k.max {
			return fmt.Errorf("must be between %d and %d, not %d", k.min, k.max, v)
		}
	case Duration:
		if int64(v) < k.min || int64(v) > k.max {
			return fmt.Errorf("must be between %s and %s, not %s", Duration(k.min), Duration(k.max), v)
		}
	case string:
		if strings.ContainsFunc(v, unicode.IsControl) {
			return fmt.Errorf("must not contain control characters: %s", quote(v))
		}
	case []string:
		if i := slices.IndexFunc(v, isBadItem); i >= 0 {
			return fmt.Errorf("must hold strings that are not empty, without commas and control characters, not %s", quote(v[i]))
		}
	case commands:
		if i := slices.IndexFunc(v, isBadCommand); i >= 0 {
			return fmt.Errorf("must hold commands of one line each, not %s", quote(v[i]))
		}
	}
	switch {
	case k.check != nil:
		return k.check(value, kind)
	case len(k.words) > 0:
		return checkOneOf(k.words...)(value, kind)
	}
	return nil
}

// isBadItem refuses the comma so that a list reads the same in a file and in a
// variable.
func isBadItem(item string) bool {
	return strings.TrimSpace(item) == "" || strings.Contains(item, ",") || strings.ContainsFunc(item, unicode.IsControl)
}

// commands is a list whose items may hold commas, as those of a shell do.
type commands []string

func isBadCommand(item string) bool {
	return strings.TrimSpace(item) == "" || strings.ContainsFunc(item, unicode.IsControl)
}

func splitCommands(text string) commands {
	list := commands{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

// format is the reverse of fromText.
func format(value any) string {
	if list, ok := value.([]string); ok {
		return strings.Join(list, ",")
	}
	if list, ok := value.(commands); ok {
		return strings.Join(list, "\n")
	}
	return fmt.Sprint(value)
}

// guardedSize returns the value of a guarded key, a Duration or an int64, as a number
// to compare.
func guardedSize(value any) int64 {
	if d, ok := value.(Duration); ok {
		return int64(d)
	}
	return value.(int64)
}

func asType[T any](raw any, want string) (T, error) {
	value, ok := raw.(T)
	if !ok {
		return value, fmt.Errorf("must be %s, not %s", want, describeType(raw))
	}
	return value, nil
}

func describeType(raw any) string {
	switch raw.(type) {
	case string:
		return "a string"
	case int64:
		return "an integer"
	case float64:
		return "a float"
	case bool:
		return "a boolean"
	case []any:
		return "an array"
	case map[string]any:
		return "a table"
	case time.Time:
		return "a date"
	}
	return "a date or a time"
}

func stringList(raw any) ([]string, error) {
	items, err := asType[[]any](raw, "an array of strings")
	if err != nil {
		return nil, err
	}
	list := make([]string, 0, len(items))
	for _, item := range items {
		text, ok := item.(string)
		if !ok {
			return nil, fmt.Errorf("must be an array of strings, but holds %s", describeType(item))
		}
		list = append(list, text)
	}
	return list, nil
}

func splitList(text string) []string {
	list := []string{}
	if strings.TrimSpace(text) == "" {
		return list
	}
	for item := range strings.SplitSeq(text, ",") {
		list = append(list, strings.TrimSpace(item))
	}
	return list
}

func parseInteger(text string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("is out of range: %s", quote(text))
	case err != nil:
		return 0, fmt.Errorf("must be an integer, not %s", quote(text))
	}
	return n, nil
}

// expandPath makes a path absolute by its "~/" alone: a relative one would
// mean another place from each directory that Croft is run in.
func expandPath(text, home string) (string, error) {
	if text == "" {
		return "", nil
	}
	full := text
	if rest, ok := strings.CutPrefix(filepath.ToSlash(text), "~"); ok && (rest == "" || rest[0] == '/') {
		if home == "" {
			return "", fmt.Errorf("cannot be %s: the home directory is not known", quote(text))
		}
		full = filepath.Join(home, filepath.FromSlash(rest))
	}
	if !filepath.IsAbs(full) {
		return "", fmt.Errorf("must be an absolute path, not %s", quote(text))
	}
	return filepath.Clean(full), nil
}

func checkNotEmpty(value any, _ string) error {
	if value == "" {
		return errors.New("must not be empty")
	}
	return nil
}

// checkContainerDir accepts an absolute directory below the root of a container.
func checkContainerDir(value any, _ string) error {
	if dir, ok := value.(string); !ok || !path.IsAbs(dir) || path.Clean(dir) != dir || dir == "/" {
		return errors.New("must be the absolute path of a directory, such as /workspace")
	}
	return nil
}

// checkRolesDir refuses an empty path and, in a repository's configuration, a path outside
// of the repository: files from there would be copied to where an agent reads them.
func checkRolesDir(value any, kind string) error {
	dir := value.(string)
	if dir == "" {
		return errors.New("must not be empty")
	}
	if kind == KindRepo && !filepath.IsLocal(filepath.FromSlash(dir)) {
		return fmt.Errorf("must lie inside the repository, not %s", quote(dir))
	}
	return nil
}

// checkPathTemplate refuses a template in a repository's configuration that places
// workspaces neither in the repository nor beside it: a committer must not choose any
// other directory of the user's.
func checkPathTemplate(value any, kind string) error {
	place := filepath.ToSlash(value.(string))
	if kind != KindRepo {
		return nil
	}
	if strings.HasPrefix(place, "{home}") || strings.HasPrefix(place, "~") || !filepath.IsLocal(filepath.FromSlash(strings.TrimPrefix(place, "../"))) && place != "" {
		return fmt.Errorf("must lie in the repository or beside it, not %s", quote(place))
	}
	return nil
}

// checkGlobs refuses patterns that could never match.
func checkGlobs(value any, _ string) error {
	for _, pattern := range value.([]string) {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("must hold patterns, not %s", quote(pattern))
		}
	}
	return nil
}

// checkRoleFiles keeps the copies inside the workspace and off its .git.
func checkRoleFiles(value any, _ string) error {
	for _, name := range value.([]string) {
		if !filepath.IsLocal(filepath.FromSlash(name)) || filepath.Clean(name) == "." {
			return fmt.Errorf("must name files inside a role's directory, not %s", quote(name))
		}
		if slices.ContainsFunc(strings.FieldsFunc(name, isSeparator), isGitDirName) {
			return fmt.Errorf("must not name a .git: %s", quote(name))
		}
	}
	return nil
}

func isSeparator(r rune) bool { return r == '/' || r == '\\' }

// isGitDirName also knows the other spellings under which Windows and macOS
// reach .git.
func isGitDirName(part string) bool {
	part = strings.TrimRight(part, ". ")
	return strings.EqualFold(part, ".git") || strings.EqualFold(part, "git~1")
}

// checkScratchName wants a single name that git and every file system take as it is.
func checkScratchName(value any, _ string) error {
	name, _ := value.(string)
	if name == "" {
		return nil
	}
	if name == "." || name == ".." || strings.EqualFold(name, ".git") || strings.HasPrefix(name, "-") || strings.ContainsAny(name, "/\\:*?[]<>|\"! \t\r\n\x00") {
		return fmt.Errorf("%q is not the name of a directory", name)
	}
	return nil
}
