package git

import (
	"path/filepath"

	"github.com/croft-sh/croft/internal/fsx"
)

// BorrowsIn is the file that says from where the own git directory of an isolated
// checkout borrows objects. It is empty if there is none.
func BorrowsIn(checkout string) string {
	file := filepath.Join(checkout, ".git", "objects", "info", "alternates")
	if !fsx.IsThere(file) {
		return ""
	}
	return file
}
