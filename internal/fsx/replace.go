package fsx

import (
	"os"
	"path/filepath"
)

// ReplaceFile writes a file whole or not at all. A link at the path is replaced,
// not followed; the directories on the way may be links.
func ReplaceFile(path string, data []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".croft-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}

// ReplaceIfChanged is [ReplaceFile] for a text that may be there already.
func ReplaceIfChanged(path, text string) error {
	if old, err := os.ReadFile(path); err == nil && string(old) == text {
		return nil
	}
	return ReplaceFile(path, []byte(text), 0o644)
}

// WriteDurable replaces a file whole or not at all, and makes that durable.
func WriteDurable(path string, data []byte) error {
	if err := ReplaceFile(path, data, 0o644); err != nil {
		return err
	}
	if err := SyncFile(path); err != nil {
		return err
	}
	return SyncAll(filepath.Dir(path), filepath.Dir(filepath.Dir(path)))
}
