package git

import (
	"errors"
	"os"
	"path/filepath"
)

// repaired lists, for each line of versions, the first that has the fixes for
// CVE-2025-48384 and CVE-2025-48385, by which a repository that is cloned or
// fetched writes files where it should not, and for all that became known before.
// Later lines have them from the start.
var repaired = []Version{
	{2, 43, 7}, {2, 44, 4}, {2, 45, 4}, {2, 46, 4}, {2, 47, 3}, {2, 48, 2}, {2, 49, 1}, {2, 50, 1},
}

// Unrepaired reports whether holes are known in a version, and the next one in
// which they are closed. Distributions bring fixes to older versions without
// changing the number, so it may be wrong.
func (v Version) Unrepaired() (next Version, ok bool) {
	for _, next := range repaired {
		if v.Less(next) {
			sameLine := v.Major == next.Major && v.Minor == next.Minor
			return next, sameLine || next == repaired[0]
		}
	}
	return Version{}, false
}

// IsFirstUse reports whether nobody has asked for a version before, and notes
// that somebody has. Where that cannot be noted, every use is the first.
func (g *Git) IsFirstUse(v Version) bool {
	if err := os.MkdirAll(g.opts.ConfigDir, 0o700); err != nil {
		return true
	}
	f, err := os.OpenFile(filepath.Join(g.opts.ConfigDir, "seen-"+v.String()), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return !errors.Is(err, os.ErrExist)
	}
	_ = f.Close()
	return true
}
