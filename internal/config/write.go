package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/tomledit"
)

// Change is a value for a key in a file.
type Change struct {
	Key   string
	Items []string // as a flag has the value; of a list as many as it is to have
	Root  string   // of the checkout whose croft.toml is written; empty: the user's own file is
}

// Write writes a value into a file, and returns it with its place. Everything else of the file stays. What the file
// could not have, or would have in vain, is refused.
func Write(in Input, c Change) (*Value, error) {
	set, err := Load(Input{Environ: in.Environ, Home: in.Home})
	if err != nil {
		return nil, err
	}
	file := Source{Kind: KindUser, Name: newEnviron(in.Environ).userFile(set.home)}
	if c.Root != "" {
		file = Source{Kind: KindRepo, Name: filepath.Join(c.Root, "croft.toml")}
	}
	key, value, err := set.writable(c, file)
	if err != nil {
		return nil, err
	}
	before, err := readFile(file)
	if err != nil {
		return nil, err
	}
	after, line, err := tomledit.Set(before, key.table(), key.last(), literal(value))
	if err == nil {
		_, err = parseDocument(file, after, set.keys)
	}
	if err != nil {
		return nil, syntaxError(file, err)
	}
	if err = replaceFile(file, before, after); err != nil {
		return nil, err
	}
	file.Line = line
	return &Value{Key: key.Name, Value: format(value), Source: file}, nil
}

// writable returns the key and the value of a change, if a file may have them.
func (s *Set) writable(c Change, file Source) (Key, any, error) {
	refuse := func(problem, hint string) *croft.Error {
		return &croft.Error{Code: croft.ConfigInvalid, Op: "config set", Message: oneLine(c.Key + " " + problem), Hint: hint}
	}
	key, known := findKey(s.keys, c.Key)
	switch {
	case !known:
		e := refuse("is no setting", "croft config --all")
		if near := nearest(fileKeys(s.keys), c.Key); near != "" {
			e.Hint = "croft config get " + near
		} else if beside := keysBeside(fileKeys(s.keys), c.Key); len(beside) > 0 {
			e.Details = strings.Join(beside, "\n")
		}
		return key, nil, e
	case key.Guard == GuardNoFile:
		return key, nil, refuse("cannot be set in a file", "export "+key.Env()[0]+"=DIR")
	case file.Name == "":
		return key, nil, refuse("has no file of yours to stand in: the home directory is not known", "")
	case key.Guard == GuardUser && file.Kind == KindRepo:
		return key, nil, refuse("counts in your own configuration only", "croft config set --user "+key.Name+" "+shellWords(c.Items))
	}
	between := map[string]string{TypeList: ",", TypeCommands: "\n"}[key.Type]
	if between == "" && len(c.Items) > 1 {
		return key, nil, refuse("has one value, not "+strconv.Itoa(len(c.Items)), "")
	}
	text := strings.Join(c.Items, between)
	if !utf8.ValidString(text) {
		return key, nil, refuse("cannot be "+quote(text)+", which is not UTF-8", "")
	}
	value, err := key.fromText(text, s.home, file.Kind)
	if err == nil {
		err = checkLayout(key.Name, text)
	}
	if err != nil {
		return key, nil, refuse(err.Error(), "croft config get "+key.Name)
	}
	if own := s.withoutRepo(key.Name); file.Kind == KindRepo && isLooser(key.Guard, own.value, value) {
		return key, nil, refuse(fmt.Sprintf("= %s would be ignored: a repository may only %s, and it is %s (%s)", format(value), guardPhrase(key.Guard), format(own.value), own.source), "")
	}
	return key, value, nil
}

// shellWords writes values as words of a shell.
func shellWords(items []string) string {
	var words []string
	for _, item := range items {
		isSpecial := func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-/@%+:,", r)
		}
		if item == "" || strings.ContainsFunc(item, isSpecial) {
			item = "'" + strings.ReplaceAll(item, "'", `'\''`) + "'"
		}
		words = append(words, item)
	}
	return oneLine(strings.Join(words, " "))
}

// literal writes a value as TOML.
func literal(value any) string {
	switch v := value.(type) {
	case int64, bool:
		return fmt.Sprint(v)
	case commands:
		return listLiteral(v)
	case []string:
		return listLiteral(v)
	}
	return textLiteral(format(value))
}

// textLiteral writes a text as TOML. It has no control characters, so that nothing but the quote and the backslash has to be escaped.
func textLiteral(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// listLiteral writes a list on one line, or, if that were long, an item a line.
func listLiteral(items []string) string {
	const longestLine = 80
	var texts []string
	for _, item := range items {
		texts = append(texts, textLiteral(item))
	}
	if line := "[" + strings.Join(texts, ", ") + "]"; len(line) <= longestLine {
		return line
	}
	return "[\n  " + strings.Join(texts, ",\n  ") + ",\n]"
}

// destination returns where a file is written. A link in the place of croft.toml is not followed, also one that an agent puts there
// after the file was read.
func destination(at Source) string {
	if at.Kind == KindUser {
		if real, err := filepath.EvalSymlinks(at.Name); err == nil {
			return real
		}
	}
	return at.Name
}

// replaceFile writes a file anew, if it is still the one that was read. The user's own may be a link to it.
func replaceFile(at Source, before, after []byte) (err error) {
	defer func() {
		if err != nil {
			e := configError(at, "could not be written")
			e.Code, e.Err, e.Details = croft.NotWritable, err, err.Error()
			err = e
		}
	}()
	path, mode := destination(at), os.FileMode(0o644)
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
		mode = info.Mode().Perm()
	}
	if err = os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".croft-*.toml")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // it is gone if all went well
	_, err = f.Write(after)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	if now, err := readFile(at); err != nil || !bytes.Equal(now, before) {
		return errors.Join(errors.New("another process has written it meanwhile: try again"), err)
	}
	return os.Rename(f.Name(), path)
}
