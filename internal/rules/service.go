// Package rules reads how a target wants work to be merged, from the croft.toml that its own
// tip has, and knows which of its checks a person has approved.
//
// What a workspace says about itself decides nothing. A change of the rules that could not
// be read is refused with the merge that brings it. Commands are approved by a person, by
// their hash, per project; who acts from inside a workspace approves nothing.
//
// It owns the approvals below the state directory.
package rules

import (
	"github.com/croft-sh/croft/internal/project"
)

// Rules are the rules of all targets.
type Rules struct {
	*project.Projects

	lastRules lastRules
}
