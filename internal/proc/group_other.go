//go:build !linux

package proc

import "os/exec"

// dieWithParent: only Linux can.
func dieWithParent(*exec.Cmd) (ended func()) { return func() {} }
