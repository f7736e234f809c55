package fsx

import (
	"path/filepath"

	"golang.org/x/sys/windows"
)

func networkFS(dir string) string {
	root, err := windows.UTF16PtrFromString(filepath.VolumeName(dir) + `\`)
	if err == nil && windows.GetDriveType(root) == windows.DRIVE_REMOTE {
		return "remote drive"
	}
	return ""
}
