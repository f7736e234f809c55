package txlog

import (
	"os"
	"path/filepath"
	"strings"
)

// Beginning lists the paths that begin with prefix and lie in its directory.
func Beginning(prefix string) []string {
	var list []string
	dir := filepath.Dir(prefix)
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		if path := filepath.Join(dir, entry.Name()); strings.HasPrefix(path, prefix) {
			list = append(list, path)
		}
	}
	return list
}
