package fsx

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Exchange exchanges an entry with one of another directory in one step: at no moment is there nothing at
// either name, and nothing is deleted. It fails with [os.ErrNotExist] if one of them is not there, and with what
// [CannotExchange] knows where the file systems cannot.
func (d *Dir) Exchange(name string, with *Dir, other string) error {
	if !isName(name) || !isName(other) {
		return nameError("exchange", name)
	}
	return linkError("exchange", d.join(name), with.join(other), unix.Renameat2(d.fd(), name, with.fd(), other, unix.RENAME_EXCHANGE))
}

// MoveNew is [Dir.RenameNew] in one step: it fails where the file system cannot do both at once.
func (d *Dir) MoveNew(name string, to *Dir, newName string) error {
	if !isName(name) || !isName(newName) {
		return nameError("rename", name)
	}
	return linkError("rename", d.join(name), to.join(newName), unix.Renameat2(d.fd(), name, to.fd(), newName, unix.RENAME_NOREPLACE))
}

// RemoveEmpty deletes an entry that is an empty directory, and no other.
func (d *Dir) RemoveEmpty(name string) error {
	if !isName(name) {
		return nameError("rmdir", name)
	}
	return pathError("rmdir", d.join(name), unix.Unlinkat(d.fd(), name, unix.AT_REMOVEDIR))
}

// CannotExchange reports whether [Dir.Exchange] or [Dir.MoveNew] failed because of where the entries lie.
func CannotExchange(err error) bool {
	for _, cause := range []error{unix.EXDEV, unix.EINVAL, unix.ENOSYS, unix.EOPNOTSUPP, unix.EPERM, errors.ErrUnsupported} {
		if errors.Is(err, cause) {
			return true
		}
	}
	return false
}

// Writers says whether a process has a file open for writing.
type Writers string

// The answers to who writes a file. The kernel tells only its owner, and not on all file systems.
const (
	WritersNone    Writers = "none"
	WritersSome    Writers = "some"
	WritersUnknown Writers = "unknown"
)

// WritersOf says whether a process has a file open, or mapped, for writing: the kernel grants a lease to read only
// where that is not so. The lease is given back at once.
func (d *Dir) WritersOf(name string) Writers {
	f, err := d.Open(name)
	if err != nil {
		return WritersUnknown
	}
	defer f.Close()
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	switch {
	case err == nil:
		_, _ = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
		return WritersNone
	case errors.Is(err, unix.EAGAIN):
		return WritersSome
	}
	return WritersUnknown
}

// MakesAs reports whether what is made in a directory gets the same group, rules of access and security label as in
// another one.
func (d *Dir) MakesAs(other *Dir) bool {
	var a, b unix.Stat_t
	if unix.Fstat(d.fd(), &a) != nil || unix.Fstat(other.fd(), &b) != nil {
		return false
	}
	isSet := a.Mode&unix.S_ISGID != 0
	if isSet != (b.Mode&unix.S_ISGID != 0) || isSet && a.Gid != b.Gid {
		return false
	}
	for _, name := range []string{defaultRules, "security.selinux"} {
		if d.attribute(name) != other.attribute(name) {
			return false
		}
	}
	return true
}

// attribute returns an extended attribute of the directory; empty if it has none.
func (d *Dir) attribute(name string) string {
	value := make([]byte, 64<<10)
	n, err := unix.Fgetxattr(d.fd(), name, value)
	if err != nil {
		return ""
	}
	return string(value[:n])
}
