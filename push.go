package croft

import (
	"context"
	"time"
)

// Pushes is the part of Service that brings the work of workspaces to a remote, with the
// user's own credentials, and follows its pull requests there. GitLab's merge requests are
// pull requests, too.
type Pushes interface {
	// Push commits the uncommitted work of a workspace as Save does, and puts the branch of
	// the same name at a remote to the commit that the workspace is at: no other branch, and
	// only if that branch is where Croft last pushed it, or has no commits that the workspace
	// lacks; otherwise it fails with RemoteAdvanced and nothing is pushed. A branch that the workspace has
	// rewritten is rewritten there. With PullRequestOpen it then opens a pull request for the branch, or finds
	// the open one. A second call does nothing again.
	//
	// The remote's address is the accepted one; see GitConfigs. It fails with PushRejected if
	// the remote does not take the commit, with RemoteUnreachable if the remote does not answer
	// or does not know the user, and for an agent with AccessDenied, unless the user allows it.
	Push(ctx context.Context, req PushRequest) (*Pushed, error)

	// RefreshPush asks the host what became of the pull request of a workspace, and records it:
	// whether it was merged, by a merge, a squash or a rebase, whether the target there has
	// the content of what was pushed, or whether it was closed. It changes nothing there.
	RefreshPush(ctx context.Context, req RefreshPushRequest) (*Pushed, error)

	// FetchPullRequest fetches the commits of a pull request into the repository, and says
	// where it begins and where it goes to, for a workspace that is made of it. No ref is written.
	FetchPullRequest(ctx context.Context, req FetchPullRequestRequest) (*PullRequestHead, error)
}

// PullRequestMode says whether a push opens a pull request.
type PullRequestMode string

// The modes.
const (
	PullRequestNone PullRequestMode = ""     // only the branch is pushed
	PullRequestOpen PullRequestMode = "open" // a pull request is opened, unless the branch has an open one
)

// QueueMode says whether a pull request is handed to the merge queue of its host.
type QueueMode string

// The modes.
const (
	QueueNone QueueMode = ""     // a person merges it there
	QueueJoin QueueMode = "join" // the host merges it when its requirements are met
)

// PushRequest names the workspace whose work is pushed.
type PushRequest struct {
	Repo      Ref    `json:"repo,omitempty"`
	Workspace Ref    `json:"workspace,omitempty"` // a name, an ID or a path; default: where Repo lies
	Remote    string `json:"remote,omitempty"`    // default: that of the last push, else origin, else the only one
	Message   string `json:"message,omitempty"`   // of the commit of uncommitted work; default: by the configuration's template

	PullRequest PullRequestMode `json:"pullRequest,omitempty"`
	Title       string          `json:"title,omitempty"` // of the pull request; default: from the commits, or as it is there
	Body        string          `json:"body,omitempty"`  // likewise
	Queue       QueueMode       `json:"queue,omitempty"` // with PullRequestOpen
}

// RefreshPushRequest names the workspace whose pull request is asked for.
type RefreshPushRequest struct {
	Repo      Ref `json:"repo,omitempty"`
	Workspace Ref `json:"workspace,omitempty"` // a name, an ID or a path; default: where Repo lies
}

// FetchPullRequestRequest names a pull request.
type FetchPullRequestRequest struct {
	Repo   Ref    `json:"repo,omitempty"`
	Remote string `json:"remote,omitempty"` // default: origin
	Number int    `json:"number"`           // required
}

// PushOutcome says what a push did at the remote.
type PushOutcome string

// The outcomes.
const (
	PushCreated     PushOutcome = "created"      // the branch is new there
	PushUpToDate    PushOutcome = "up-to-date"   // it had the commit already
	PushFastForward PushOutcome = "fast-forward" // it got the commits that it lacked
	PushRewritten   PushOutcome = "rewritten"    // it was put from commits that the workspace had pushed before to others
	PushRecreated   PushOutcome = "recreated"    // it had been deleted there since the last push, and is there again
	PushMerged      PushOutcome = "merged"       // nothing was pushed: its pull request with this commit is merged
)

// Push is what was last pushed of a workspace.
type Push struct {
	Remote string    `json:"remote"`           // the name of the remote
	URL    string    `json:"url"`              // its address, without a password
	Branch string    `json:"branch"`           // there, without refs/heads/
	Commit string    `json:"commit,omitempty"` // empty: a push was begun and nobody knows yet how it ended
	At     time.Time `json:"at"`
}

// PullRequestState says what became of a pull request.
type PullRequestState string

// The states.
const (
	PullRequestIsOpen   PullRequestState = "open"
	PullRequestMerged   PullRequestState = "merged"
	PullRequestClosed   PullRequestState = "closed"   // without a merge
	PullRequestAdvanced PullRequestState = "advanced" // it was merged, and the workspace has commits since
)

// PullRequest is the pull request of a workspace, as its host last told of it.
type PullRequest struct {
	Number int              `json:"number"`
	URL    string           `json:"url"`
	State  PullRequestState `json:"state"`
	Base   string           `json:"base"`           // the branch that it goes to
	Head   string           `json:"head,omitempty"` // the commit that it is about; of a merged one, that which was merged
	// MergeCommit is the commit of the base by which it was merged, if the host names one.
	MergeCommit string `json:"mergeCommit,omitempty"`
	// Proof says how it was seen that the base has the whole content of Head: ancestor, merge,
	// patches or squash. Without one a merged pull request does not count as integrated.
	Proof string    `json:"proof,omitempty"`
	At    time.Time `json:"at"` // when the host told
}

// Proves reports whether the host has merged exactly this commit, and the base has its content.
// A nil pull request proves nothing.
func (p *PullRequest) Proves(commit string) bool {
	return p != nil && (p.State == PullRequestMerged || p.State == PullRequestAdvanced) && p.Proof != "" && commit != "" && p.Head == commit
}

// Pushed answers for a push, or for a look at one.
type Pushed struct {
	RepoID        ID           `json:"repoId,omitempty"`
	Workspace     ID           `json:"workspace"`
	WorkspaceName string       `json:"workspaceName"`
	Outcome       PushOutcome  `json:"outcome,omitempty"` // absent if nothing was to be pushed
	Push          *Push        `json:"push,omitempty"`
	PullRequest   *PullRequest `json:"pullRequest,omitempty"`
	// Compare is the page of the host where a person opens the pull request, if no tool of the host is installed.
	Compare  string   `json:"compare,omitempty"`
	Remarks  []string `json:"remarks,omitempty"`
	HeldBack []string `json:"heldBack,omitempty"` // files that were not committed, so they were not pushed
}

// PullRequestHead is a pull request whose commits are in the repository.
type PullRequestHead struct {
	Number int    `json:"number"`
	Commit string `json:"commit"`
	Base   string `json:"base,omitempty"`  // the branch that it goes to; empty: no tool of its host is installed that says it
	Title  string `json:"title,omitempty"` // its author's words: show them as text
	URL    string `json:"url,omitempty"`
}
