package croft

// MadeBy says how the files of a workspace came into its directory.
type MadeBy string

// The ways in which a workspace gets its files. All give the same files.
const (
	// MadeByGit: git wrote them.
	MadeByGit MadeBy = "git"
	// MadeFromPool: they had been written before; see [Upkeep.Pool].
	MadeFromPool MadeBy = "pool"
	// MadeByCopy: they were copied from the last checkout of the pool.
	MadeByCopy MadeBy = "copy"
)

// PoolRequest asks for the pool of a project.
type PoolRequest struct {
	Repo Ref `json:"repo,omitempty"`
}

// ChangePoolRequest asks for checkouts to be made in stock, or to be deleted.
type ChangePoolRequest struct {
	Repo Ref     `json:"repo,omitempty"`
	Do   PoolAct `json:"do,omitempty"`
}

// PoolAct says what is done with a pool.
type PoolAct string

const (
	// PoolFill makes the checkouts that are missing, and brings the others to the commit that new
	// workspaces start from. It is the default.
	PoolFill PoolAct = ""
	// PoolTopUp does the same as long as the machine has nothing else to do.
	PoolTopUp PoolAct = "top-up"
	// PoolEmpty deletes all checkouts of the pool.
	PoolEmpty PoolAct = "empty"
)

// Pool is what a project has in stock.
type Pool struct {
	Size   int     `json:"size"`   // how many checkouts are wanted; 0: none
	Path   string  `json:"path"`   // the directory with them
	Spares []Spare `json:"spares"` // those that can be handed out or copied
	// Copies are of directories that provisioning copies into each new workspace. They come in by a rename as long as
	// nothing in the project's directory has changed.
	Copies []SpareCopy `json:"copies,omitempty"`
	Why    string      `json:"why,omitempty"`  // why there are not more, if that is known
	Busy   bool        `json:"busy,omitempty"` // a process is making some
}

// Spare is a checkout in stock.
type Spare struct {
	Commit string `json:"commit"`
	Files  int64  `json:"files"`
	Bytes  int64  `json:"bytes"`
}

// SpareCopy is a copy in stock of a directory of the project.
type SpareCopy struct {
	Path  string `json:"path"`  // relative to the project, with slashes
	Files int64  `json:"files"` // with its directories
	Bytes int64  `json:"bytes"`
}
