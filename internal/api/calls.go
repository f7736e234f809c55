// Package api says how each call of croft.Service is an HTTP request: its method and path,
// where the fields of the request go, and how answers and errors come back. The daemon
// serves the calls, package client makes them, and the OpenAPI document describes them; all
// three read the same table.
//
// A field whose name stands in braces in the path is a segment of it; "-" stands for the
// empty one. The other fields are the query of a GET and the JSON body of anything else. A
// map is given as name[key]=value in a query, a list by repeating the name.
package api

import (
	"net/http"
	"slices"
)

// Call is how one method of croft.Service is an HTTP request.
type Call struct {
	Name   string // of the method of croft.Service
	Method string // of HTTP
	Path   string // with the names of fields in braces
	Tag    string // the part of the API that it belongs to
	Answer Answer
}

// Answer says with which status a call succeeds.
type Answer string

// The answers.
const (
	AnswerOK      Answer = ""        // 200
	AnswerCreated Answer = "created" // 201, with the location of what was made
	// AnswerMerge is a merge: 200 if it has ended, otherwise 202 with its location. The
	// header "Prefer: wait=N" has the daemon wait so many seconds for its end.
	AnswerMerge Answer = "merge"
)

// Calls returns every call, in the order of the OpenAPI document.
func Calls() []Call { return slices.Clone(calls) }

// ByName returns the call of a method of croft.Service. There is one for each method that
// returns one answer; Events has streams.
func ByName(name string) Call {
	for _, c := range calls {
		if c.Name == name {
			return c
		}
	}
	panic("api: no call " + name) // a test asks for every method
}

const (
	get   = http.MethodGet
	post  = http.MethodPost
	patch = http.MethodPatch
)

var calls = []Call{
	{"Repos", get, "/v1/repos", "repos", AnswerOK},
	{"Repo", get, "/v1/repos/{repo}", "repos", AnswerOK},
	{"CheckRepo", get, "/v1/repos/{repo}/check", "repos", AnswerOK},
	{"Branch", get, "/v1/branches/{branch}", "repos", AnswerOK},
	{"Worktrees", get, "/v1/worktrees", "repos", AnswerOK},
	{"CountActive", get, "/v1/active", "repos", AnswerOK},

	{"Workspaces", get, "/v1/workspaces", "workspaces", AnswerOK},
	{"Create", post, "/v1/workspaces", "workspaces", AnswerCreated},
	{"CreateAll", post, "/v1/workspaces/all", "workspaces", AnswerCreated},
	{"PlanCreate", post, "/v1/workspaces/plan", "workspaces", AnswerOK},
	{"Adopt", post, "/v1/workspaces/adopt", "workspaces", AnswerOK},
	{"Remove", post, "/v1/workspaces/remove", "workspaces", AnswerOK},
	{"Discard", post, "/v1/workspaces/discard", "workspaces", AnswerOK},
	{"Workspace", get, "/v1/workspaces/{ref}", "workspaces", AnswerOK},
	{"UpdateWorkspace", patch, "/v1/workspaces/{workspace}", "workspaces", AnswerOK},
	{"ReportAgent", post, "/v1/workspaces/{workspace}/report", "workspaces", AnswerOK},
	{"BeginRun", post, "/v1/workspaces/{workspace}/runs", "runs", AnswerCreated},
	{"RecordRun", post, "/v1/workspaces/{workspace}/runs/{run}", "runs", AnswerOK},
	{"StopRun", post, "/v1/workspaces/{workspace}/stop", "runs", AnswerOK},
	{"RunLog", get, "/v1/workspaces/{workspace}/output", "runs", AnswerOK},
	{"PlanProvision", post, "/v1/workspaces/plan-provision", "workspaces", AnswerOK},
	{"Provision", post, "/v1/workspaces/{workspace}/provision", "workspaces", AnswerOK},
	{"Status", get, "/v1/workspaces/{workspace}/status", "workspaces", AnswerOK},
	{"Prompt", get, "/v1/workspaces/{ref}/prompt", "workspaces", AnswerOK},
	{"Mounts", get, "/v1/workspaces/{workspace}/mounts", "workspaces", AnswerOK},
	{"Lock", post, "/v1/workspaces/{workspace}/lock", "workspaces", AnswerOK},
	{"Unlock", post, "/v1/workspaces/{workspace}/unlock", "workspaces", AnswerOK},
	{"ArchiveScratch", post, "/v1/workspaces/{workspace}/archive", "workspaces", AnswerOK},
	{"Role", get, "/v1/role", "workspaces", AnswerOK},
	{"CopyRole", post, "/v1/role", "workspaces", AnswerOK},

	{"TakeLease", post, "/v1/workspaces/{workspace}/leases", "leases", AnswerCreated},
	{"Renew", post, "/v1/leases/{lease}/renew", "leases", AnswerOK},
	{"Release", post, "/v1/leases/{lease}/release", "leases", AnswerOK},

	{"TakeSnapshot", post, "/v1/workspaces/{workspace}/snapshots", "snapshots", AnswerCreated},
	{"Snapshots", get, "/v1/snapshots", "snapshots", AnswerOK},
	{"Snapshot", get, "/v1/snapshots/{ref}", "snapshots", AnswerOK},
	{"Trash", get, "/v1/trash", "trash", AnswerOK},
	{"Restore", post, "/v1/trash/{ref}/restore", "trash", AnswerOK},

	{"Save", post, "/v1/workspaces/{workspace}/save", "workspaces", AnswerOK},
	{"SubmitMerge", post, "/v1/workspaces/{workspace}/merge", "merges", AnswerMerge},
	{"SubmitMerges", post, "/v1/merges", "merges", AnswerOK},
	{"Finish", post, "/v1/workspaces/{workspace}/finish", "merges", AnswerMerge},
	{"Resolve", post, "/v1/workspaces/{workspace}/resolve", "merges", AnswerOK},
	{"Merges", get, "/v1/merges", "merges", AnswerOK},
	{"Merge", get, "/v1/merges/{ref}", "merges", AnswerOK},
	{"WaitMerge", get, "/v1/merges/{merge}/wait", "merges", AnswerMerge},
	{"Push", post, "/v1/workspaces/{workspace}/push", "pushes", AnswerOK},
	{"RefreshPush", post, "/v1/workspaces/{workspace}/push/refresh", "pushes", AnswerOK},
	{"FetchPullRequest", post, "/v1/pull-requests/{number}/fetch", "pushes", AnswerOK},
	{"CheckLog", get, "/v1/merges/{merge}/log", "merges", AnswerOK},
	{"PlanRevert", get, "/v1/reverts", "merges", AnswerOK},
	{"SubmitRevert", post, "/v1/reverts", "merges", AnswerMerge},
	{"ResolveRevert", post, "/v1/reverts/resolve", "merges", AnswerCreated},
	{"Lanes", get, "/v1/queues", "queues", AnswerOK},
	{"ChangeQueue", post, "/v1/queues/change", "queues", AnswerOK},
	{"DriveLanes", post, "/v1/queues/run", "queues", AnswerOK},
	{"AcceptTarget", post, "/v1/queues/accept", "queues", AnswerOK},
	{"Conflicts", get, "/v1/conflicts", "queues", AnswerOK},

	{"Diff", get, "/v1/diff", "reviews", AnswerOK},
	{"Commits", get, "/v1/commits", "reviews", AnswerOK},
	{"File", get, "/v1/file", "reviews", AnswerOK},
	{"CreateReview", post, "/v1/workspaces/{workspace}/reviews", "reviews", AnswerCreated},
	{"Review", get, "/v1/reviews/{ref}", "reviews", AnswerOK},
	{"SubmitApply", post, "/v1/reviews/{review}/apply", "reviews", AnswerMerge},

	{"Sessions", get, "/v1/sessions", "sessions", AnswerOK},
	{"StartSession", post, "/v1/sessions", "sessions", AnswerCreated},
	{"Session", get, "/v1/sessions/{ref}", "sessions", AnswerOK},
	{"EndSession", post, "/v1/sessions/{session}/end", "sessions", AnswerOK},
	{"Present", post, "/v1/sessions/{session}/present", "sessions", AnswerCreated},
	{"StartRound", post, "/v1/sessions/{session}/rounds", "rounds", AnswerCreated},
	{"Round", get, "/v1/rounds/{ref}", "rounds", AnswerOK},
	{"EndRound", post, "/v1/rounds/{round}/end", "rounds", AnswerOK},

	{"History", get, "/v1/operations", "operations", AnswerOK},
	{"Operation", get, "/v1/operations/{ref}", "operations", AnswerOK},
	{"PlanUndo", get, "/v1/undo", "operations", AnswerOK},
	{"Undo", post, "/v1/undo", "operations", AnswerOK},

	{"Checks", get, "/v1/checks", "trust", AnswerOK},
	{"Approve", post, "/v1/checks/approve", "trust", AnswerOK},
	{"GitConfig", get, "/v1/git-config", "trust", AnswerOK},
	{"AcceptGitConfig", post, "/v1/git-config/accept", "trust", AnswerOK},

	{"Reap", post, "/v1/upkeep/reap", "upkeep", AnswerOK},
	{"Clean", post, "/v1/upkeep/clean", "upkeep", AnswerOK},
	{"GC", post, "/v1/upkeep/gc", "upkeep", AnswerOK},
	{"Doctor", post, "/v1/upkeep/doctor", "upkeep", AnswerOK},
	{"Pool", get, "/v1/upkeep/pool", "upkeep", AnswerOK},
	{"ChangePool", post, "/v1/upkeep/pool", "upkeep", AnswerOK},
	{"Uninstall", post, "/v1/upkeep/uninstall", "upkeep", AnswerOK},
}
