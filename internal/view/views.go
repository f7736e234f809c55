// Package view shows workspaces: what the journal records of each, and what git and the
// disk say of it now.
//
// It owns nothing and changes nothing. A view is made from a few small files per workspace,
// on all cores, so that hundreds can be listed in the time of some git commands.
package view

import (
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/radar"
)

// Views shows workspaces.
type Views struct {
	*project.Projects
	Forecasts *radar.Forecasts // required: the last forecasts are shown
	Approvals Approvals        // required
}
