package cli

import (
	"context"
	"io"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/tui"
)

// Terminal says whether there is a person to ask.
type Terminal int

const (
	// TerminalNone: there is no person to ask, and no line is rewritten.
	TerminalNone Terminal = iota
	// TerminalInteractive: stdin and stderr are terminals.
	TerminalInteractive
)

// Color says whether text on stdout is coloured.
type Color int

const (
	// ColorNever writes plain text.
	ColorNever Color = iota
	// ColorTerminal writes the escape sequences of a terminal.
	ColorTerminal
)

// Env is everything that the command line needs from outside.
type Env struct {
	Program string   // how the program was called: "croft" (the default) or "git croft"
	Args    []string // without the program's name
	Dir     string   // required: the working directory, absolute
	Version string   // of the program
	Home    string   // the user's home directory; required for `init --user`
	Parent  int      // the process that called

	Stdin          io.Reader // required
	Stdout, Stderr io.Writer // required

	Terminal Terminal
	Color    Color // of stdout
	ErrColor Color // of stderr
	Width    int   // of the terminal on stdout; 0: stdout is no terminal
	ErrWidth int   // of the terminal on stderr; 0: stderr is no terminal
	IsASCII  bool  // the terminals show no more than ASCII
	IsDumb   bool  // the terminals cannot write over a line
	// Size returns the size of the terminal on stdout as it is now. Required for `list --watch`.
	Size func() (width, height int)

	// ErrSize is Size for the terminal on stderr. Required for Keys.
	ErrSize func() (width, height int)
	// Keys takes the terminal to read it key by key; nil: it cannot be read so.
	Keys func() (tui.Keyboard, error)

	// Open gives the Service for a directory. Flags are configuration keys
	// that were set on the command line. Required.
	Open func(ctx context.Context, dir string, flags map[string]string) (croft.Service, error)
	// Config shows the configuration of the project at root; an empty root
	// means that there is no project. Required for `config`, `init` and the
	// retention that `remove` tells.
	Config func(root string, flags map[string]string) (ConfigView, error)
	// SetConfig writes a setting into a file. Required for `config set`.
	SetConfig func(ConfigChange) (ConfigValue, error)
	// Shell runs the user's shell in a directory, with env added to the
	// environment, and returns its exit status. Required for `sh`.
	Shell func(ctx context.Context, dir string, env []string) (exit int, err error)
	// Page shows a text with the user's pager until the user has seen enough. It reports false if it has shown
	// nothing; nil: there is none.
	Page func(ctx context.Context, text []byte) bool
	// Edit has the user edit a text in an editor, and returns what became of it; nil: there is none.
	Edit func(ctx context.Context, text []byte) ([]byte, error)
	// Detach starts this program again, in the background.
	Detach func(args ...string) error
	// FillsPool reports whether the pool of the project at root is to be filled after a command;
	// nil: never.
	FillsPool func(root string) bool
	// Pause waits before the pool is filled, until the commands that are typed one after the other have gone by; nil: it
	// does not.
	Pause func(ctx context.Context)
	// Background gives this process less of the machine than others; nil: it
	// cannot.
	Background func()
	// AutoGC says whether upkeep of the project at root is due; nil: never.
	AutoGC func(root string) bool
	// Daemon runs the daemon, and asks the one that runs. Required for `serve`.
	Daemon Daemon
	// Tokens are those by which programs elsewhere call the daemon. Required for `token`.
	Tokens Tokens
	// MCP serves tools to an agent until its input ends. Required for `mcp`.
	MCP func(ctx context.Context, opts MCPOptions) error
	// Agents runs agents. Required for `run`.
	Agents Agents
	// Hook serves a hook of an agent. Required for `hook`.
	Hook Hook
	// Schemas are the JSON Schemas of the answers. Required for `schema`.
	Schemas Schemas
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

// Daemon runs the daemon of the user's state directory, and asks the one that runs.
type Daemon struct {
	// Serve runs a daemon until ctx ends, or it is stopped by a request. It calls ready when
	// the daemon listens.
	Serve func(ctx context.Context, opts ServeOptions, ready func(DaemonStatus)) error
	// Start starts a daemon in the background, and waits until it answers.
	Start func(ctx context.Context, opts ServeOptions) (DaemonStatus, error)
	// Status and Stop ask the daemon that runs, and fail with DaemonUnreachable without one.
	// Stop waits until it has ended.
	Status func(ctx context.Context) (DaemonStatus, error)
	Stop   func(ctx context.Context) (DaemonStatus, error)
	// Once asks it for a link to log in with.
	Once func(ctx context.Context) (string, error)
}

// ServeOptions say how a daemon runs.
type ServeOptions struct {
	TCP       string // an address of the loopback interface; empty: none
	LogFormat string // "text" or "json"
	LogFile   string // default: standard error
	LogLevel  string // "debug", "info" or "warn"
}

// DaemonStatus says where a daemon listens.
type DaemonStatus struct {
	PID       int       `json:"pid"`
	Version   string    `json:"croft,omitempty"` // the version of the program that runs
	StartedAt time.Time `json:"startedAt"`
	Sockets   []string  `json:"sockets"`         // paths
	TCP       []string  `json:"tcp"`             // hosts and ports
	URL       string    `json:"url,omitempty"`   // a link to log in with; it works once, for two minutes
	Log       string    `json:"log,omitempty"`   // the file that it writes to, if it was started in the background
	Ended     bool      `json:"ended,omitempty"` // it was stopped
}

// MCPOptions say whose server of tools it is, as the command line has it.
type MCPOptions struct {
	Kind      string    // "orchestrator", "read-only", or empty: an agent's
	Dir       croft.Ref // the directory that it is started in
	Workspace croft.Ref // of the agent; empty: by the environment, or by Dir
	Open      func(ctx context.Context) (croft.Service, error)
}

// Hook serves one call of a hook of an agent.
type Hook struct {
	// State and Remove never fail; what goes wrong they say.
	State func(ctx context.Context, opts HookOptions)
	// Waiting reports that the agent waits for its user, without a look at its input.
	Waiting func(ctx context.Context, opts HookOptions)
	Remove  func(ctx context.Context, opts HookOptions)
	// Create returns the path of the workspace that the agent may use.
	Create func(ctx context.Context, opts HookOptions) (path string, err error)
	// SetUp sets a workspace up that Create has made.
	SetUp func(ctx context.Context, opts HookOptions)
	// Late reports a state that another process had no time to report.
	Late func(ctx context.Context, opts HookOptions)
}

// HookOptions say whose hook it is.
type HookOptions struct {
	Agent string // as "claude"
	Say   func(sentence string)
	Home  string // the user's home directory
	// Open opens the Service for a directory, with settings beside the configured ones.
	Open func(ctx context.Context, dir string, set map[string]string) (croft.Service, error)
}

// Tokens keeps the tokens of the user's state directory.
type Tokens struct {
	Make   func(ctx context.Context, name string, access croft.Access, workspace croft.ID) (t croft.Token, secret string, err error)
	List   func() ([]croft.Token, error)
	Revoke func(ctx context.Context, ref croft.Ref) (croft.Token, error)
}

// Schemas finds JSON Schemas by their names.
type Schemas struct {
	Names func() []string
	// Read fails with fs.ErrNotExist if there is none of that name.
	Read func(name string) ([]byte, error)
}

// ConfigView is the configuration as it is shown to people.
type ConfigView struct {
	Values   []ConfigValue
	Warnings []string // what a file tried to set and may not
	Template string   // a commented croft.toml to begin with
	Schema   []byte   // the JSON schema of croft.toml
}

// ConfigValue is one setting and where it came from.
type ConfigValue struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Source string `json:"source"` // such as "default" or a file and its line
	IsList bool   `json:"-"`      // the value is items, with commas between them

	Words []string `json:"-"` // that the value may be; none: it is not one of a few
}

// ConfigChange is a setting that is to be written.
type ConfigChange struct {
	Key   string
	Items []string // the value, or the items of a list
	Root  string   // of the checkout whose croft.toml is meant; empty: the user's own file is
}

// value looks a setting up; one that is not there is empty.
func (v ConfigView) value(key string) string {
	for _, setting := range v.Values {
		if setting.Key == key {
			return setting.Value
		}
	}
	return ""
}
