package refs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/croft-sh/croft/internal/git/gitdir"
)

// BranchOf returns the branch that a branch name resolves to: itself, or the target of a
// symbolic ref.
func (r *Repository) BranchOf(ctx context.Context, branch string) (string, error) {
	at := branch
	for range 5 { // git follows no more symbolic refs either
		to, err := r.SymbolicBranch(ctx, at)
		if err != nil || to == "" {
			return at, err
		}
		next, isBranch := strings.CutPrefix(to, "refs/heads/")
		if !isBranch || !gitdir.CanBeRef(to) {
			return "", &Error{Ref: "refs/heads/" + branch, Problem: fmt.Sprintf("is a symbolic ref to %.200q, which is no branch", to)}
		}
		at = next
	}
	return "", &Error{Ref: "refs/heads/" + branch, Problem: "is a symbolic ref that leads nowhere"}
}

// HasCheckedOut reports whether a git directory has a branch checked out, by its own name or by a
// symbolic ref to it.
func (r *Repository) HasCheckedOut(gitDir, branch string) bool {
	on, isOn := r.headBranch(gitDir)
	return isOn && r.leadsTo(gitDir, on, branch)
}

// headBranch returns the branch that HEAD of a git directory names.
func (r *Repository) headBranch(gitDir string) (branch string, isOn bool) {
	return branchIn(gitdir.ReadRefFile(filepath.Join(gitDir, "HEAD")))
}

// branchIn returns the branch that HEAD names, by what reading it returned.
func branchIn(head []byte, err error) (branch string, isOn bool) {
	if err != nil {
		return "", false
	}
	_, ref := gitdir.ParseRefFile(head)
	return strings.CutPrefix(ref, "refs/heads/")
}

// leadsTo reports whether the branch that a git directory is on is a branch, or a symbolic ref to
// it.
func (r *Repository) leadsTo(gitDir, on, branch string) bool {
	if on == branch || !r.HasNativeRefs() || isCroftAdmin(gitDir) {
		return on == branch
	}
	real, err := r.BranchOf(context.Background(), on)
	return err == nil && real == branch
}

// isCroftAdmin reports whether a git directory has the name of those that Croft makes.
func isCroftAdmin(gitDir string) bool { return strings.HasPrefix(filepath.Base(gitDir), "croft-") }

// ReferenceHook returns the path of the reference-transaction hook, which git would run
// before it moves a ref, or "". Croft runs no hook.
func (r *Repository) ReferenceHook() string {
	path := filepath.Join(r.CommonDir, "hooks", "reference-transaction")
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode()&0o111 == 0 {
		return ""
	}
	return path
}

// SymbolicBranch returns the target of a branch that is a symbolic ref, or "".
func (r *Repository) SymbolicBranch(ctx context.Context, branch string) (string, error) {
	ref := "refs/heads/" + branch
	if !isRefPath(ref) {
		return "", nil
	}
	if !r.HasNativeRefs() {
		return r.SymbolicRef(ctx, ref)
	}
	b, err := gitdir.ReadRefFile(filepath.Join(r.CommonDir, filepath.FromSlash(ref)))
	if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ENAMETOOLONG) {
		return "", err
	}
	_, to := gitdir.ParseRefFile(b)
	return to, nil
}
