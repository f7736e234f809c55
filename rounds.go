package croft

import (
	"context"
	"time"
)

// SessionState says how far a session has come.
type SessionState string

// The states of a session.
const (
	SessionOpen  SessionState = "open"
	SessionEnded SessionState = "ended"
)

// Retention says how many branches of ended rounds an agent has in a session,
// beside the one that it works on: "one", "all", or a number. A branch that goes
// is archived; its workspace can be restored from the trash.
type Retention string

const (
	// RetainOne deletes an agent's branch when its next round has ended: until
	// then it holds its newest work. It is the default.
	RetainOne Retention = "one"
	// RetainAll keeps all branches until the session ends.
	RetainAll Retention = "all"
)

// Session groups the rounds of one undertaking.
type Session struct {
	ID        ID                `json:"id"`
	Name      string            `json:"name,omitempty"`
	RepoID    ID                `json:"repoId,omitempty"`
	Revision  int               `json:"revision,omitempty"` // counts its changes, for IfRevision
	Repo      string            `json:"repo"`               // the project that it was started in, or its own empty one
	Layout    string            `json:"layout"`             // how branches and scratch directories are called
	Retention Retention         `json:"retention"`          // how many branches of ended rounds an agent keeps
	State     SessionState      `json:"state"`
	StartedAt time.Time         `json:"startedAt"`
	EndedAt   time.Time         `json:"endedAt,omitzero"`
	Agents    []Agent           `json:"agents,omitempty"`
	Meta      map[string]string `json:"meta,omitempty"` // what callers record with it
	Rounds    []RoundSummary    `json:"rounds,omitempty"`
}

// Agent is one worker of a session, over all its rounds.
type Agent struct {
	Name string `json:"name"`
	// Home is a directory of its own that outlives rounds. Its checkouts lie
	// in it, and the archive of everybody's scratch.
	Home string `json:"home"`
}

// RoundState says how far a round has come.
type RoundState string

// The states of a round.
const (
	RoundOpen  RoundState = "open"
	RoundEnded RoundState = "ended"
)

// RoundSummary is a round in the list of a session.
type RoundSummary struct {
	ID     ID         `json:"id"`
	Number int        `json:"number"`
	State  RoundState `json:"state"`
}

// Round is one turn of agents, each with a fresh checkout and branch.
type Round struct {
	ID        ID         `json:"id"`
	RepoID    ID         `json:"repoId,omitempty"`
	Session   ID         `json:"session"`
	Number    int        `json:"number"` // from 1
	State     RoundState `json:"state"`
	StartedAt time.Time  `json:"startedAt"`
	EndedAt   time.Time  `json:"endedAt,omitzero"`
	// Workspaces has one entry for each agent and repository, in the order of
	// the request: all repositories of the first agent, then the next one's.
	Workspaces []Workspace `json:"workspaces,omitempty"`
	// HeldBack names what agents left when the round ended and Croft did not
	// commit: what looks like a secret, repositories in the checkout, and edits
	// of files that git was told not to look at. What is large is committed.
	HeldBack []HeldBack `json:"heldBack,omitempty"`
	// Absent names the checkouts that were not found when the round was ended by
	// force. What is committed or staged is kept; of an isolated one, as of the last
	// time that Croft looked.
	Absent []AbsentCheckout `json:"absent,omitempty"`
	// Failed names the workspaces that could not be put away when the round
	// ended, with the reason. They are as they were.
	Failed []Kept `json:"failed,omitempty"`
}

// HeldBack is what was not committed of one workspace of a round.
type HeldBack struct {
	Workspace ID       `json:"workspace"`
	Agent     string   `json:"agent"`
	Label     string   `json:"label"`
	Paths     []string `json:"paths"` // in the checkout
	// Archive is a directory with copies of the files among them, which only
	// the user of this process can read. No agent is given them.
	Archive string `json:"archive,omitempty"`
}

// AbsentCheckout is a checkout that was not found when its round ended. Work that was
// neither committed nor staged there is only in that directory, wherever it is now. The
// same holds for commits in an isolated checkout that Croft had not pulled yet.
type AbsentCheckout struct {
	Workspace ID     `json:"workspace"`
	Agent     string `json:"agent"`
	Label     string `json:"label"`
	// Path is where it was. Once it is there again, Restore takes it as it is;
	// without it, Restore makes one of what is kept.
	Path string `json:"path"`
}

// Context says what project the agents of a session work on.
type Context string

const (
	// ContextRepo is the project of the request. It is the default.
	ContextRepo Context = ""
	// ContextNone: there is none. The session gets an empty project of its own.
	ContextNone Context = "none"
)

// SessionRequest asks for a session. The zero value is a request for a new one
// in the project of the caller's directory.
type SessionRequest struct {
	Key       string    `json:"key,omitempty"` // the same call after a crash returns the same session
	Repo      Ref       `json:"repo,omitempty"`
	Context   Context   `json:"context,omitempty"`
	Name      string    `json:"name,omitempty"`
	Layout    string    `json:"layout,omitempty"`    // default: rounds
	Retention Retention `json:"retention,omitempty"` // default: one

	Meta map[string]string `json:"meta,omitempty"` // recorded with it; see CreateRequest
}

// SessionsRequest chooses sessions.
type SessionsRequest struct {
	Repo  Ref   `json:"repo,omitempty"`
	Repos Scope `json:"repos,omitempty"` // ScopeAll: of all projects; Repo is not looked at
	// States are those wanted. Default: the open ones.
	States []SessionState    `json:"states,omitempty"`
	Meta   map[string]string `json:"meta,omitempty"` // only those with all of these entries
	Page
}

// Carry says what becomes of uncommitted changes in the project's checkout when
// a round starts.
type Carry string

const (
	// CarryNothing starts from the base as it was committed. It is the default.
	CarryNothing Carry = ""
	// CarryDirty commits them, for the round only, on top of the base; agents
	// start from there. The project's own checkout and index stay as they are.
	CarryDirty Carry = "dirty"
)

// RoundRequest asks for a round.
type RoundRequest struct {
	Key     string   `json:"key,omitempty"`    // of this session
	Session Ref      `json:"session"`          // an ID, or a name
	Number  int      `json:"number,omitempty"` // of a round that was started before: that one. Default: the next
	Agents  []string `json:"agents"`           // required; names that only the caller sees
	Repos   []string `json:"repos,omitempty"`  // directories in the projects; default: the session's own
	Base    string   `json:"base,omitempty"`   // any commit; default: what is checked out
	Mode    Mode     `json:"mode,omitempty"`   // default: auto
	Carry   Carry    `json:"carry,omitempty"`

	// Homes are directories of the caller's choice, by agent, absolute.
	// Default: one that Croft makes, whose name says nothing.
	Homes map[string]string `json:"homes,omitempty"`
	// Branches are explicit names of branches, by agent. Default: random ones.
	Branches map[string]string `json:"branches,omitempty"`
	// Labels are the names under which the others see an agent. In a session a
	// label belongs to one agent, which may have it in several rounds; then an
	// agent can find out which it has had. Default: new ones in every round.
	Labels map[string]string `json:"labels,omitempty"`
}

// EndMode says what the end of a round does about checkouts that it cannot put away.
type EndMode string

const (
	// EndSafe leaves a checkout that a process is in, or that is not found, as it is. It
	// is the default.
	EndSafe EndMode = ""
	// EndForce does not wait for processes which do not leave: what they have written is
	// committed and archived, and they go on in the trash. A checkout that is not found
	// ends with what is committed. A lease still keeps a checkout.
	EndForce EndMode = "force"
)

// EndRoundRequest names a round to end.
type EndRoundRequest struct {
	Key   string  `json:"key,omitempty"` // of this round
	Round ID      `json:"round"`
	Mode  EndMode `json:"mode,omitempty"`
}

// EndSessionRequest names a session to end.
type EndSessionRequest struct {
	Key     string `json:"key,omitempty"`
	Session Ref    `json:"session"` // an ID, or a name

	IfRevision int `json:"ifRevision,omitempty"` // fails with RevisionChanged if the session is at another revision
}

// PresentRequest asks for the workspace in which a session's result is finished.
type PresentRequest struct {
	Key     string `json:"key,omitempty"`  // of this session
	Session Ref    `json:"session"`        // an ID, or a name
	Winner  string `json:"winner"`         // an agent, or the ID of one of its workspaces
	Repo    Ref    `json:"repo,omitempty"` // of several; default: the first
	Mode    Mode   `json:"mode,omitempty"`
	Home    string `json:"home,omitempty"` // absolute; where it lies, with everybody's archives. Default: one that Croft makes
}

// ArchiveRequest asks for a copy of a workspace's scratch.
type ArchiveRequest struct {
	Key       string `json:"key,omitempty"`
	Repo      Ref    `json:"repo,omitempty"`
	Workspace Ref    `json:"workspace,omitempty"` // a name, an ID or a path
	Label     string `json:"label,omitempty"`     // default: the workspace's label, else the end of its branch

	IfRevision int `json:"ifRevision,omitempty"` // fails with RevisionChanged if the workspace is at another revision
}

// Archive is what was kept of a scratch directory.
type Archive struct {
	Label string   `json:"label"`
	Paths []string `json:"paths"` // where it lies now; empty: there was nothing in it
}

// Prompt is what an agent may be told about its checkout. Nothing in it says
// which agent it is.
type Prompt struct {
	Branch string `json:"branch"`
	// Others has the newest branch of every other agent, by its label, be it
	// of this round, of an earlier one or of a later one.
	Others map[string]string `json:"others"`
	// Earlier has what else is still there of the session, by label. Text
	// shows both without saying what was the agent's own.
	Earlier map[string]string `json:"earlier,omitempty"`
	// Elsewhere has the agent's checkouts of the session's other repositories.
	Elsewhere []PromptCheckout `json:"elsewhere,omitempty"`
	Scratch   string           `json:"scratch,omitempty"`
	Archive   string           `json:"archive,omitempty"`
	// HeldBack names the files that were left in earlier rounds and not
	// committed, by label and round.
	HeldBack map[string][]string `json:"heldBack,omitempty"`
	Text     string              `json:"text"`    // a section for a system prompt
	Restart  string              `json:"restart"` // the same for an agent that is started again
}

// PromptCheckout is what an agent may be told about its checkout of another
// repository.
type PromptCheckout struct {
	Path    string            `json:"path"`
	Branch  string            `json:"branch"`
	Others  map[string]string `json:"others"`
	Earlier map[string]string `json:"earlier,omitempty"`
}

// Rounds is the part of Service for those who let several agents attempt one
// task in turns: a fresh checkout for each agent and round, under names that
// tell nobody who is who.
//
// Every call may be made again, after a crash or by another process: it goes on
// where the first was interrupted, and returns the same.
type Rounds interface {
	// StartSession begins a session.
	StartSession(ctx context.Context, req SessionRequest) (*Session, error)

	// Session finds a session by its ID or, among the open ones, its name; or
	// fails with SessionNotFound.
	Session(ctx context.Context, req GetRequest) (*Session, error)

	// Sessions lists sessions, oldest first.
	Sessions(ctx context.Context, req SessionsRequest) (*List[Session], error)

	// StartRound makes the checkouts of a round in all its repositories, all
	// or none. Each has a label that no agent had before in the session, unless
	// the request gives it one. An agent whose earlier round is still open
	// fails with RoundBusy; others may start while it is.
	StartRound(ctx context.Context, req RoundRequest) (*Round, error)

	// Round finds a round by its ID, or fails with RoundNotFound.
	Round(ctx context.Context, req GetRequest) (*Round, error)

	// EndRound commits what agents left uncommitted, archives their scratch in
	// the homes of all, and moves the checkouts to the trash. Their branches
	// stay, and earlier ones of these agents go as the retention says.
	// An agent for which that fails is named in the result, and does not keep
	// the others from ending; calling again tries it again. So is one whose
	// checkout is not found.
	EndRound(ctx context.Context, req EndRoundRequest) (*Round, error)

	// Present makes the workspace in which the result of a session is reviewed. It
	// starts from the winner's last commit and has a target; the workspaces of rounds
	// have none, so only changes from this one are merged into the project. The session
	// stays open.
	Present(ctx context.Context, req PresentRequest) (*Workspace, error)

	// EndSession ends what is open and deletes the session's branches. Their
	// workspaces can be restored while they are in the trash.
	EndSession(ctx context.Context, req EndSessionRequest) (*Session, error)

	// ArchiveScratch copies the scratch of a live workspace to the archives.
	ArchiveScratch(ctx context.Context, req ArchiveRequest) (*Archive, error)

	// Prompt describes a workspace of an open round to its agent.
	Prompt(ctx context.Context, req WorkspaceRequest) (*Prompt, error)
}
