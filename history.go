package croft

import (
	"context"
	"time"
)

// Operation is one act, with its undo.
type Operation struct {
	ID         ID        `json:"id"`
	Kind       string    `json:"kind"`                // create, remove, restore, undo, …
	Workspace  string    `json:"workspace,omitempty"` // the names of those concerned
	Actor      string    `json:"actor"`               // the user, or "agent in NAME"
	State      string    `json:"state"`               // running, done, undone
	StartedAt  time.Time `json:"startedAt"`
	IsUndoable bool      `json:"undoable"`
	Undoes     ID        `json:"undoes,omitempty"` // the operation that this one took back

	// ActorWorkspace is the workspace in which the actor stood, if it was one.
	ActorWorkspace ID `json:"actorWorkspace,omitempty"`

	// Notes are remarks of an undo, such as what did not come back. They are
	// not remembered.
	Notes []string `json:"notes,omitempty"`
}

// HistoryRequest chooses operations.
type HistoryRequest struct {
	Repo  string `json:"repo,omitempty"`
	Limit int    `json:"limit,omitempty"` // default: 100
}

// UndoRequest names an operation to undo.
type UndoRequest struct {
	Repo      string `json:"repo,omitempty"`
	Operation ID     `json:"operation,omitempty"` // default: the last of this actor that is not undone
	// Mode RemoveForce lets an undo move uncommitted work to the trash.
	Mode RemoveMode `json:"mode,omitempty"`
}

// UndoPlan says what an undo would do.
type UndoPlan struct {
	Operation Operation `json:"operation"`
	Steps     []string  `json:"steps"` // one line each

	// Refused is why a step would be refused as things stand, such as that a workspace
	// holds uncommitted work. Its hint says how the undo takes place.
	Refused *Error `json:"refused,omitempty"`

	// Later are acts of other actors that came after and stay, the last first.
	Later []Operation `json:"later,omitempty"`
}

// History is the part of Service that lists acts and undoes them.
type History interface {
	// History lists operations, the last first.
	History(ctx context.Context, req HistoryRequest) ([]Operation, error)

	// PlanUndo says what Undo would do, and does nothing.
	PlanUndo(ctx context.Context, req UndoRequest) (*UndoPlan, error)

	// Undo undoes an operation: what was made goes to the trash, what was removed is
	// restored. It is an operation itself and can be undone. Without a name it undoes
	// the last act of the same actor, and the one before it when it is called again.
	// A caller whose working directory lies in a workspace acts as that workspace, and
	// undoes an act of another actor only by its name. A merge of which the target has
	// nothing any more counts as undone. It fails with InvalidRequest if there is
	// nothing to undo, and like Restore and Remove otherwise.
	Undo(ctx context.Context, req UndoRequest) (*Operation, error)
}
