package gitdir

import (
	"path/filepath"
	"strings"
)

// IsolatedName is the directory that admin directories of isolated worktrees lie
// in.
const IsolatedName = "isolated"

// CanBeRef is a plain check of a ref's name; git's own is stricter.
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

// HeadLock is the file under which git changes HEAD and its reflog.
const HeadLock = "HEAD.lock"

// IndexLock is the file under which git changes an index.
const IndexLock = "index.lock"

// PlainBranch is the branch that a plain directory has checked out.
const PlainBranch = "main"

// IsDotGit reports whether a common directory has the name that it has in a main
// checkout. Nothing but its configuration says then whether there is one.
func IsDotGit(common string) bool { return filepath.Base(common) == ".git" }

// IsRevision reports whether a text can be given to git as a revision: it is no
// option and one line.
func IsRevision(rev string) bool {
	return rev != "" && !strings.HasPrefix(rev, "-") && !strings.ContainsAny(rev, "\n\x00")
}

// SplitNUL splits output of git in which every part ends with a NUL byte.
func SplitNUL(out []byte) []string {
	s := strings.TrimSuffix(string(out), "\x00")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\x00")
}

// ParentDir is the directory of a slashed path, or empty.
func ParentDir(path string) string {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)]
}
