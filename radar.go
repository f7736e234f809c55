package croft

import (
	"context"
	"time"
)

// ConflictsRequest asks for a forecast.
type ConflictsRequest struct {
	Repo string `json:"repo,omitempty"`
}

// Reason says why two pieces of work collide, if not in files.
type Reason string

// The reasons.
const (
	Unrelated   Reason = "unrelated"   // they have no history in common, and git refuses to merge them
	Unmergeable Reason = "unmergeable" // git itself fails when it merges them
)

// Collision is two pieces of work that cannot be merged by themselves one after
// the other: two workspaces, or a workspace and its target.
type Collision struct {
	A        string   `json:"a"`                  // a workspace
	B        string   `json:"b"`                  // a workspace; with IsTarget, a branch
	IsTarget bool     `json:"isTarget,omitempty"` // B is the target of A
	Paths    []string `json:"paths"`              // on which they do not agree
	Reason   Reason   `json:"reason,omitempty"`
}

// Forecast says what would happen if the work of all workspaces were merged as
// it is now.
type Forecast struct {
	Pairs []Collision `json:"pairs"`

	// Order is an order of merging in which few of them meet a conflict, and
	// late. Workspaces that have nothing to merge are not in it.
	Order []string `json:"order"`

	// Skipped are the workspaces that could not be looked at.
	Skipped []Kept `json:"skipped,omitempty"`

	Effort Effort `json:"effort"`
}

// Effort says how a forecast was come by.
type Effort struct {
	Pairs      int `json:"pairs"`      // that were compared
	Remembered int `json:"remembered"` // of them: known from the last forecast
	Pruned     int `json:"pruned"`     // what they touched rules a conflict out
	Merged     int `json:"merged"`     // tried out

	Reading   time.Duration `json:"reading"`   // looking at the workspaces
	Comparing time.Duration `json:"comparing"` // comparing their work
}

// Radar is the part of Service that looks ahead.
type Radar interface {
	// Conflicts forecasts which workspaces will collide with each other and
	// with their target, with all the work that is in them now, committed or
	// not. It compares those that have the same target. Nothing is changed by
	// it, and nothing is left in the repository. Workspaces that changed since
	// the last forecast are compared again, the others are remembered.
	Conflicts(ctx context.Context, req ConflictsRequest) (*Forecast, error)
}
