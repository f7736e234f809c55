package equip

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// placeSubmodules fills the submodules of a new workspace from the project's own copies, if the settings ask for
// it. Those of the workspace's own commit do not count.
func (svc *Equipment) placeSubmodules(ctx context.Context, r *project.Project, rec *journal.Record) error {
	conf := r.Config.Provision
	if !conf.Submodules || rec.Workspace.Base == "" {
		return nil
	}
	fill := git.SubmoduleFill{Commit: rec.Workspace.Base, MaxBytes: conf.MaxBytes, Workers: r.Config.Checkout.Workers}
	if total, err := fsx.TotalSpace(rec.Workspace.Path); err == nil {
		fill.MinFree, _ = config.FreeBytes(conf.MinFree, total)
	}
	filled, err := r.Trees.At(project.SpecOf(*rec)).FillSubmodules(ctx, fill)
	if err != nil {
		return err
	}
	for _, f := range filled {
		done := croft.ProvisionedPath{Path: f.Path, Wanted: croft.ProvisionCheckout, How: croft.ProvisionCheckout, Files: f.Files, Bytes: f.Bytes}
		if f.Why != "" {
			done.How, done.Why = croft.ProvisionSkip, f.Why
		}
		rec.AddProvisioned(done)
	}
	return nil
}
