package git

import "golang.org/x/sys/unix"

// memoryDir is where what is only tried may lie: a file system in memory, on
// which a file costs a tenth of what it does on a disk.
const memoryDir = "/dev/shm"

// memoryFree is how much room there has to be: what many merges write is less.
const memoryFree = 256 << 20

// hasMemory reports whether there is such a place, with room.
func hasMemory() bool {
	var st unix.Statfs_t
	if err := unix.Statfs(memoryDir, &st); err != nil || st.Type != unix.TMPFS_MAGIC {
		return false
	}
	return st.Bavail*uint64(st.Bsize) >= memoryFree
}
