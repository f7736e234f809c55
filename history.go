package croft

import (
	"context"
	"time"
)

// Operation is one act in the history, which can be undone.
type Operation struct {
	ID            ID        `json:"id"`
	Kind          string    `json:"kind"` // create, remove, restore, undo, …
	RepoID        ID        `json:"repoId,omitempty"`
	Workspace     ID        `json:"workspace,omitempty"`     // the workspace concerned; absent if there are several
	WorkspaceName string    `json:"workspaceName,omitempty"` // the names of all that are concerned, with spaces between
	Workspaces    []ID      `json:"workspaces,omitempty"`    // all that are concerned
	Actor         string    `json:"actor"`                   // the user, or "agent in NAME"
	State         string    `json:"state"`                   // running, done, undone
	StartedAt     time.Time `json:"startedAt"`
	IsUndoable    bool      `json:"undoable"`         // Undo would undo it
	Undoes        ID        `json:"undoes,omitempty"` // the operation that this one undid

	// Target is the branch that a merge or a revert moved, and Commit where it was after that; absent for other acts, and
	// Commit for one that merged several times. IsReverted: a revert has taken it out of the target again since.
	Target     string `json:"target,omitempty"`
	Commit     string `json:"commit,omitempty"`
	IsReverted bool   `json:"reverted,omitempty"`

	// ActorWorkspace is the workspace that the actor's working directory was in, if
	// any.
	ActorWorkspace ID `json:"actorWorkspace,omitempty"`

	// Notes are remarks of an undo, such as parts that it could not restore. They are
	// not recorded.
	Notes []string `json:"notes,omitempty"`
}

// Progress says how far a long act has come. It is told of acts that take more than a second,
// at most twice a second, and is recorded in no list. CreateAll, Remove, Discard, Clean, Reap and GC
// tell it.
type Progress struct {
	Operation ID     `json:"operation"`       // as in the history; the act of GC is not listed there
	Kind      string `json:"kind"`            // of the operation, or "gc"
	Done      int    `json:"done"`            // how many units are done
	Total     int    `json:"total,omitempty"` // how many there are; absent: not known
	Unit      string `json:"unit"`            // what is counted, in the plural
	IsOver    bool   `json:"over,omitempty"`  // the act has ended, whatever came of it; one whose process died does not say so
}

// HistoryRequest chooses operations.
type HistoryRequest struct {
	Repo Ref `json:"repo,omitempty"`
	Page
}

// UndoRequest names an operation to undo.
type UndoRequest struct {
	Key       string `json:"key,omitempty"` // the same call after a crash undoes the same act, and no other
	Repo      Ref    `json:"repo,omitempty"`
	Operation ID     `json:"operation,omitempty"` // default: the last of this actor that is not undone
	// Mode RemoveForce lets an undo move uncommitted work to the trash.
	Mode RemoveMode `json:"mode,omitempty"`
	// Stamps are those of the plan that a person was shown. If one of the workspaces has another by now, Undo
	// fails with WorkChanged, and nothing is undone.
	Stamps map[ID]string `json:"stamps,omitempty"`
}

// UndoPlan lists the steps that an undo would take.
type UndoPlan struct {
	Operation Operation `json:"operation"`
	Steps     []string  `json:"steps"` // one line each

	// Refused is why a step would be refused as things stand, such as that a workspace
	// holds uncommitted work. Its hint says how the undo can be carried out.
	Refused *Error `json:"refused,omitempty"`

	// Later lists acts of other actors that came after the operation and are not undone
	// with it, the last first.
	Later []Operation `json:"later,omitempty"`

	// Stamps stand for the work of the workspaces that the undo would move or put back, by their IDs; see Status.
	Stamps map[ID]string `json:"stamps,omitempty"`
}

// History is the part of Service that lists acts and undoes them.
type History interface {
	// History lists operations, the last first.
	History(ctx context.Context, req HistoryRequest) (*List[Operation], error)

	// Operation finds an operation by its ID, or fails with OperationNotFound.
	Operation(ctx context.Context, req GetRequest) (*Operation, error)

	// PlanUndo returns the steps that Undo would take, and changes nothing.
	PlanUndo(ctx context.Context, req UndoRequest) (*UndoPlan, error)

	// Undo undoes an operation: a workspace that it made goes to the trash, one that it
	// removed is restored. The undo is an operation itself and can be undone. If the
	// request names no operation, Undo undoes the last act of the same actor, and the
	// one before it when it is called again. A caller whose working directory lies in a
	// workspace acts as that workspace, and undoes an act of another actor only by its
	// name. A merge of which the target has nothing any more counts as undone. Undo
	// fails with InvalidRequest if there is nothing to undo, and like Restore and
	// Remove otherwise.
	Undo(ctx context.Context, req UndoRequest) (*Operation, error)
}
