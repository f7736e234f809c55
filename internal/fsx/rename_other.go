//go:build !linux

package fsx

// RenameNew renames without replacing anything, not even an empty directory.
func RenameNew(from, to string) error { return renameChecked(from, to) }
