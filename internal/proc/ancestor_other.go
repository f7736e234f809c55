//go:build !linux

package proc

// Ancestor is a process above this one.
type Ancestor struct {
	PID  int
	Args []string
}

// Dir returns the working directory of the process; empty: it cannot be told.
func (a Ancestor) Dir() string { return "" }

// Ancestors returns nil: this platform does not show the arguments of other processes without more.
func Ancestors() []Ancestor { return nil }
