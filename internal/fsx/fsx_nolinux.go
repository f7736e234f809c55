//go:build !linux

package fsx

// MemoryDir is empty: there is no such place here.
const MemoryDir = ""

// HasMemoryDir reports false: there is no MemoryDir here.
func HasMemoryDir() bool { return false }

// RenameNew renames a file or directory unless something, even an empty directory, has
// the new name. It is not atomic here: what another process makes between check and
// rename may be replaced.
func RenameNew(from, to string) error { return renameChecked(from, to) }
