package config

import (
	"fmt"
	"path"
	"strings"

	"github.com/croft-sh/croft/internal/tomltable"
)

// allFiles in checkout.sparse means everything.
const allFiles = "/"

// checkSparse accepts directories of a repository, or allFiles alone.
func checkSparse(value any, _ string) error {
	dirs, _ := value.([]string)
	var bad []string
	for _, dir := range dirs {
		if dir == allFiles && len(dirs) == 1 {
			return nil
		}
		clean := strings.TrimSuffix(dir, "/")
		isPath := clean != "" && clean != "." && !path.IsAbs(clean) && path.Clean(clean) == clean && clean != ".." && !strings.HasPrefix(clean, "../")
		if top, _, _ := strings.Cut(clean, "/"); !isPath || strings.EqualFold(top, ".git") || strings.ContainsAny(clean, "\x00\r\n\\*?") {
			bad = append(bad, quote(dir))
		}
	}
	switch {
	case len(bad) == 0:
		return nil
	case len(bad) == 1:
		return fmt.Errorf("%s is not a directory in the repository; / alone means everything", bad[0])
	case len(bad) > tomltable.MostProblems:
		bad = append(bad[:tomltable.MostProblems], "…")
	}
	return fmt.Errorf("%s are not directories in the repository; / alone means everything", strings.Join(bad, ", "))
}
