package croft

// Side is one of the commits that work is compared with or consists of.
type Side string

// The sides of work. Of a conflict, SideTarget is ours, and SideWork theirs.
const (
	SideWork   Side = ""       // with the work
	SideBase   Side = "base"   // what the work is measured from
	SideTarget Side = "target" // as the target has it; of a merge that landed, before it
)

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
// given. If no live workspace has the name or ID, it is the one that was removed last, as
// those of an ended round are. The work of a workspace without a target is what differs
// from the commit that it began with.
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

// FileRequest names a part of a file on one side of work. The work is that of a
// DiffRequest with the same source.
type FileRequest struct {
	Repo      Ref    `json:"repo,omitempty"`
	Workspace Ref    `json:"workspace,omitempty"`
	Review    ID     `json:"review,omitempty"`
	Merge     ID     `json:"merge,omitempty"`
	Target    string `json:"target,omitempty"`
	Path      string `json:"path"` // as in ReviewFile; a renamed file has its OldPath on the other sides
	Side      Side   `json:"side,omitempty"`
	// Object is that of a part before. If the file is another one by now, the request fails
	// with WorkChanged.
	Object string `json:"object,omitempty"`
	Offset int64  `json:"offset,omitempty"` // in bytes
	Limit  int    `json:"limit,omitempty"`  // bytes; default and most: 1 MiB
}

// FileContent is a part of a file.
type FileContent struct {
	Workspace     ID     `json:"workspace,omitempty"`
	WorkspaceName string `json:"workspaceName,omitempty"`
	Path          string `json:"path"`
	Mode          string `json:"mode"`               // "100644"; "100755": can be run; "120000": a link, whose data is where it leads; "160000": a submodule, without data
	Object        string `json:"object"`             // the blob's name, or the commit of a submodule
	IsBinary      bool   `json:"isBinary,omitempty"` // there is a zero byte near its beginning
	Size          int64  `json:"size"`               // of the whole file
	Offset        int64  `json:"offset"`             // where Data begins
	Next          int64  `json:"next"`               // where the next part begins; not less than Size: there is none
	Data          []byte `json:"data,omitempty"`     // as a commit has it, after filters and changes of line ends; not to be trusted
}
