package check

import (
	"runtime"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/git"
)

// checkVariables are the variables of the user's that a check sees: who and where
// the user is, how text is shown, and where toolchains and their caches lie. None
// of them holds a secret. A name that ends in * stands for all that begin so.
var checkVariables = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TERM", "TZ", "TMPDIR", "XDG_CACHE_HOME",
	"GOPATH", "GOCACHE", "GOMODCACHE", "GOROOT", "GOTOOLCHAIN", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN",
	"JAVA_HOME", "NVM_DIR", "PYENV_ROOT", "RBENV_ROOT",
}

// windowsVariables are those without which programs on Windows do not start.
var windowsVariables = []string{
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH",
	"APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES*", "PROGRAMW6432", "COMMONPROGRAMFILES*", "NUMBER_OF_PROCESSORS", "PROCESSOR_*", "OS",
}

// environ is what of the user's environment a check may see, by name, with what a
// check may want to know. Nothing in it steers git.
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
