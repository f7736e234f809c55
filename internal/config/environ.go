package config

import (
	"path/filepath"
	"runtime"
	"strings"
)

// environ is the environment by name. A variable that is empty counts as not
// set.
type environ map[string]string

// newEnviron lets the last of several equal names win, as exec.Cmd does, and
// takes names in any case where the system does.
func newEnviron(list []string) environ {
	env := make(environ, len(list))
	for _, item := range list {
		name, value, _ := strings.Cut(item, "=")
		if runtime.GOOS == "windows" {
			name = strings.ToUpper(name)
		}
		env[name] = value
	}
	return env
}

// home is the user's home directory, or "" where none is known.
func (env environ) home(given string) string {
	candidates := []string{given, env["HOME"]}
	if runtime.GOOS == "windows" {
		candidates = []string{given, env["USERPROFILE"], env["HOME"]}
	}
	for _, dir := range candidates {
		if dir != "" && filepath.IsAbs(dir) {
			return dir
		}
	}
	return ""
}

// base is a base directory by the XDG rules, which say that a relative one is
// to be ignored.
func (env environ) base(variable string) (string, bool) {
	dir := env[variable]
	return dir, filepath.IsAbs(dir)
}

// userFile is the path of the user's configuration, or "" where there is no
// place for one.
func (env environ) userFile(home string) string {
	if dir, ok := env.base("XDG_CONFIG_HOME"); ok {
		return filepath.Join(dir, "croft", "config.toml")
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, ".config", "croft", "config.toml")
}

// layer reads the variables of every key.
func (env environ) layer(keys []Key, home string) (layer, error) {
	values := layer{}
	for _, key := range keys {
		name, text := env.firstVariable(key)
		if name == "" {
			continue
		}
		source := Source{Kind: KindEnv, Name: name}
		value, err := key.fromText(text, home, KindEnv)
		if err != nil {
			return nil, valueError(source, key.Name, err)
		}
		values[key.Name] = setting{value: value, source: source}
	}
	return values, nil
}

func (env environ) firstVariable(key Key) (name, text string) {
	for _, name := range key.Env() {
		if text := env[name]; text != "" {
			return name, text
		}
	}
	if key.xdg != "" {
		if dir, ok := env.base(key.xdg); ok {
			return key.xdg, filepath.Join(dir, "croft")
		}
	}
	return "", ""
}
