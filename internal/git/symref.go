package git

import (
	"fmt"
	"path/filepath"

	"github.com/croft-sh/croft/internal/git/index"
)

// IndexTree returns the tree of a checkout's index.
func (h *BranchCheckout) IndexTree() (string, error) {
	data, _, err := index.ReadFile(filepath.Join(h.gitDir, "index"))
	if err != nil {
		return "", err
	}
	x, err := index.Parse(data, h.repo.ObjectFormat().NewHash())
	if err != nil {
		return "", err
	}
	root, err := x.Trees(h.repo.ObjectFormat())
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", root.OID), nil
}
