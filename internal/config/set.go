package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
)

// Input is what configuration comes from, besides files.
type Input struct {
	Environ []string          // KEY=value, as from os.Environ
	Home    string            // the user's home directory; "" means HOME, or USERPROFILE, of Environ
	Flags   map[string]string // from dotted key to value
}

// setting is a value and where it came from.
type setting struct {
	value  any
	source Source
}

// layer is what one source sets, by key.
type layer map[string]setting

// Set is the settings of all sources. It does not change once it is made.
type Set struct {
	keys     []Key
	home     string
	defaults layer
	user     layer
	repo     layer
	env      layer
	flags    layer
	warnings []string // of the repository's file: what it may not set
	problems []string // of the repository's file: what cannot be used
	own      []string // of the user's file: keys that are not known
}

// Load reads defaults, the user's file, the environment and the flags. What
// cannot be used is ConfigInvalid.
func Load(in Input) (*Set, error) {
	env := newEnviron(in.Environ)
	s := &Set{keys: Keys(), home: env.home(in.Home)}
	var err error
	if s.flags, err = flagLayer(in.Flags, s.keys, s.home); err != nil {
		return nil, err
	}
	if s.env, err = env.layer(s.keys, s.home); err != nil {
		return nil, err
	}
	if s.user, s.own, err = userLayer(env.userFile(s.home), s.keys, s.home); err != nil {
		return nil, err
	}
	if s.defaults, err = s.defaultLayer(); err != nil {
		return nil, err
	}
	return s, nil
}

// ForRepo returns the same with croft.toml of a repository's root laid between
// the user's file and the environment. Without such a file, or without a root,
// nothing changes. What cannot be used of it is left out and is one of the
// Problems: an agent that can write the file could lock every user out otherwise.
func (s *Set) ForRepo(root string) *Set {
	if root == "" {
		return s.withRepo(document{})
	}
	file := Source{Kind: KindRepo, Name: filepath.Join(root, "croft.toml")}
	doc, err := readDocument(file, s.keys)
	with := s.withRepo(doc)
	if err != nil {
		with.addProblem(err, "; nothing in it counts")
	}
	return with
}

func (s *Set) withRepo(doc document) *Set {
	with := *s
	with.repo, with.warnings, with.problems = layer{}, nil, nil
	for _, u := range doc.unknown {
		with.addProblem(u.err, ", which is ignored")
	}
	for _, f := range doc.known {
		if f.key.Guard == GuardUser {
			with.addWarning(f.source, f.key.Name+" is ignored: only the user may set it")
			continue
		}
		value, err := f.key.fromTOML(f.raw, s.home, KindRepo)
		if err != nil {
			with.addProblem(valueError(f.source, f.key.Name, err), ", and is ignored")
			continue
		}
		own := s.withoutRepo(f.key.Name)
		if isLooser(f.key.Guard, own.value, value) {
			with.addWarning(f.source, fmt.Sprintf("%s = %s is ignored: a repository may only %s, and it is %s (%s)",
				f.key.Name, format(value), guardPhrase(f.key.Guard), format(own.value), own.source))
			continue
		}
		with.repo[f.key.Name] = setting{value: value, source: f.source}
	}
	return &with
}

// Config returns every setting, resolved.
func (s *Set) Config() Config {
	var c Config
	s.fill(reflect.ValueOf(&c).Elem(), "")
	return c
}

// fill sets the fields of a table to the values of the keys that their tags name.
func (s *Set) fill(table reflect.Value, prefix string) {
	for i := range table.NumField() {
		field, name := table.Field(i), prefix+table.Type().Field(i).Tag.Get("key")
		if field.Kind() == reflect.Struct {
			s.fill(field, name+".")
			continue
		}
		field.Set(reflect.ValueOf(s.effective(name).value).Convert(field.Type()))
		if list, ok := reflect.TypeAssert[*[]string](field.Addr()); ok {
			*list = slices.Clone(*list) // the Set's own does not change
		}
	}
}

// Source says where the value of a key comes from.
func (s *Set) Source(name string) Source { return s.effective(name).source }

// Values returns every setting and its source, sorted by key.
func (s *Set) Values() []Value {
	values := make([]Value, 0, len(s.keys))
	for _, key := range s.keys {
		found := s.effective(key.Name)
		values = append(values, Value{Key: key.Name, Value: format(found.value), Source: found.source})
	}
	slices.SortFunc(values, func(a, b Value) int { return strings.Compare(a.Key, b.Key) })
	return values
}

// Warnings says, one line each, what files say in vain: the Problems, and what a
// repository's file tried to set and may not.
func (s *Set) Warnings() []string { return append(s.Problems(), s.warnings...) }

// Problems says, one line each, what in the files is not understood.
func (s *Set) Problems() []string { return slices.Concat(s.own, s.problems) }

func (s *Set) addProblem(err error, consequence string) {
	s.problems = append(s.problems, problemText(err, consequence))
}

// problemText is an error as one line, with what follows from it.
func problemText(err error, consequence string) string {
	e := croft.AsError("config", err)
	text, near, isNear := strings.Cut(e.Message, meant)
	if e.Err != nil {
		text += ": " + oneLine(e.Err.Error())
	}
	text += consequence
	switch {
	case isNear:
		text += "; " + strings.TrimPrefix(meant, ", ") + near
	case e.Hint != "" && e.Hint != allSettings:
		text += "; " + e.Hint
	}
	return text
}

func (s *Set) addWarning(at Source, problem string) {
	s.warnings = append(s.warnings, oneLine(at.String()+": "+problem))
}

func (s *Set) effective(name string) setting {
	return firstOf(name, s.flags, s.env, s.repo, s.user, s.defaults)
}

// withoutRepo is the value that a repository's file is measured against. The
// environment and flags are left out: they win anyhow.
func (s *Set) withoutRepo(name string) setting {
	return firstOf(name, s.user, s.defaults)
}

func firstOf(name string, layers ...layer) setting {
	for _, l := range layers {
		if found, ok := l[name]; ok {
			return found
		}
	}
	return setting{}
}

// isLooser reports whether a repository's value guards the user less than the
// user's own.
func isLooser(guard string, own, repo any) bool {
	switch guard {
	case GuardMax:
		limit := guardedSize(own)
		return limit != 0 && (guardedSize(repo) == 0 || guardedSize(repo) > limit)
	case GuardMin:
		return guardedSize(repo) < guardedSize(own)
	case GuardOn:
		return own == true && repo == false
	}
	return false
}

// guardPhrase says what a repository may do to a value with this guard, for a message:
// "lower it", "turn it on" or "raise it".
func guardPhrase(guard string) string {
	switch guard {
	case GuardMax:
		return "lower it"
	case GuardOn:
		return "turn it on"
	}
	return "raise it"
}

func flagLayer(flags map[string]string, keys []Key, home string) (layer, error) {
	source := Source{Kind: KindFlag}
	values := layer{}
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		key, known := findKey(keys, name)
		if !known {
			return nil, unknownKeyError(source, keys, name)
		}
		value, err := key.fromText(flags[name], home, KindFlag)
		if err != nil {
			return nil, valueError(source, name, err)
		}
		values[name] = setting{value: value, source: source}
	}
	return values, nil
}

// userLayer returns what the user's own file sets, and what is not known in it.
// A value that cannot be used is an error: only the user writes that file.
func userLayer(path string, keys []Key, home string) (values layer, notKnown []string, err error) {
	values = layer{}
	if path == "" {
		return values, nil, nil
	}
	doc, err := readDocument(Source{Kind: KindUser, Name: path}, keys)
	if err != nil {
		return nil, nil, err
	}
	for _, u := range doc.unknown {
		notKnown = append(notKnown, problemText(u.err, ", which is ignored"))
	}
	for _, f := range doc.known {
		value, err := f.key.fromTOML(f.raw, home, KindUser)
		if err != nil {
			return nil, nil, valueError(f.source, f.key.Name, err)
		}
		values[f.key.Name] = setting{value: value, source: f.source}
	}
	return values, notKnown, nil
}

// defaultLayer returns the defaults. Those of directories need a home directory;
// without one, a default is left out if another source sets the key, and is an error
// otherwise.
func (s *Set) defaultLayer() (layer, error) {
	source := Source{Kind: KindDefault}
	values := layer{}
	for _, key := range s.keys {
		value, err := key.fromText(key.Default, s.home, KindDefault)
		if err == nil {
			values[key.Name] = setting{value: value, source: source}
			continue
		}
		if s.effective(key.Name).value != nil {
			continue
		}
		refusal := valueError(source, key.Name, err)
		refusal.Hint = "export " + key.Env()[0] + "=DIR"
		return nil, refusal
	}
	return values, nil
}
