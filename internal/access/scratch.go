package access

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/croft-sh/croft/internal/fsx"
)

// Scratch is a directory for what is written on the way to an answer, where the state cannot be
// written. It lies where temporary files do, which sandboxes permit.
type Scratch string

// NewScratch makes such a directory.
func NewScratch() (Scratch, error) {
	dir, err := os.MkdirTemp("", "croft-read-")
	return Scratch(dir), err
}

// GitDir is the directory for what Croft knows about the installed git.
func (s Scratch) GitDir() string { return filepath.Join(string(s), "git") }

// CopyGit copies what Croft knows about the installed git from the state, so that git is not
// tried out again.
func (s Scratch) CopyGit(from string) error {
	err := os.Mkdir(s.GitDir(), 0o700)
	known, _ := os.ReadDir(from)
	for _, entry := range known {
		text, rerr := fsx.ReadFile(filepath.Join(from, entry.Name()), fsx.MaxSmall)
		if err == nil && rerr == nil {
			err = os.WriteFile(filepath.Join(s.GitDir(), entry.Name()), text, 0o600)
		}
	}
	return err
}

// Settings are those of a state in the scratch directory, beside others.
func (s Scratch) Settings(others map[string]string) map[string]string {
	all := map[string]string{"state_dir": filepath.Join(string(s), "state"), "data_dir": filepath.Join(string(s), "data")}
	for key, value := range others {
		if all[key] == "" {
			all[key] = value
		}
	}
	return all
}

// Remove deletes the directory.
func (s Scratch) Remove(because ...error) error {
	if s != "" {
		because = append(because, os.RemoveAll(string(s)))
	}
	return errors.Join(because...)
}
