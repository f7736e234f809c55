//go:build !unix

package proc

import "os/exec"

// lookPath finds a program as this process would: what counts as a program
// depends on more than PATH here.
func lookPath(name string, _ []string) (string, error) { return exec.LookPath(name) }
