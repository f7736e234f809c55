//go:build unix

package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// lookPath finds a program in the PATH of the environment that it will run in,
// which may be another than this process's. Only an environment without a PATH
// falls back on that.
func lookPath(name string, env []string) (string, error) {
	path, found := "", false
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path, found = v, true
		}
	}
	if !found {
		return exec.LookPath(name)
	}
	for _, dir := range filepath.SplitList(path) {
		// A relative directory means another one wherever a process starts.
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return name, &exec.Error{Name: name, Err: exec.ErrNotFound}
}
