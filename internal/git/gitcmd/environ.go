package gitcmd

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/git/gitconfig"
)

// environ looks up a variable of the user's environment.
func (g *Git) environ(name string) (string, bool) {
	value, found := "", false
	for _, kv := range g.Options.Environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value, found = v, true
		}
	}
	return value, found
}

// ConfigHome is the directory of the user's configuration files.
func (g *Git) ConfigHome() string {
	if dir, _ := g.environ("XDG_CONFIG_HOME"); dir != "" {
		return dir
	}
	if home := g.Home(); home != "" {
		return filepath.Join(home, ".config")
	}
	return ""
}

// Home is the user's home directory, as git finds it.
func (g *Git) Home() string {
	if dir, _ := g.environ("HOME"); dir != "" {
		return dir
	}
	dir, _ := g.environ("USERPROFILE")
	return dir
}

// baseEnv returns the user's environment without the variables that control git. Messages
// are English, because classify.go reads them; the rest of the user's locale stays,
// because the user's filters run with it.
func (g *Git) baseEnv() []string {
	locale, overrides := g.environ("LC_ALL")
	overrides = overrides && locale != ""
	env := slices.DeleteFunc(slices.Clone(g.Options.Environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		name = strings.ToUpper(name)
		switch name {
		case "LC_ALL", "LC_MESSAGES", "LANGUAGE", "EDITOR", "VISUAL", "PAGER":
			return true
		}
		return strings.HasPrefix(name, "GIT_") || overrides && (name == "LANG" || strings.HasPrefix(name, "LC_"))
	})
	if overrides {
		env = append(env, "LANG="+locale)
	}
	return append(env, "LC_MESSAGES=C")
}

// credentialEnv are the variables that control how git reaches a server, by the way.
var credentialEnv = map[gitconfig.Way][]string{
	gitconfig.WaySSH: {"GIT_ASKPASS", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT"},
	gitconfig.WayWeb: {
		"GIT_ASKPASS", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_SSL_CERT", "GIT_SSL_KEY", "GIT_SSL_NO_VERIFY",
		"GIT_PROXY_SSL_CAINFO", "GIT_PROXY_SSL_CERT", "GIT_PROXY_SSL_KEY",
	},
}

// credentialEnviron returns the variables of credentialEnv that the user's environment
// has.
func (g *Git) credentialEnviron(way gitconfig.Way) []string {
	names := credentialEnv[way]
	if way == gitconfig.WayAny {
		names = slices.Concat(credentialEnv[gitconfig.WaySSH], credentialEnv[gitconfig.WayWeb])
	}
	var env []string
	for _, name := range names {
		if v, ok := g.environ(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}
