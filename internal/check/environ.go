package check

import (
	"runtime"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/git"
)

// checkVariables are the user's variables that a check sees: the name and home of the
// user, how text is shown, and where toolchains and their caches are. None of them
// holds a secret. A name that ends in * means all names with that prefix.
var checkVariables = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TERM", "TZ", "TMPDIR", "XDG_CACHE_HOME",
	"GOPATH", "GOCACHE", "GOMODCACHE", "GOROOT", "GOTOOLCHAIN", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN",
	"JAVA_HOME", "NVM_DIR", "PYENV_ROOT", "RBENV_ROOT",
}

// windowsVariables are the variables without which programs on Windows do not start.
var windowsVariables = []string{
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH",
	"APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES*", "PROGRAMW6432", "COMMONPROGRAMFILES*", "NUMBER_OF_PROCESSORS", "PROCESSOR_*", "OS",
}

// environ returns the environment of a check: the allowed variables of the user, and
// variables that describe the check. None of them controls git.
func (r *Runner) environ(dir string, spec git.ScratchSpec) []string {
	allowed := slices.Concat(checkVariables, r.Allowed)
	if runtime.GOOS == "windows" {
		allowed = append(allowed, windowsVariables...)
	}
	var env []string
	for _, kv := range r.Environ {
		name, _, _ := strings.Cut(kv, "=")
		if isAllowed(name, allowed) {
			env = append(env, kv)
		}
	}
	return append(env,
		"CI=true", "PWD="+dir, "CROFT_CHECK=1", "CROFT_REPO="+r.Project.Path, "CROFT_COMMIT="+spec.Commit, "CROFT_TREE="+spec.Tree)
}

func isAllowed(name string, allowed []string) bool {
	if runtime.GOOS == "windows" {
		name = strings.ToUpper(name)
	}
	if name == "" || strings.HasPrefix(name, "GIT_") || name == "PWD" || name == "OLDPWD" || name == "CI" {
		return false
	}
	return slices.ContainsFunc(allowed, func(a string) bool {
		if prefix, ok := strings.CutSuffix(a, "*"); ok {
			return strings.HasPrefix(name, prefix)
		}
		return name == a
	})
}
