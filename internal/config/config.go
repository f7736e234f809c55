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

// Config is every setting, resolved. The tags are the keys in croft.toml; a struct is a
// table.
type Config struct {
	Layout   string   `key:"layout"`
	Path     string   `key:"path"`
	Branch   string   `key:"branch"`
	Prefix   string   `key:"prefix"`
	Roles    Roles    `key:"roles"`
	Limits   Limits   `key:"limits"`
	Trash    Trash    `key:"trash"`
	Snapshot Snapshot `key:"snapshot"`
	Lease    Lease    `key:"lease"`
	GC       GC       `key:"gc"`
	Daemon   Daemon   `key:"daemon"`
	History  History  `key:"history"`
	Checkout Checkout `key:"checkout"`
	Pool     Pool     `key:"pool"`
	Git      Git      `key:"git"`
	Push     Push     `key:"push"`
	Merge    Merge    `key:"merge"`
	Commit   Commit   `key:"commit"`

	Containers Containers `key:"containers"`
	Provision  Provision  `key:"provision"`
	Ports      Ports      `key:"ports"`

	StateDir string `key:"state_dir"` // absolute; never from a file
	DataDir  string `key:"data_dir"`  // absolute; never from a file
}

// Containers says how workspaces lie in containers.
type Containers struct {
	Workdir string `key:"workdir"`
}

// Roles says where the configuration of roles lies.
type Roles struct {
	Dir   string   `key:"dir"`   // holds one directory for each role; relative to the repository
	Files []string `key:"files"` // what is copied of a role, relative to its directory
}

// Limits is what a workspace must leave free to be made.
type Limits struct {
	MaxWorkers    int   `key:"max_workers"` // 0 means no limit
	MinFreeBytes  int64 `key:"min_free_bytes"`
	MinFreeInodes int64 `key:"min_free_inodes"`
}

// Trash says how long removed work is kept, and how much of it.
type Trash struct {
	Retention        Duration `key:"retention"`
	MaxBytes         int64    `key:"max_bytes"`
	MaxInodes        int64    `key:"max_inodes"`
	Regenerable      []string `key:"regenerable"`
	RegenerableAfter Duration `key:"regenerable_after"`
	SavedFor         Duration `key:"saved_for"`
	Notice           Duration `key:"notice"`
}

// Snapshot says what is saved of the files that git ignores.
type Snapshot struct {
	Ignored []string `key:"ignored"`
	Secrets []string `key:"secrets"`
}

// Lease says how leases behave.
type Lease struct {
	TTL    Duration `key:"ttl"`
	MaxTTL Duration `key:"max_ttl"`
}

// GC says when Croft tidies up.
type GC struct {
	Auto bool `key:"auto"`
}

// Daemon says whether programs call the daemon.
type Daemon struct {
	Use string `key:"use"` // "auto" or "never"
}

// History says how long Croft remembers what is over.
type History struct {
	Retention Duration `key:"retention"`
}

// Checkout says how the files of workspaces are written, and what they share with their
// repository.
type Checkout struct {
	Workers int      `key:"workers"` // 0 means one for each core
	Links   []string `key:"links"`   // what is linked from the top of the repository
	Sparse  []string `key:"sparse"`  // the directories of a workspace; empty: those of the project's checkout; "/": all
	// IsolatedObjects is what isolated workspaces borrow objects from: copies or hard
	// links.
	IsolatedObjects string `key:"isolated_objects"`
	Scratch         string `key:"scratch"` // the name of the scratch directory; empty means the layout's
}

// Pool says how many checkouts are kept in stock.
type Pool struct {
	Size      int   `key:"size"` // 0: none
	MaxBytes  int64 `key:"max_bytes"`
	MaxInodes int64 `key:"max_inodes"`
}

// Git says which git runs, and what it may run.
type Git struct {
	Path    string   `key:"path"`    // absolute; empty means the first in PATH
	Filters []string `key:"filters"` // content filters of the repository's own configuration that may run
	Timeout Duration `key:"timeout"` // after what time a git that does not end is stopped
	Fence   string   `key:"fence"`   // whether the kernel holds it to its directories
}

// Push says who may push.
type Push struct {
	Agents bool `key:"agents"` // agents may, with the user's credentials
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
