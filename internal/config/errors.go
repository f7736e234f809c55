package config

import (
	"fmt"
	"slices"
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

// valueError is the error for a value that cannot be used where it stands.
func valueError(at Source, key string, problem error) *croft.Error {
	return configError(at, key+" "+problem.Error())
}

func configError(at Source, problem string) *croft.Error {
	return &croft.Error{
		Code:    croft.ConfigInvalid,
		Op:      "config",
		Message: oneLine(at.String() + ": " + problem),
	}
}

// allSettings is the command that lists every key.
const allSettings = "croft config --all"

// meant stands in a message before the key that is nearest to the one that is unknown.
const meant = ", did you mean "

// unknownKeyError names the nearest of the keys that may stand there.
func unknownKeyError(at Source, keys []Key, name string) *croft.Error {
	err := configError(at, "unknown key "+name)
	if near := nearest(keys, name); near != "" {
		err.Message += meant + near + "?"
	}
	err.Hint = allSettings
	return err
}

// noFileError is the error for a key that no file may have.
func noFileError(at Source, key Key) *croft.Error {
	err := configError(at, key.Name+" cannot be set in a file")
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

// nearest is the key or table that was probably meant, or "". A name that is
// right but in the wrong table counts as near.
func nearest(keys []Key, name string) string {
	const longestTypo = 64
	if len(name) > longestTypo {
		return ""
	}
	name = strings.ToLower(name)
	best, bestScore := "", len(name)/3+1
	consider := func(candidate string, score int) {
		if score < bestScore {
			best, bestScore = candidate, score
		}
	}
	for _, table := range provisionTables() {
		consider(table, editDistance(name, table))
		if i := strings.LastIndex(name, "."); i > 0 { // a key of such a table
			consider(table, editDistance(name[:i], table)+1)
		}
	}
	for _, key := range keys {
		if table := key.table(); table != "" {
			consider(table, editDistance(name, table))
		}
		consider(key.Name, editDistance(name, key.Name))
		consider(key.Name, editDistance(lastPart(name), key.last())+1)
	}
	return best
}

// nearestWord returns the word that was probably meant, or "".
func nearestWord(words []string, name string) string {
	best, bestScore := "", len(name)/3+1
	for _, word := range words {
		if score := editDistance(strings.ToLower(name[:min(len(name), 64)]), word); score < bestScore {
			best, bestScore = word, score
		}
	}
	return best
}

// editDistance is the number of letters to insert, delete or replace to get from
// one word to the other.
func editDistance(from, to string) int {
	source, target := []rune(from), []rune(to)
	row := make([]int, len(target)+1)
	for j := range row {
		row[j] = j
	}
	for i, s := range source {
		diagonal := row[0]
		row[0] = i + 1
		for j, t := range target {
			replace := diagonal
			if s != t {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(target)]
}

// keysBeside returns the names of the keys that are in the table of a name; none for a name without a table.
func keysBeside(keys []Key, name string) (names []string) {
	for _, key := range keys {
		if table := key.table(); table != "" && strings.HasPrefix(name, table+".") {
			names = append(names, key.Name)
		}
	}
	return names
}

// fileKeys returns the keys that a configuration file, the user's or a repository's, may
// have.
func fileKeys(keys []Key) []Key {
	return slices.DeleteFunc(slices.Clone(keys), func(k Key) bool { return k.Guard == GuardNoFile })
}
