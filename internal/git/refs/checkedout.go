package refs

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/parallel"
)

// CheckedOut returns the git directories that have a branch checked out, without except. A
// branch that is being rebased or bisected counts, as it does for git, although HEAD is
// detached meanwhile. A directory of git directories that cannot be listed is returned itself, because
// one of them may have the branch.
func (r *Repository) CheckedOut(branch, except string) []string {
	return r.ReadHeads().CheckedOut(branch, except)
}

// Heads are what HEAD of each git directory was when they were read, for an act that asks for several branches.
type Heads struct {
	repo *Repository
	main head
	dirs []headsIn
}

// headsIn are the git directories in one directory.
type headsIn struct {
	parent   string
	names    []string
	heads    []head
	isClosed bool // it cannot be listed
}

// ReadHeads reads HEAD of each git directory.
func (r *Repository) ReadHeads() *Heads {
	h := &Heads{repo: r}
	h.main.on, h.main.isOn = r.headBranch(r.CommonDir)
	for _, parent := range []string{filepath.Join(r.CommonDir, "worktrees"), r.IsolatedDir()} {
		h.dirs = append(h.dirs, r.headsBelow(parent))
	}
	return h
}

// CheckedOut is [Repository.CheckedOut] as of the time when the heads were read.
func (h *Heads) CheckedOut(branch, except string) []string {
	r := h.repo
	var found []string
	if !r.Bare && except != r.CommonDir && r.isInUse(r.CommonDir, h.main.on, h.main.isOn, branch) {
		found = append(found, r.CommonDir)
	}
	for _, in := range h.dirs {
		if in.isClosed {
			found = append(found, in.parent)
			continue
		}
		var here []string
		for i, name := range in.names {
			was := in.heads[i]
			if was.isOn && was.on != branch && isCroftAdmin(name) {
				continue
			}
			if dir := filepath.Join(in.parent, name); dir != except && r.isInUse(dir, was.on, was.isOn, branch) {
				here = append(here, dir)
			}
		}
		slices.Sort(here)
		found = append(found, here...)
	}
	return found
}

// headsBelow reads HEAD of the git directories in one directory. There may be thousands.
func (r *Repository) headsBelow(parent string) headsIn {
	list, err := fsx.List(parent)
	if errors.Is(err, fs.ErrNotExist) {
		return headsIn{parent: parent}
	}
	if err != nil {
		return headsIn{parent: parent, isClosed: true}
	}
	defer list.Close()
	known := r.heads.in(parent)
	heads := make([]head, len(list.Names))
	now, remembers := time.Now(), keepsTimes(list)
	parallel.Each(len(list.Names), func(i int) {
		if remembers {
			heads[i] = rereadHead(list, list.Names[i], known, now)
		} else {
			heads[i] = readHead(list, list.Names[i])
		}
	})
	r.heads.note(parent, list.Names, heads)
	return headsIn{parent: parent, names: list.Names, heads: heads}
}

// isInUse reports whether a git directory has a branch checked out, by the branch that its HEAD is on, or
// rebases or bisects it. In Croft's worktrees HEAD is detached meanwhile; in one whose HEAD is on another
// branch nothing else is looked for.
func (r *Repository) isInUse(gitDir, on string, isOn bool, branch string) bool {
	if isOn && r.leadsTo(gitDir, on, branch) {
		return true
	}
	return (!isOn || !isCroftAdmin(gitDir)) && isRebasedOrBisected(gitDir, branch)
}

// isRebasedOrBisected reports whether a rebase or bisect of the branch is in progress.
func isRebasedOrBisected(gitDir, branch string) bool {
	full := "refs/heads/" + branch
	for _, file := range [...]struct{ name, holds string }{
		{"rebase-merge/head-name", full}, {"rebase-apply/head-name", full}, {"BISECT_START", branch},
	} {
		if b, err := fsx.ReadSmall(filepath.Join(gitDir, file.name)); err == nil && strings.TrimSpace(string(b)) == file.holds {
			return true
		}
	}
	return false
}
