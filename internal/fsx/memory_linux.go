package fsx

import "golang.org/x/sys/unix"

// MemoryDir is where what is only tried may lie: a file system in memory, on
// which a file costs a tenth of what it does on a disk.
const MemoryDir = "/dev/shm"

// memoryFree is how much room there has to be: what many merges write is less.
const memoryFree = 256 << 20

// HasMemoryDir reports whether there is such a place, with room.
func HasMemoryDir() bool {
	var st unix.Statfs_t
	if err := unix.Statfs(MemoryDir, &st); err != nil || st.Type != unix.TMPFS_MAGIC {
		return false
	}
	return st.Bavail*uint64(st.Bsize) >= memoryFree
}
