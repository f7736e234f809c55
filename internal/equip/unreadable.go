package equip

import (
	"fmt"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// UnreadableError returns an error with the line at which the croft.toml of a commit is not TOML.
func (a Asked) UnreadableError(commit string) error {
	return config.UnreadableError(a.text, fmt.Sprintf("the croft.toml of the commit %.7s", commit))
}

// unreadableError returns an error if the croft.toml of a commit, or of the project's checkout, is not TOML. What is asked for is not
// known then, and no answer must say that it is nothing.
func unreadableError(s project.Location, asked Asked, commit string) error {
	if err := asked.UnreadableError(commit); err != nil || !hasSources(s) {
		return err
	}
	tree := fsx.OpenTree(s.Path)
	defer tree.Release()
	text, _ := tree.ReadFile(settingsFile, maxSettings) // there may be none
	return config.UnreadableError(text, "the croft.toml of the project's checkout")
}

// markUnreadable records of a new workspace that nobody can tell what sets it up.
func markUnreadable(rec *journal.Record, asked Asked) {
	if err := asked.UnreadableError(rec.Workspace.Base); err != nil {
		var now croft.Provision
		if p := rec.Workspace.Provision; p != nil {
			now = *p
		}
		now.State, now.Why = croft.ProvisionFailed, croft.AsError("provision", err).Message
		rec.Workspace.Provision = &now
	}
}
