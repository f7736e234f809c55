package index

import (
	"errors"
	"io/fs"
	"os"
)

// Lstat stats a path and does not follow a symbolic link.
func Lstat(path string) (FileStat, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return FileStat{}, err
	}
	return fileStat(info), nil
}

// ReadDir stats everything in a directory. Files that vanish meanwhile are left out.
func ReadDir(path string) ([]NamedStat, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	list := make([]NamedStat, 0, len(entries))
	for _, d := range entries {
		info, err := d.Info()
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, NamedStat{d.Name(), fileStat(info)})
	}
	return list, nil
}

func fileStat(info fs.FileInfo) FileStat {
	m := info.ModTime()
	return FileStat{
		Mode: info.Mode(), Size: info.Size(), ModTime: m,
		noted: [10]uint32{2: uint32(m.Unix()), 3: uint32(m.Nanosecond()), 9: uint32(info.Size())},
	}
}

// isSameStat compares mtime and size: there is neither an inode nor a ctime.
func isSameStat(a, b [10]uint32) bool { return a[2] == b[2] && a[3] == b[3] && a[9] == b[9] }

// isSameInSeconds compares what isSameStat does as git does, which ignores fractions of seconds.
func isSameInSeconds(a, b [10]uint32) bool {
	a[3], b[3] = 0, 0
	return isSameStat(a, b)
}

// isSameMode compares the part of a mode that git keeps here: whether it is a symbolic link.
func isSameMode(staged string, now fs.FileMode) bool {
	switch staged {
	case "100644", "100755":
		return now.IsRegular()
	case "120000":
		return now.Type() == fs.ModeSymlink
	}
	return false
}
