package croft

import (
	"context"
)

// ConflictsRequest asks for a forecast.
type ConflictsRequest struct {
	Repo Ref `json:"repo,omitempty"`
}

// Reason says why two pieces of work collide, if not in files.
type Reason string

// The reasons of a collision.
const (
	Unrelated   Reason = "unrelated"   // they have no history in common, and git refuses to merge them
	Unmergeable Reason = "unmergeable" // git itself fails when it merges them
)

// ForecastState says whether the collisions of a workspace are known.
type ForecastState string

// The states of a forecast in a listing.
const (
	ForecastKnown   ForecastState = "known"   // the commits of all workspaces with its target are as in the last forecast, or it has no work
	ForecastUnknown ForecastState = "unknown" // there was no forecast, or there are new commits since: it may collide with more
)

// Collision is two pieces of work that cannot be merged by themselves one after
// the other: two workspaces, or a workspace and its target. Two workspaces of which one
// conflicts with the target, where the other changed nothing itself, are none.
type Collision struct {
	A        string   `json:"a"`                  // a workspace
	B        string   `json:"b"`                  // a workspace; with IsTarget, a branch
	AID      ID       `json:"aId,omitempty"`      // of A
	BID      ID       `json:"bId,omitempty"`      // of B
	IsTarget bool     `json:"isTarget,omitempty"` // B is the target of A
	Paths    []string `json:"paths"`              // on which they do not agree
	Reason   Reason   `json:"reason,omitempty"`   // absent: the paths say it
}

// Forecast says what would happen if the work of all workspaces were merged as
// it is now.
type Forecast struct {
	Pairs []Collision `json:"pairs"`

	// Order is an order of merging in which few of them meet a conflict, and
	// late. Workspaces that have nothing to merge are not in it.
	Order []string `json:"order"`

	// Skipped are the workspaces that could not be read, with the reason.
	Skipped []Kept `json:"skipped,omitempty"`

	Effort Effort `json:"effort"`
}

// Effort says how many pairs a forecast compared by which means, and how long it took.
type Effort struct {
	Pairs      int `json:"pairs"`      // pairs that were compared
	Remembered int `json:"remembered"` // pairs whose result is known from the last forecast
	Pruned     int `json:"pruned"`     // pairs whose changed paths rule a conflict out
	Merged     int `json:"merged"`     // pairs that were merged to find out

	Reading   Duration `json:"reading"`   // looking at the workspaces
	Comparing Duration `json:"comparing"` // comparing their work
}

// Radar is the part of Service that forecasts conflicts.
type Radar interface {
	// Conflicts forecasts which workspaces will collide with each other and with their
	// target, with all the work that is in them now, committed or not. It compares the
	// workspaces that have the same target. Nothing is changed by it, and nothing is
	// left in the repository. Workspaces that changed since the last forecast are
	// compared again; for the others the last result is used.
	Conflicts(ctx context.Context, req ConflictsRequest) (*Forecast, error)
}
