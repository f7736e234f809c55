package fsx

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

func inodeAndBirth(path string) (ino uint64, birth int64, err error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, 0, err
	}
	h, err := windows.CreateFile(name, 0, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE, nil,
		windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS|windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	if err != nil {
		return 0, 0, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer windows.CloseHandle(h)
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(h, &info); err != nil {
		return 0, 0, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return uint64(info.FileIndexHigh)<<32 | uint64(info.FileIndexLow), info.CreationTime.Nanoseconds(), nil
}

// IsOtherDevice reports whether a rename failed because it would have led to another
// file system.
func IsOtherDevice(err error) bool { return errors.Is(err, windows.ERROR_NOT_SAME_DEVICE) }

func networkFS(dir string) string {
	root, err := windows.UTF16PtrFromString(filepath.VolumeName(dir) + `\`)
	if err == nil && windows.GetDriveType(root) == windows.DRIVE_REMOTE {
		return "remote drive"
	}
	return ""
}

// SyncOpen does nothing: what was opened for reading cannot be synced here, and directories
// need not be.
func SyncOpen(*os.File) error { return nil }

// SyncReadOnly waits until the contents of a file are on disk. Only a file that is open
// for writing can be synced here, and a read-only file cannot be opened so.
func SyncReadOnly(name string) error {
	if err := os.Chmod(name, 0o666); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Chmod(name, 0o444)
}

// rmdir removes a directory that is empty, and nothing that is no directory.
func (d *TreeDir) rmdir(name string) error {
	path, err := windows.UTF16PtrFromString(filepath.Join(d.Name(), name))
	if err != nil {
		return err
	}
	return windows.RemoveDirectory(path)
}
