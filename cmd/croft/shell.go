package main

import (
	"cmp"
	"runtime"
	"slices"
	"strings"
)

// lookUp returns the value of a variable. If several have the name, the last one
// counts.
func lookUp(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		key, value, _ := strings.Cut(entry, "=")
		if key == name || runtime.GOOS == "windows" && strings.EqualFold(key, name) {
			return value
		}
	}
	return ""
}

// shell returns the path of the user's shell.
func shell(environ []string) string {
	variable, fallback := "SHELL", "/bin/sh"
	if runtime.GOOS == "windows" {
		variable, fallback = "COMSPEC", "cmd.exe"
	}
	return cmp.Or(lookUp(environ, variable), fallback)
}

// shellEnviron returns the environment of a shell in a workspace: the user's, with the
// variables of the workspace added, and without the variables that direct git to
// another repository. git sets those when it runs a hook, an alias or another program.
func shellEnviron(environ []string, dir string, workspace []string) []string {
	elsewhere := []string{
		"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX",
		"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE",
		"PWD", "OLDPWD",
	}
	var env []string
	for _, entry := range environ {
		if key, _, _ := strings.Cut(entry, "="); !slices.Contains(elsewhere, key) {
			env = append(env, entry)
		}
	}
	return append(append(env, "PWD="+dir), workspace...)
}
