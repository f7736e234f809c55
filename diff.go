package croft

// Detail says how much of each file a difference shows.
type Detail string

// The details of differences.
const (
	DetailLines Detail = ""      // hunks with their lines
	DetailHunks Detail = "hunks" // where the hunks are, without their lines
	DetailStat  Detail = "stat"  // only how many lines were added and deleted
)

// DiffRequest names work that is to be shown: that of a workspace as it is now, of a
// review as it was frozen, or of a merge. At most one of Workspace, Review and Merge is
// given.
type DiffRequest struct {
	Repo      Ref `json:"repo,omitempty"`      // not looked at for a merge
	Workspace Ref `json:"workspace,omitempty"` // a name, an ID or a path; default: where Repo lies
	Review    ID  `json:"review,omitempty"`
	// Merge shows what a merge has brought to its target or, if it has not landed, what it
	// would bring.
	Merge  ID       `json:"merge,omitempty"`
	Target string   `json:"target,omitempty"` // of a workspace; default: its own
	Paths  []string `json:"paths,omitempty"`  // files, or directories with all below; default: all
	Detail Detail   `json:"detail,omitempty"`
	Page
}
