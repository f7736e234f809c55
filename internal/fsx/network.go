package fsx

// NetworkFS names the network file system that a directory lies on, or returns
// "" if it lies on a local one, or on one that is not known. Locks of the kernel
// and SQLite's shared memory do not work across machines.
func NetworkFS(dir string) string { return networkFS(dir) }
