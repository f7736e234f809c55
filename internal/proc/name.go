package proc

// NameOf is what the program of a process is called, if the process is alive and
// the platform can tell. A program chooses it itself.
func NameOf(id Identity) string {
	if LifeOf(id) != Alive {
		return ""
	}
	return nameOf(id.PID)
}
