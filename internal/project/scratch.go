package project

import (
	"cmp"
	"path/filepath"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/layout"
)

// scratchName is the name of the scratch directory in a layout's workspaces, or
// empty where they have none.
func (r *Project) scratchName(name string) string {
	l, err := layout.Preset(cmp.Or(name, r.Config.Layout))
	if err != nil {
		return r.Config.Checkout.Scratch
	}
	return cmp.Or(r.Config.Checkout.Scratch, l.Scratch)
}

// ScratchOf is the scratch directory of a workspace, or empty.
func (r *Project) ScratchOf(w croft.Workspace) string {
	name := r.scratchName(w.Layout)
	if name == "" || w.Mode == croft.ModeLegacy {
		return ""
	}
	return filepath.Join(w.Path, name)
}
