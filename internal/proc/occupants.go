package proc

// Occupant is a process that is at work in a directory.
type Occupant struct {
	PID  int
	Name string // of its program, as the kernel has it
	File string // that it has open for writing; empty: its working directory is there
}
