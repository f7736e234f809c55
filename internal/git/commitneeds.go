package git

import (
	"context"
	"os"
	"path"
	"path/filepath"
)

// NotAloneError is why an agent cannot be let commit without being let write what is not its own.
type NotAloneError string

// Error returns the sentence.
func (n NotAloneError) Error() string { return string(n) }

// CommitNote is what a person should know who lets an agent write what CommitNeeds lists.
const CommitNote = "an agent that can write its index can have programs run by git outside of the sandbox, yours and the agent's own: " +
	"it adds a repository with settings of its own as a submodule, and git status looks into it. Croft's git does not. Without these rights the agent " +
	"needs no commits: croft save, croft run and the tool save commit from outside"

// CommitNeeds lists the directories that have to be written to commit in a worktree on its branch, and
// after them what in there must not be written. It is less than Needs has:
//
//   - of the refs the directory of the branch alone, and of the reflogs, too. That has to be a directory
//     of the workspace's own, prefix/NAME/leaf, without any other ref: where a branch can be made, all that
//     are there can be moved;
//   - of the objects no packs, and not where else objects are found;
//   - of the worktree's own directory nothing that says where the repository and its settings are.
func (w *Worktree) CommitNeeds(ctx context.Context, branch, name string) ([]Need, error) {
	if w.IsIsolated() || branch == "" {
		return nil, NotAloneError("a sandbox cannot let an agent commit in this workspace: it could write all of the git directory, settings included, which git outside obeys")
	}
	shared := NotAloneError("the branch " + branch + " lies in a directory with others, or others may come there: a sandbox that lets the agent move it lets it move them, too")
	dir := path.Dir(branch)
	if path.Base(dir) != name || path.Dir(dir) == "." || path.Base(branch) == name {
		return nil, shared
	}
	const heads = "refs/heads/"
	list, err := w.Repo.Refs(ctx, heads+dir)
	if err != nil {
		return nil, err
	}
	for _, ref := range list {
		if ref.Name != heads+branch {
			return nil, shared
		}
	}
	common := w.Repo.CommonDir
	refs := filepath.Join(common, "refs", "heads", filepath.FromSlash(dir))
	if info, err := os.Lstat(filepath.Join(refs, path.Base(branch))); err != nil || !info.Mode().IsRegular() {
		return nil, NotAloneError("the branch " + branch + " is no file of its own, as after git pack-refs or in a reftable: a sandbox cannot let the agent move it alone")
	}
	objects := filepath.Join(common, "objects")
	needs := []Need{{Path: common}, {Path: objects, Writable: true}, {Path: refs, Writable: true}, {Path: w.Admin, Writable: true}}
	if logs := filepath.Join(common, "logs", "refs", "heads", filepath.FromSlash(dir)); isDir(logs) {
		needs = append(needs, Need{Path: logs, Writable: true})
	}
	if err := checkPlain(needs); err != nil {
		return nil, err
	}
	for _, sub := range []string{"info", "pack"} {
		needs = append(needs, Need{Path: filepath.Join(objects, sub)})
	}
	for _, file := range []string{"commondir", "config.worktree", "gitdir"} {
		needs = append(needs, Need{Path: filepath.Join(w.Admin, file), IsFile: true})
	}
	return append(needs[1:], Need{Path: filepath.Join(w.Admin, "modules")}), nil
}

func isDir(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.IsDir()
}
