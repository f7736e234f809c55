package cli

import (
	"context"
	"io"
	"time"

	"github.com/croft-sh/croft"
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
	Parent  int      // the process that called

	Stdin          io.Reader // required
	Stdout, Stderr io.Writer // required

	Terminal Terminal
	Color    Color
	Width    int // of the terminal on stdout; 0: stdout is no terminal

	// Open gives the Service for a directory. Flags are configuration keys
	// that were set on the command line. Required.
	Open func(ctx context.Context, dir string, flags map[string]string) (croft.Service, error)
	// Config shows the configuration of the project at root; an empty root
	// means that there is no project. Required for `config`, `init` and the
	// retention that `remove` tells.
	Config func(root string, flags map[string]string) (ConfigView, error)
	// Shell runs the user's shell in a directory, with env added to the
	// environment, and returns its exit status. Required for `sh`.
	Shell func(ctx context.Context, dir string, env []string) (exit int, err error)
	// Detach starts this program again, in the background.
	Detach func(args ...string) error
	// Background gives this process less of the machine than others; nil: it
	// cannot.
	Background func()
	// AutoGC says whether upkeep of the project at root is due; nil: never.
	AutoGC func(root string) bool
	// Schemas are the JSON Schemas of the answers. Required for `schema`.
	Schemas Schemas
	// Now is the clock; nil: time.Now.
	Now func() time.Time
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
