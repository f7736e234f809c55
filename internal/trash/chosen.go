package trash

import (
	"context"
	"slices"

	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// chosenPatterns returns the patterns of the ignored files that a snapshot saves.
func chosenPatterns(r *project.Project) []string {
	return slices.Concat(r.Config.Snapshot.Ignored, r.Config.Snapshot.Secrets)
}

// chosenFiles lists the ignored files of a removed workspace that a snapshot saves, without those that are
// as Croft put them there. Nothing else keeps them.
func (svc *Trash) chosenFiles(ctx context.Context, r *project.Project, rec journal.Record, p *git.TrashedGit) ([]string, error) {
	found, err := p.Ignored(ctx, chosenPatterns(r))
	if err != nil || len(found) == 0 {
		return nil, err
	}
	isAsCopied, release := svc.Removals.Equipment.AsCopied(r, rec, p.Path)
	defer release()
	return slices.DeleteFunc(found, func(name string) bool {
		return name == project.StateFile || isPlaced(p.Path, rec, name) || isAsCopied(name)
	}), nil
}
