package gitdir

import (
	"path/filepath"
	"strings"
)

// IsolatedName is the directory of the admin directories of isolated worktrees.
const IsolatedName = "isolated"

// CanBeRef is a simple check of a ref name; git's own is stricter.
func CanBeRef(name string) bool {
	if !filepath.IsLocal(filepath.FromSlash(name)) || strings.ContainsAny(name, " ~^:?*[\\\x7f") || strings.Contains(name, "..") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' })
}

// HeadLock is the lock file of HEAD and its reflog.
const HeadLock = "HEAD.lock"

// IndexLock is the lock file of an index.
const IndexLock = "index.lock"

// PlainBranch is the branch of the repository of a plain directory.
const PlainBranch = "main"

// IsDotGit reports whether a common directory is named as in a main checkout. Only its
// configuration says then whether it has one.
func IsDotGit(common string) bool { return filepath.Base(common) == ".git" }

// IsRevision reports whether a text can be passed to git as a revision: it is no option
// and has no newline.
func IsRevision(rev string) bool {
	return rev != "" && !strings.HasPrefix(rev, "-") && !strings.ContainsAny(rev, "\n\x00")
}

// SplitNUL splits output of git whose parts are terminated by NUL.
func SplitNUL(out []byte) []string {
	s := strings.TrimSuffix(string(out), "\x00")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\x00")
}

// ParentDir returns the directory of a slashed path, or "".
func ParentDir(path string) string {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)]
}
