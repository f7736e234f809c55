package lane

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/merge"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
)

// errNextTurn says that a merge cannot be judged before the merges below it in the stack
// have landed or were rejected.
var errNextTurn = errors.New("to be looked at again")

// guardBase rejects an apply if the target changed one of its files since the review: the
// user chose on the base of other files. It runs in the lane, so no other merge comes in
// between. If only a merge below it in the stack changed the file, it returns errNextTurn,
// because that merge may still be rejected.
func (svc *Lanes) guardBase(ctx context.Context, r *project.Project, attempts *mergetree.Session, m journal.Merge, target, tip string) error {
	if m.Kind != croft.KindApply || m.Seen == "" || m.Seen == tip {
		return nil
	}
	if m.Tried != "" {
		// A process may have published the merge and died before it could record that.
		if in, err := r.Git.IsAncestor(ctx, m.Tried, target); err != nil || in {
			return err
		}
	}
	chosen, err := attempts.Diff(ctx, m.Base, m.Head)
	if err != nil {
		return err
	}
	changed, err := attempts.Diff(ctx, m.Seen, target)
	if err != nil {
		return err
	}
	if clash := clashingPaths(chosen, changed); len(clash) > 0 {
		return &croft.Error{
			Code: croft.BaseMoved, Message: fmt.Sprintf("%s has moved since the review, and changed %s of it", m.Target, project.Count(len(clash), "file")),
			Details: strings.Join(clash, "\n"), Hint: "croft review " + shellword.Quote(m.WorkspaceName),
		}
	}
	if tip == target {
		return nil
	}
	if changed, err = attempts.Diff(ctx, m.Seen, tip); err == nil && len(clashingPaths(chosen, changed)) > 0 {
		err = errNextTurn
	}
	return err
}

// clashingPaths lists the chosen paths that the target changed to other content, or
// that cannot exist beside the target's files: a file where the other has a directory.
func clashingPaths(chosen, changed []odb.Change) []string {
	at, above := map[string]odb.Change{}, map[string]bool{} // the changes of the target, and the directories that they are in
	for _, c := range changed {
		at[c.Path] = c
		for dir := range parentDirs(c.Path) {
			above[dir] = true
		}
	}
	var list []string
	for _, c := range chosen {
		other, both := at[c.Path]
		clash := above[c.Path] || both && (other.NewMode != c.NewMode || other.NewOID != c.NewOID)
		for dir := range parentDirs(c.Path) {
			_, is := at[dir]
			clash = clash || is && !c.Deletes()
		}
		if clash {
			list = append(list, merge.PathText(c.Path))
		}
	}
	return list
}

// parentDirs yields the directories that a path lies in.
func parentDirs(path string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path[:i], '/') {
			if !yield(path[:i]) {
				return
			}
		}
	}
}
