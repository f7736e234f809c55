package git

import "os"

// syncObject: only a file that is open for writing can be synced here, and a
// file that is read-only cannot be opened so.
func syncObject(name string) error {
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
