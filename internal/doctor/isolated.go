package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// ownGit looks whether the project can have all that the git directory of an isolated
// workspace has.
func (d *examination) ownGit(ctx context.Context, rec journal.Record) error {
	w, tree := rec.Workspace, d.r.Trees.At(project.SpecOf(rec))
	if tree.BorrowsElsewhere() {
		d.reportFinding(findBorrows, w.Name, "Its git directory does not borrow objects from where Croft keeps them: that was changed, or the state directory lies elsewhere now.",
			func() error { return d.UnderLock(ctx, d.r, tree.Rejoin) })
		return nil
	}
	left, err := tree.LeftOut(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		d.reportFinding(findLeftOut, w.Name, fmt.Sprintf("Nothing can be brought to the project from its own git directory: %s. "+
			"What was committed there since is nowhere else; git -C %s fsck says more.", oneLine(err), project.ShellWord(w.Path)), nil)
	case len(left) > 0:
		d.reportFinding(findLeftOut, w.Name, fmt.Sprintf("Its own git directory has what cannot be brought to the project: %s. "+
			"It is nowhere else; git -C %s fsck says what is missing. Once that is there again, croft doctor --fix brings it.", tellLeft(left), project.ShellWord(w.Path)), func() error {
			return d.UnderLock(ctx, d.r, func() error {
				still, err := tree.PullAgain(ctx)
				if err == nil && len(still) > 0 {
					err = fmt.Errorf("it still cannot be brought: %s", still[0].Why)
				}
				return err
			})
		})
	}
	return nil
}

// toldLeft is how much of what cannot be brought a sentence names.
const toldLeft = 5

func tellLeft(left []git.LeftOut) string {
	var list []string
	for _, l := range left[:min(len(left), toldLeft)] {
		switch {
		case l.OID != "":
			list = append(list, fmt.Sprintf("%s at %.12s (%s)", l.Name, l.OID, l.Why))
		default:
			list = append(list, fmt.Sprintf("%s (%s)", l.Name, l.Why))
		}
	}
	if more := len(left) - toldLeft; more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, ", ")
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
