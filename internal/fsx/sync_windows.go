package fsx

import "os"

// SyncOpen does nothing: what was opened for reading cannot be synced here, and directories
// need not be.
func SyncOpen(*os.File) error { return nil }

// SyncReadOnly waits until the contents of a file are on disk: only a file that is open for writing can be synced here, and a
// file that is read-only cannot be opened so.
func SyncReadOnly(name string) error {
	if err := os.Chmod(name, 0o666); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	err = f.Sync()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Chmod(name, 0o444)
	}
	return err
}
