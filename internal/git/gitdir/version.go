package gitdir

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrNotFound says that git is not installed.
var ErrNotFound = errors.New("git is not installed or not in PATH")

// Version is a version of git.
type Version struct{ Major, Minor, Patch int }

// Floor is the oldest supported git: the first that merges without a work tree (merge-tree
// --write-tree).
var Floor = Version{2, 38, 0}

// TooOldError says that git is older than Floor.
type TooOldError struct{ Have Version }

func (e *TooOldError) Error() string {
	return fmt.Sprintf("git %s is too old: %s or later is needed", e.Have, Floor)
}

func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// Less reports whether v is older than w.
func (v Version) Less(w Version) bool {
	if v.Major != w.Major {
		return v.Major < w.Major
	}
	if v.Minor != w.Minor {
		return v.Minor < w.Minor
	}
	return v.Patch < w.Patch
}

// ParseVersion parses the output of `git version`, such as "git version 2.39.5", "git
// version 2.39.5 (Apple Git-154)" or "git version 2.47.0.windows.1".
func ParseVersion(s string) (Version, error) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(s), "git version ")
	if !ok {
		return Version{}, fmt.Errorf("not a version of git: %q", s)
	}
	rest, _, _ = strings.Cut(rest, " ")
	var n [3]int
	for i, part := range strings.SplitN(rest, ".", 4) {
		if i == 3 {
			break
		}
		digits := part[:len(part)-len(strings.TrimLeft(part, "0123456789"))]
		v, err := strconv.Atoi(digits)
		if err != nil {
			if i < 2 {
				return Version{}, fmt.Errorf("not a version of git: %q", s)
			}
			break
		}
		n[i] = v
	}
	return Version{n[0], n[1], n[2]}, nil
}

// fixedVersions lists, for each release series, the first version with the fixes for
// CVE-2025-48384 and CVE-2025-48385, by which a repository that is cloned or fetched
// writes files where it should not, and for all older vulnerabilities. Later series have
// them from the start.
var fixedVersions = []Version{
	{2, 43, 7}, {2, 44, 4}, {2, 45, 4}, {2, 46, 4}, {2, 47, 3}, {2, 48, 2}, {2, 49, 1}, {2, 50, 1},
}

// Unrepaired reports whether a version has known vulnerabilities, and the next version
// without. Distributions fix older versions without changing the number, so it may be
// wrong.
func (v Version) Unrepaired() (next Version, ok bool) {
	for _, next := range fixedVersions {
		if v.Less(next) {
			sameLine := v.Major == next.Major && v.Minor == next.Minor
			return next, sameLine || next == fixedVersions[0]
		}
	}
	return Version{}, false
}
