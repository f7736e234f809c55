// Package config knows every setting of Croft: what it is called, what it may
// be, where it may be set and where its value came from.
//
// Values come, the later over the earlier, from the defaults, from the user's
// config.toml, from croft.toml in the repository, from the environment and
// from flags. The repository's file was written by other people, so what
// guards the user (limits, filters, retention) it can tighten and never
// loosen; an attempt is ignored and reported as a warning.
//
// It is the only package below cmd that reads configuration files. The
// environment is handed to it.
package config

// Config is every setting, resolved. The comments give the keys in croft.toml.
type Config struct {
	Layout   string   // layout
	Path     string   // path
	Branch   string   // branch
	Prefix   string   // prefix
	Roles    Roles    // [roles]
	Limits   Limits   // [limits]
	Trash    Trash    // [trash]
	Snapshot Snapshot // [snapshot]
	Lease    Lease    // [lease]
	GC       GC       // [gc]
	History  History  // [history]
	Checkout Checkout // [checkout]
	Git      Git      // [git]
	Merge    Merge    // [merge]
	Commit   Commit   // [commit]

	Containers Containers // [containers]

	StateDir string // absolute; never from a file
	DataDir  string // absolute; never from a file
}

// Containers says how workspaces lie in containers.
type Containers struct {
	Workdir string // workdir
}

// Roles says where the configuration of roles lies.
type Roles struct {
	Dir   string   // dir: holds one directory for each role; relative to the repository
	Files []string // files: what is copied of a role, relative to its directory
}

// Limits is what a workspace must leave free to be made.
type Limits struct {
	MaxWorkers    int   // max_workers: 0 means no limit
	MinFreeBytes  int64 // min_free_bytes
	MinFreeInodes int64 // min_free_inodes
}

// Trash says how long removed work is kept, and how much of it.
type Trash struct {
	Retention        Duration // retention
	MaxBytes         int64    // max_bytes
	MaxInodes        int64    // max_inodes
	Regenerable      []string // regenerable
	RegenerableAfter Duration // regenerable_after
	SavedFor         Duration // saved_for
	Notice           Duration // notice
}

// Snapshot says what is saved of the files that git ignores.
type Snapshot struct {
	Ignored []string // ignored
	Secrets []string // secrets
}

// Lease says how leases behave.
type Lease struct {
	TTL Duration // ttl
}

// GC says when Croft tidies up.
type GC struct {
	Auto bool // auto
}

// History says how long Croft remembers what is over.
type History struct {
	Retention Duration // retention
}

// Checkout says how files are written.
type Checkout struct {
	Workers int      // workers: 0 means one for each core
	Links   []string // links: what is linked from the top of the repository
	// IsolatedObjects is isolated_objects: what isolated workspaces borrow objects
	// from, copies or hard links.
	IsolatedObjects string
	Scratch         string // scratch: the name of the scratch directory; empty means the layout's
}

// Git says which git runs, and what it may run.
type Git struct {
	Path    string   // path: absolute; empty means the first in PATH
	Filters []string // filters: content filters of the repository's own configuration that may run
	Timeout Duration // timeout: after what time a git that does not end is stopped
	Fence   string   // fence: whether the kernel holds it to its directories
}

// The kinds of sources, from the weakest to the strongest.
const (
	KindDefault = "default"
	KindUser    = "user"
	KindRepo    = "repo"
	KindEnv     = "env"
	KindFlag    = "flag"
)

// Source says where a value came from.
type Source struct {
	Kind string `json:"kind"`           // one of the Kind constants
	Name string `json:"name,omitempty"` // the file's path or the variable's name
	Line int    `json:"line,omitempty"` // the line in the file, from 1
}

// Value is one setting as `croft config` shows it. Its text is in the form
// that a flag or a variable takes; a list is separated by commas.
type Value struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Source Source `json:"source"`
}
