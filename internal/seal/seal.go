// Package seal keeps text from those who can read a repository. What Croft
// knows about a round hangs on refs, which every agent of the round can read;
// sealed, it tells them nothing.
package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// prefix begins a sealed text. It is no JSON, so that the two are told apart.
const prefix = "croft sealed 1\n"

// grain is what lengths are rounded up to: a name that is longer by a few
// letters does not show.
const grain = 512

// ErrForeign says that a text was sealed with another key, or is damaged.
var ErrForeign = errors.New("sealed with another key")

// Box seals and opens with one key.
type Box struct{ aead cipher.AEAD }

// Open reads the key in a file, and makes one if there is none. Of several
// processes that make it at once, one wins.
func Open(path string) (*Box, error) {
	key, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := create(path); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		key, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	aead, err := cipher.NewGCM(block)
	return &Box{aead}, err
}

// create writes a key whole and on disk before it has its name.
func create(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".key-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	_, err = f.Write(key)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Link(f.Name(), path)
}

// Seal makes a text unreadable. The same text is never sealed the same way
// twice.
func (b *Box) Seal(text []byte) []byte {
	padded := binary.BigEndian.AppendUint32(nil, uint32(len(text)))
	padded = append(padded, text...)
	padded = append(padded, make([]byte, (grain-len(padded)%grain)%grain)...)
	nonce := make([]byte, b.aead.NonceSize())
	_, _ = rand.Read(nonce)
	out := append([]byte(prefix), nonce...)
	return b.aead.Seal(out, nonce, padded, []byte(prefix))
}

// Unseal opens a text that was sealed, and returns any other as it is.
func (b *Box) Unseal(text []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(text, []byte(prefix))
	if !ok {
		return text, nil
	}
	n := b.aead.NonceSize()
	if len(rest) < n {
		return nil, ErrForeign
	}
	padded, err := b.aead.Open(nil, rest[:n], rest[n:], []byte(prefix))
	if err != nil || len(padded) < 4 {
		return nil, ErrForeign
	}
	size := binary.BigEndian.Uint32(padded)
	if int(size) > len(padded)-4 {
		return nil, ErrForeign
	}
	return padded[4 : 4+size], nil
}
