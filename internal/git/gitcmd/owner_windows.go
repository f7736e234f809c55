package gitcmd

// isOwn reports whether a path belongs to who runs this. Ownership is not
// looked at on this system.
func (g *Git) isOwn(string) (bool, error) { return true, nil }
