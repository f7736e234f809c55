package config

import (
	"crypto/sha256"
	"path/filepath"
)

// Stamp tells two states of a repository's croft.toml apart. It is of what the
// file says: times and sizes stay the same over two writes in one moment.
type Stamp struct {
	sum     [sha256.Size]byte
	problem string // why the file cannot be read
}

// StampOf reads the stamp of the file in a repository's root.
func StampOf(root string) Stamp {
	if root == "" {
		return Stamp{}
	}
	data, err := readFile(Source{Kind: KindRepo, Name: filepath.Join(root, "croft.toml")})
	switch {
	case err != nil:
		return Stamp{problem: err.Error()}
	case data == nil:
		return Stamp{}
	}
	return Stamp{sum: sha256.Sum256(data)}
}
