package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/croft-sh/croft/internal/git/index"
)

// BranchOf is the branch that a name leads to: itself, or what it is a symbolic
// ref to.
func (r *Repository) BranchOf(ctx context.Context, branch string) (string, error) {
	at := branch
	for range 5 { // git follows no more symbolic refs either
		to, err := r.symbolicBranch(ctx, at)
		if err != nil || to == "" {
			return at, err
		}
		next, isBranch := strings.CutPrefix(to, "refs/heads/")
		if !isBranch || !canBeRef(to) {
			return "", &RefError{Ref: "refs/heads/" + branch, Problem: fmt.Sprintf("is a symbolic ref to %.200q, which is no branch", to)}
		}
		at = next
	}
	return "", &RefError{Ref: "refs/heads/" + branch, Problem: "is a symbolic ref that leads nowhere"}
}

// isOn reports whether a git directory has a branch checked out, by its own name
// or by one that is a symbolic ref to it. Those that Croft made are on a branch by
// its own name, and need no second look.
func (r *Repository) isOn(gitDir, branch string) bool {
	b, err := readRefFile(filepath.Join(gitDir, "HEAD"))
	if err != nil {
		return false
	}
	_, ref := parseRefFile(b)
	on, isBranch := strings.CutPrefix(ref, "refs/heads/")
	if !isBranch || on == branch {
		return on == branch && isBranch
	}
	if !r.NativeRefs() || strings.HasPrefix(filepath.Base(gitDir), "croft-") {
		return false
	}
	real, err := r.BranchOf(context.Background(), on)
	return err == nil && real == branch
}

// ReferenceHook is the file of a hook that git would ask before it moves a ref,
// or empty. Croft runs none.
func (r *Repository) ReferenceHook() string {
	path := filepath.Join(r.CommonDir, "hooks", "reference-transaction")
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode()&0o111 == 0 {
		return ""
	}
	return path
}

// IndexTree is the tree that a checkout's index describes.
func (h *BranchCheckout) IndexTree() (string, error) {
	data, _, err := index.ReadFile(filepath.Join(h.gitDir, "index"))
	if err != nil {
		return "", err
	}
	x, err := index.Parse(data, h.repo.objectFormat().NewHash())
	if err != nil {
		return "", err
	}
	root, err := x.Trees(h.repo.objectFormat())
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", root.OID), nil
}
