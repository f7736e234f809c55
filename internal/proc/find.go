package proc

import "path/filepath"

// Find finds the program that a command of that name runs in an environment.
func Find(name string, env []string) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	return lookPath(name, env)
}
