package foreign

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// errVersion says that a file is of a version that is not known.
var errVersion = errors.New("its version is not known")

// syntaxError says that a file is no TOML, without the lines that the parser shows.
type syntaxError struct{ err error }

func (e *syntaxError) Error() string {
	if at, ok := errors.AsType[*toml.DecodeError](e.err); ok {
		line, _ := at.Position()
		return fmt.Sprintf("it cannot be read as TOML, line %d", line)
	}
	return "it cannot be read as TOML"
}

func (e *syntaxError) Unwrap() error { return e.err }

// conductorScripts are the scripts of both files of Conductor.
type conductorScripts struct {
	Setup   string `toml:"setup" json:"setup"`
	Archive string `toml:"archive" json:"archive"`
	Run     any    `toml:"run" json:"run"`
}

// readConductor reads .conductor/settings.toml, and settings.local.toml over it.
func readConductor(text []byte, files Files) (*Setup, error) {
	var file struct {
		Include string           `toml:"file_include_globs"`
		Scripts conductorScripts `toml:"scripts"`
	}
	if err := unmarshalTOML(text, &file); err != nil {
		return nil, err
	}
	s := &Setup{}
	const local = ".conductor/settings.local.toml"
	if more, err := readText(files, local); err == nil {
		if err := unmarshalTOML(more, &file); err != nil {
			return nil, fmt.Errorf("settings.local.toml: %w", err)
		}
		s.Hashes = []string{".conductor/settings.toml", local}
	}
	s.Setup, s.Teardown = commandOf(file.Scripts.Setup), commandOf(file.Scripts.Archive)
	s.Actions, s.Include = conductorActions(file.Scripts.Run), patternLines(file.Include)
	s.Env = conductorEnv()
	return s, nil
}

// conductorEnv returns the variables that Conductor promises to the commands of both its files.
func conductorEnv() map[string]Template {
	return map[string]Template{
		"CONDUCTOR_WORKSPACE_NAME": Var("name"), "CONDUCTOR_WORKSPACE_PATH": Var("path"), "CONDUCTOR_ROOT_PATH": Var("repo"),
		"CONDUCTOR_DEFAULT_BRANCH": Var("target"), "CONDUCTOR_PORT": Var("port"), "CONDUCTOR_IS_LOCAL": Text("1"),
	}
}

// conductorActions reads the value of scripts.run: a command, or a table of tables.
func conductorActions(run any) []Action {
	switch run := run.(type) {
	case string:
		return actionsOf("run", run)
	case map[string]any:
		var out []Action
		for _, name := range slices.Sorted(maps.Keys(run)) {
			if table, ok := run[name].(map[string]any); ok {
				command, _ := table["command"].(string)
				out = append(out, actionsOf(name, command)...)
			}
		}
		return out
	}
	return nil
}

// readConductorLegacy reads conductor.json. Other products have files of that name: without
// scripts it is none of Conductor's.
func readConductorLegacy(text []byte, _ Files) (*Setup, error) {
	var file struct {
		Scripts json.RawMessage `json:"scripts"`
	}
	if err := unmarshalJSONC(text, &file); err != nil {
		return nil, err
	}
	var scripts conductorScripts
	if len(file.Scripts) == 0 || json.Unmarshal(file.Scripts, &scripts) != nil {
		return nil, errShape
	}
	return &Setup{
		Setup: commandOf(scripts.Setup), Teardown: commandOf(scripts.Archive), Actions: conductorActions(scripts.Run),
		Env: conductorEnv(),
	}, nil
}

// readWorktrunk reads .config/wt.toml: hooks before and after the start, and around the removal.
func readWorktrunk(text []byte, _ Files) (*Setup, error) {
	var file map[string]any
	if err := unmarshalTOML(text, &file); err != nil {
		return nil, err
	}
	s, order := &Setup{}, readOrder(text)
	for _, hook := range []struct {
		key  string
		into *[]Command
	}{{"pre-start", &s.Setup}, {"post-start", &s.Setup}, {"pre-remove", &s.Teardown}, {"post-remove", &s.Teardown}} {
		s.addHook(order, hook.key, file[hook.key], hook.into)
	}
	return s, nil
}

// addHook adds the commands of a hook: a command, a table of named ones, or a list of tables. Worktrunk runs those of a table at
// the same time; here they run one after the other, as the file has them.
func (s *Setup) addHook(order keyOrder, key string, value any, into *[]Command) {
	switch value := value.(type) {
	case nil:
	case string:
		s.addWorktrunk(key, "", value, into)
	case map[string]any:
		for _, name := range order.names(key, value) {
			run, ok := value[name].(string)
			if !ok {
				s.skip(key+"."+name, "it is no command")
				continue
			}
			s.addWorktrunk(key+"."+name, name, run, into)
		}
	case []any:
		for i, one := range value {
			s.addHook(order, fmt.Sprintf("%s[%d]", key, i), one, into)
		}
	default:
		s.skip(key, "it is no command")
	}
}

// skip leaves a command out.
func (s *Setup) skip(key, why string) {
	s.Skipped = append(s.Skipped, Skipped{Key: key, Why: why, Command: key[strings.LastIndex(key, ".")+1:]})
}

func (s *Setup) addWorktrunk(key, name, run string, into *[]Command) {
	switch words := strings.Fields(run); {
	case len(words) == 0:
		return
	case strings.HasPrefix(run, "wt step copy-ignored"):
		s.skip(key, ".worktreeinclude says what is copied")
		return
	case words[0] == "wt":
		s.skip(key, "it runs wt")
		return
	}
	t, why := worktrunkTemplate(run)
	if why != "" {
		s.skip(key, why)
		return
	}
	*into = append(*into, Command{Name: name, Run: t})
}

// worktrunkVars are the variables of worktrunk that a workspace has, too.
var worktrunkVars = map[string]string{
	"branch": "branch", "worktree_path": "path", "worktree_name": "slug", "repo_path": "repo", "primary_worktree_path": "repo",
	"default_branch": "target", "target": "target", "base": "base", "commit": "base",
}

// worktrunkTemplate reads a command with {{ variables }}, or says why it cannot be filled in.
func worktrunkTemplate(run string) (t Template, why string) {
	for {
		before, rest, isThere := strings.Cut(run, "{{")
		if strings.Contains(before, "{%") || strings.Contains(before, "{#") {
			return t, "template block"
		}
		if before != "" {
			t.parts = append(t.parts, part{before, false})
		}
		if !isThere {
			return t, ""
		}
		inside, after, isClosed := strings.Cut(rest, "}}")
		if !isClosed {
			return t, "template that is not closed"
		}
		name, filter, hasFilter := strings.Cut(inside, "|")
		if hasFilter {
			return t, "template filter " + strings.TrimSpace(filter)
		}
		known, ok := worktrunkVars[strings.TrimSpace(name)]
		if !ok {
			return t, "template variable " + strings.TrimSpace(name)
		}
		t.parts = append(t.parts, part{known, true})
		run = after
	}
}
