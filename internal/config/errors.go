package config

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/croft-sh/croft"
)

// String is the place as messages name it: a file and a line, a variable, or
// the kind alone.
func (s Source) String() string {
	switch {
	case s.Line > 0:
		return fmt.Sprintf("%s:%d", s.Name, s.Line)
	case s.Name != "":
		return s.Name
	}
	return s.Kind
}

// invalid is the error for a value that cannot be used where it stands.
func invalid(at Source, key string, problem error) *croft.Error {
	return refused(at, key+" "+problem.Error())
}

func refused(at Source, problem string) *croft.Error {
	return &croft.Error{
		Code:    croft.ConfigInvalid,
		Op:      "config",
		Message: oneLine(at.String() + ": " + problem),
	}
}

// unknownKey names the nearest of the keys that may stand there.
func unknownKey(at Source, keys []Key, name string) *croft.Error {
	err := refused(at, "unknown key "+name)
	if near := nearest(keys, name); near != "" {
		err.Hint = fmt.Sprintf("did you mean %s?", near)
	}
	return err
}

// noFile is the error for a key that no file may have.
func noFile(at Source, key Key) *croft.Error {
	err := refused(at, key.Name+" cannot be set in a file")
	err.Hint = "export " + key.Env()[0] + "=DIR"
	return err
}

// quote makes any text from outside safe to print, and short.
func quote(text string) string {
	const most = 80
	if short := []rune(text); len(short) > most {
		text = string(short[:most]) + "…"
	}
	return strconv.Quote(text)
}

// oneLine keeps what files and paths contain from reaching the terminal as
// control sequences.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
