package git

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"io"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
)

// CachedTree returns the tree that the index describes, if git noted it there
// and nothing was staged since. It is read without a process; "" means only
// that it is not known.
func (w *Worktree) CachedTree() string {
	f, err := fsx.Open(filepath.Join(w.Admin, "index"))
	if err != nil {
		return ""
	}
	defer f.Close()
	oid, err := readCachedTree(f, w.Repo.objectFormat().Size())
	if err != nil {
		return ""
	}
	return oid
}

// readCachedTree finds the extension TREE and reads its first entry, which is
// the root: an empty path, the number of entries that it covers or -1, the
// number of subtrees, and the object's name.
func readCachedTree(f io.Reader, hashLen int) (string, error) {
	r, err := scanIndex(f, hashLen, func(rawEntry) {})
	if err != nil {
		return "", err
	}
	for {
		var head [8]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return "", err
		}
		size := binary.BigEndian.Uint32(head[4:])
		if string(head[:4]) == "TREE" {
			return readTreeExtension(io.LimitReader(r, int64(size)), hashLen)
		}
		if _, err := io.CopyN(io.Discard, r, int64(size)); err != nil {
			return "", err
		}
	}
}

func readTreeExtension(in io.Reader, hashLen int) (string, error) {
	root := bufio.NewReader(in)
	if path, err := root.ReadString(0); err != nil || path != "\x00" {
		return "", errIndex
	}
	counts, err := root.ReadString('\n')
	if err != nil || strings.HasPrefix(counts, "-") {
		return "", errIndex
	}
	oid := make([]byte, hashLen)
	if _, err := io.ReadFull(root, oid); err != nil {
		return "", err
	}
	return hex.EncodeToString(oid), nil
}
