package fsx

import "golang.org/x/sys/unix"

// defaultRules are the rules of access that new entries of a directory get.
const defaultRules = "system.posix_acl_default"

func inheritRules(fd, like int) {
	rules := make([]byte, 64<<10)
	n, err := unix.Fgetxattr(like, defaultRules, rules)
	if err == nil && n > 0 {
		_ = unix.Fsetxattr(fd, defaultRules, rules[:n], 0)
	}
}
