package config

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"

	"github.com/croft-sh/croft"
)

// RefuseNetwork refuses a state directory on a file system where locks do not work; kind
// returns the name of such a one. For a directory that does not exist, it checks the nearest
// existing one above.
func RefuseNetwork(dir string, kind func(dir string) string) error {
	at := dir
	for _, err := os.Lstat(at); err != nil && filepath.Dir(at) != at; _, err = os.Lstat(at) {
		at = filepath.Dir(at)
	}
	name := kind(at)
	if name == "" {
		return nil
	}
	return &croft.Error{
		Code: croft.StateUnavailable, Op: "open", Message: "the state directory lies on a network file system, " + name + ", where locks do not hold",
		Details: dir, Hint: "set CROFT_STATE_DIR to a directory on a disk of this machine",
	}
}

// StateDirOf returns the state directory that an environment means. No file can set it, so that it
// is known also if the user's file cannot be used.
func StateDirOf(environ []string) (string, error) {
	env := newEnviron(environ)
	s := &Set{keys: Keys(), home: env.home("")}
	var err error
	if s.env, err = env.layer(s.keys, s.home); err != nil {
		return "", err
	}
	if s.defaults, err = s.defaultLayer(); err != nil {
		return "", err
	}
	return s.Config().StateDir, nil
}

// RefuseOthers refuses a state directory that isOthers says is another user's, who could exchange
// everything in it.
func RefuseOthers(dir string, isOthers func(dir string) bool) error {
	if !isOthers(dir) {
		return nil
	}
	return &croft.Error{
		Code: croft.StateUnavailable, Op: "open", Message: "the state directory is another user's",
		Details: dir, Hint: "set CROFT_STATE_DIR to a directory of your own",
	}
}

// StateCopy returns the path of the state's second copy. It is named after the state
// directory, because several states may have the same data directory.
func (c Config) StateCopy() string {
	dir := c.StateDir
	if real, err := filepath.EvalSymlinks(filepath.Dir(dir)); err == nil {
		dir = filepath.Join(real, filepath.Base(dir))
	}
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(c.DataDir, "state", hex.EncodeToString(sum[:8])+".log")
}
