//go:build !linux

package git

func renameNew(from, to string) error { return renameChecked(from, to) }
