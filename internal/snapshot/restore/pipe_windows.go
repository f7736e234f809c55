package restore

// makePipe: there are no named pipes in directories here.
func makePipe(string, uint32) error { return nil }
