//go:build !linux

package fsx

// MemoryDir is empty: there is no such place here.
const MemoryDir = ""

// HasMemoryDir reports whether there is such a place, with room.
func HasMemoryDir() bool { return false }

// RenameNew renames without replacing anything, not even an empty directory.
func RenameNew(from, to string) error { return renameChecked(from, to) }
