package git

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrNotFound says that there is no git to run.
var ErrNotFound = errors.New("git is not installed or not in PATH")

// Version is a version of git.
type Version struct{ Major, Minor, Patch int }

// Floor is the oldest git that can be used: the first one that merges without
// a work tree (merge-tree --write-tree).
var Floor = Version{2, 38, 0}

// TooOldError says that git is below the floor.
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

// ParseVersion reads what `git version` prints, such as "git version 2.39.5",
// "git version 2.39.5 (Apple Git-154)" or "git version 2.47.0.windows.1".
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
