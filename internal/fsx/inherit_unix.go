//go:build unix

package fsx

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// InheritAs lets what is made in a directory get the group, and the rules of access, that
// it would get in another one. What the system does not allow is left out.
func (d *Dir) InheritAs(like *Dir) {
	var want, now unix.Stat_t
	if unix.Fstat(like.fd(), &want) != nil || unix.Fstat(d.fd(), &now) != nil {
		return
	}
	// Elsewhere than on Linux a new file always has the group of its directory.
	isSet := want.Mode&unix.S_ISGID != 0
	if (isSet || runtime.GOOS != "linux") && want.Gid != now.Gid && unix.Fchown(d.fd(), -1, int(want.Gid)) != nil {
		return
	}
	if isSet {
		_ = unix.Fchmod(d.fd(), uint32(now.Mode)&0o777|unix.S_ISGID)
	}
	inheritRules(d.fd(), like.fd())
}
