package config

import (
	"os"
	"reflect"
	"sync"
	"time"
)

// Current is the settings of a process that lives for long: it follows the user's file. A file
// that cannot be used changes nothing; Refresh says what is wrong with it.
type Current struct {
	in    Input
	path  string // of the user's file; empty: there is no place for one
	first *Set   // as they were at the start of the process

	mu      sync.Mutex
	set     *Set
	seen    stat      // of the file that set was read from
	looked  time.Time // when the file was looked at
	problem error     // of the file that is there now
}

// stat is what tells two states of a file apart.
type stat struct {
	modified time.Time
	size     int64
	inode    any
}

// lookEvery is how long settings may be used without a look at the file.
const lookEvery = 20 * time.Millisecond

// Follow reads the settings, as Load does, and follows the user's file from then on.
func Follow(in Input) (*Current, error) {
	env := newEnviron(in.Environ)
	c := &Current{in: in, path: env.userFile(env.home(in.Home))}
	c.seen = statOf(c.path) // first, so that a later change is noticed
	var err error
	c.set, err = Load(in)
	c.first = c.set
	return c, err
}

func statOf(path string) stat {
	if path == "" {
		return stat{}
	}
	info, err := os.Stat(path)
	if err != nil {
		return stat{}
	}
	return stat{modified: info.ModTime(), size: info.Size(), inode: inodeOf(info)}
}

// Set returns the settings as they are now.
func (c *Current) Set() *Set {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.looked) >= lookEvery {
		c.looked = now
		c.reload()
	}
	return c.set
}

// Refresh looks at the user's file now, and fails if it cannot be used.
func (c *Current) Refresh() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looked = time.Now()
	c.reload()
	return c.problem
}

// reload reads the settings again if the user's file is another one.
func (c *Current) reload() {
	now := statOf(c.path)
	if now == c.seen {
		return
	}
	set, err := Load(c.in)
	if c.seen, c.problem = now, err; err == nil {
		c.set = set
	}
}

// Config returns the values as they are now.
func (c *Current) Config() Config { return c.Set().Config() }

// Fingerprint is that of the settings that a process goes by which was started with the first
// ones. It follows the user's file, but for what is decided at the start: how git is run.
func (c *Current) Fingerprint(environ []string) string {
	now := c.Set()
	was, is := c.first.Config(), now.Config()
	if !reflect.DeepEqual(was.Git, is.Git) || was.Checkout.IsolatedObjects != is.Checkout.IsolatedObjects {
		return c.first.Fingerprint(environ)
	}
	return now.Fingerprint(environ)
}

// ForRepo is that of the present settings.
func (c *Current) ForRepo(root string) *Set { return c.Set().ForRepo(root) }

// AtTarget is that of the present settings.
func (c *Current) AtTarget(name string, data []byte) (*Set, error) {
	return c.Set().AtTarget(name, data)
}
