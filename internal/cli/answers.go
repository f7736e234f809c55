package cli

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
)

// Answer says which JSON a command prints with --json. docs/schema is generated from the
// answers: the descriptions there are the comments of the types.
type Answer struct {
	Command string // with its parent: "round start"
	Forms   []Form // it prints one of them
}

// Form is one object that a command prints.
type Form struct {
	When string // such as "--dry-run"; empty: otherwise
	Type reflect.Type
}

// Name is the name of the answer's schema.
func (a Answer) Name() string { return strings.ReplaceAll(a.Command, " ", "-") }

// FormatVersion is the version of the JSON that every command prints. It is raised when
// a field is removed or changes its type; fields are added without that.
const FormatVersion = 1

// ErrorForm is printed instead of the answer by a command that fails.
func ErrorForm() Form { return form[errorResult]("") }

func form[T any](when string) Form { return Form{when, reflect.TypeFor[T]()} }

// Answers returns the answers of all commands that have JSON, in the order of the help.
func Answers() []Answer {
	workspace, merges := form[workspaceResult](""), form[mergesResult]("")
	session, plan := form[sessionResult](""), form[cleanResult]("--dry-run")
	return []Answer{
		{"new", []Form{form[workspacesResult]("")}},
		{"list", []Form{form[workspacesResult]("")}},
		{"show", []Form{form[showResult]("")}},
		{"run", []Form{form[runResult]("")}},
		{"stop", []Form{form[runResult]("")}},
		{"path", []Form{form[pathResult]("")}},
		{"env", []Form{form[envResult]("")}},
		{"ports", []Form{form[portsResult]("")}},
		{"hold", []Form{form[leaseResult]("")}},
		{"mounts", []Form{form[mountsResult]("")}},
		{"lock", []Form{workspace}},
		{"unlock", []Form{workspace}},
		{"meta", []Form{workspace}},
		{"repos", []Form{form[reposResult]("")}},
		{"provision", []Form{form[provisionResult](""), form[provisionPlanResult]("--check, --explain")}},
		{"adopt", []Form{form[adoptResult]("")}},
		{"agent report", []Form{form[activityResult]("")}},
		{"remove", []Form{form[removeResult](""), plan}},
		{"snapshot", []Form{form[snapshotResult](""), form[snapshotsResult]("--list")}},
		{"trash", []Form{form[trashResult]("")}},
		{"restore", []Form{form[restoreResult]("")}},
		{"undo", []Form{form[operationResult](""), form[undoPlan]("--dry-run")}},
		{"history", []Form{form[operationsResult]("")}},
		{"events", []Form{form[eventResult]("")}},
		{"role update", []Form{form[roleResult]("")}},
		{"session", []Form{form[sessionsResult]("")}},
		{"session start", []Form{session}},
		{"session end", []Form{session}},
		{"session list", []Form{form[sessionsResult]("")}},
		{"round start", []Form{form[roundResult]("")}},
		{"round end", []Form{form[roundResult]("")}},
		{"round present", []Form{form[workspacesResult]("")}},
		{"round prompt", []Form{form[promptResult]("")}},
		{"round archive", []Form{form[archiveResult]("")}},
		{"save", []Form{form[savedResult]("")}},
		{"finish", []Form{merges}},
		{"merge", []Form{merges, form[resolutionResult]("--resolve"), form[mergePlansResult]("--dry-run")}},
		{"push", []Form{form[pushesResult]("")}},
		{"queue", []Form{merges}},
		{"logs", []Form{form[logResult]("")}},
		{"queue run", []Form{merges}},
		{"queue hold", []Form{merges}},
		{"queue release", []Form{merges}},
		{"queue cancel", []Form{merges}},
		{"queue first", []Form{merges}},
		{"queue accept", []Form{form[laneResult]("")}},
		{"revert", []Form{merges, form[revertPlanResult]("--dry-run"), form[resolutionResult]("--resolve")}},
		{"discard", []Form{merges, plan}},
		{"diff", []Form{form[diffResult]("")}},
		{"review", []Form{form[reviewResult]("")}},
		{"apply", []Form{merges}},
		{"conflicts", []Form{form[croft.Forecast]("")}},
		{"clean", []Form{form[cleanResult]("")}},
		{"reap", []Form{form[cleanResult]("")}},
		{"gc", []Form{form[gcResult]("")}},
		{"pool", []Form{form[poolResult]("")}},
		{"doctor", []Form{form[croft.DoctorResult]("")}},
		{"init", []Form{form[initResult]("")}},
		{"config", []Form{form[valuesResult]("")}},
		{"config get", []Form{form[valuesResult]("")}},
		{"config set", []Form{form[writtenResult]("")}},
		{"config schema", []Form{form[schemaResult]("")}},
		{"config trust", []Form{form[trustResult]("")}},
		{"config accept", []Form{form[gitConfigResult]("")}},
		{"serve", []Form{form[DaemonStatus]("")}},
		{"token", []Form{form[tokensResult]("")}},
		{"token new", []Form{form[tokenResult]("")}},
		{"token list", []Form{form[tokensResult]("")}},
		{"token revoke", []Form{form[tokenResult]("")}},
		{"schema", []Form{form[schemasResult](""), form[schemaResult]("NAME")}},
		{"uninstall", []Form{form[croft.UninstallResult]("")}},
		{"version", []Form{form[versionResult]("")}},
	}
}

// AnswerOf returns the answer of a command line, which is not run.
func AnswerOf(args []string) (Answer, bool) {
	cmd, _, err := newRootCommand(&app{env: Env{Program: "croft"}}).Find(args)
	if err != nil {
		return Answer{}, false
	}
	_, command, _ := strings.Cut(cmd.CommandPath(), " ")
	if command == "" {
		command = "list"
		if slices.Contains(args, "-V") || slices.Contains(args, "--version") {
			command = "version"
		}
	}
	for _, a := range Answers() {
		if a.Command == command {
			return a, true
		}
	}
	return Answer{}, false
}

// workspaceResult is the workspace after the act.
type workspaceResult struct {
	Workspace croft.Workspace `json:"workspace"`
}

// showResult is a workspace, also one that is gone, the last of that name, and what it holds
// beside its commits.
type showResult struct {
	Workspace croft.Workspace `json:"workspace"`
	// Status is null if there are no files to look at: the workspace is gone, or broken.
	Status *croft.Status `json:"status"`
}

// envResult has the variables that a process in a workspace should have.
type envResult struct {
	Env map[string]string `json:"env"`
	// Unknown names what is missing because this process cannot read Croft's record: ports, and
	// env for the variables of croft.toml.
	Unknown []string `json:"unknown,omitempty"`
}

// portsResult lists the ports of workspaces that have some.
type portsResult struct {
	Workspaces []portsOf `json:"workspaces"`
}

// portsOf has the ports of one workspace.
type portsOf struct {
	ID    croft.ID     `json:"id"`
	Name  string       `json:"name"`
	Ports []croft.Port `json:"ports"`
}

// pathResult says where a workspace lies.
type pathResult struct {
	Path string `json:"path"` // absolute
}

// leaseResult is the lease that was taken.
type leaseResult struct {
	Lease *croft.Lease `json:"lease"` // null after --release
}

// mountsResult is what a container needs to work in a workspace.
type mountsResult struct {
	Mounts croft.Mounts `json:"mounts"`
}

// savedResult is the commit that was made.
type savedResult struct {
	Saved croft.Saved `json:"saved"`
}

// snapshotResult is the snapshot that was taken.
type snapshotResult struct {
	Snapshot croft.Snapshot `json:"snapshot"`
}

// snapshotsResult has the snapshots, the oldest first.
type snapshotsResult struct {
	Snapshots []croft.Snapshot `json:"snapshots"`
}

// operationResult is the undo, which is an operation, too. Its notes say what did not come
// back.
type operationResult struct {
	Operation croft.Operation `json:"operation"`
}

// operationsResult has the acts, the last first.
type operationsResult struct {
	Operations []croft.Operation `json:"operations"`
}

// eventResult is one event. `croft events` prints one on every line.
type eventResult struct {
	Event croft.Event `json:"event"`
}

// roleResult is the role whose files were copied.
type roleResult struct {
	Workspace string     `json:"workspace"` // the name of the workspace
	Role      croft.Role `json:"role"`
}

// sessionResult is the session after the act.
type sessionResult struct {
	Session croft.Session `json:"session"`
}

// sessionsResult has the sessions, the oldest first.
type sessionsResult struct {
	Sessions []croft.Session `json:"sessions"`
}

// roundResult is the round after the act.
type roundResult struct {
	Round      croft.Round       `json:"round"`      // without its workspaces
	Workspaces []croft.Workspace `json:"workspaces"` // one for each agent and repository
}

// promptResult is what an agent may be told about its checkout.
type promptResult struct {
	Prompt croft.Prompt `json:"prompt"`
}

// archiveResult is what was kept of a scratch directory.
type archiveResult struct {
	Archive croft.Archive `json:"archive"`
}

// resolutionResult has the conflicts that are left in the workspace.
type resolutionResult struct {
	Resolution croft.Resolution `json:"resolution"`
}

// laneResult is the lane as it was accepted.
type laneResult struct {
	Lane croft.Lane `json:"lane"`
}

// revertPlanResult says what a revert would meet.
type revertPlanResult struct {
	Plan croft.RevertPlan `json:"plan"`
}

// diffResult is the work of a workspace. It is a review that is not kept, without an ID.
type diffResult struct {
	Diff croft.Review `json:"diff"`
}

// reviewResult is the work of a workspace at this moment. It is kept.
type reviewResult struct {
	Review croft.Review `json:"review"`
}

// valuesResult has every setting.
type valuesResult struct {
	Values []ConfigValue `json:"values"`
}

// writtenResult has the setting that was written, and the one that counts here.
type writtenResult struct {
	Value ConfigValue `json:"value"` // its source is the file and the line
	// Holds is the setting as Croft uses it here. It has another source if a stronger one sets it, too.
	Holds ConfigValue `json:"holds"`
}

// schemaResult is one JSON Schema.
type schemaResult struct {
	Schema json.RawMessage `json:"schema"`
}

// trustResult has the checks of a target. The exit status is 5 while they are not approved,
// and 0 with --dry-run.
type trustResult struct {
	Trust croft.CheckPlan `json:"trust"`
}

// gitConfigResult is a comparison of the repository's git configuration with what Croft uses. The
// exit status is 5 while there is a difference that is not accepted.
type gitConfigResult struct {
	GitConfig croft.GitConfig `json:"gitConfig"`
	Accepted  bool            `json:"accepted"` // by this call
}

// schemasResult has the names of the schemas.
type schemasResult struct {
	Schemas []SchemaEntry `json:"schemas"`
}

// SchemaEntry is one schema in the list of `croft schema`.
type SchemaEntry struct {
	Name  string `json:"name"`  // for `croft schema NAME`
	Title string `json:"title"` // what it describes
}

// versionResult is the program's version.
type versionResult struct {
	Croft string `json:"croft"`
	Go    string `json:"go"` // the version of Go that it was built with
	OS    string `json:"os"`
	Arch  string `json:"arch"`
}

// errorResult says why a command failed.
type errorResult struct {
	Error croft.Error `json:"error"`
}
