package object

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"hash/crc32"
	"os"
	"slices"

	"github.com/croft-sh/croft/internal/fsx"
)

// A pack is one file with many objects, and an index of them beside it. Croft writes the
// simplest form of both: no deltas, and version 2 of the index. Git makes deltas when it
// repacks.

// packKinds are the numbers of object types in a pack.
var packKinds = map[string]byte{"commit": 1, "tree": 2, "blob": 3}

// packEntry is one object as in a pack.
type packEntry struct {
	oid  []byte
	data []byte // type and size, and the compressed object
}

// packObject encodes an object as an entry of a pack: its type and size, and its
// compressed content.
func packObject(kind string, oid, text []byte) (packEntry, error) {
	var out bytes.Buffer
	size := uint64(len(text))
	c := packKinds[kind]<<4 | byte(size&0x0f)
	for size >>= 4; size > 0; size >>= 7 {
		out.WriteByte(c | 0x80)
		c = byte(size & 0x7f)
	}
	out.WriteByte(c)
	z := deflater(&out)
	defer deflaters.Put(z)
	_, err := z.Write(text)
	if err = errors.Join(err, z.Close()); err != nil {
		return packEntry{}, err
	}
	return packEntry{oid: oid, data: out.Bytes()}, nil
}

// packBuffer is a pack that is being made.
type packBuffer struct {
	entries []packEntry
	size    int
}

func (p *packBuffer) add(e packEntry) {
	p.entries = append(p.entries, e)
	p.size += len(e.data)
}

// stagedPack is a pack under temporary names.
type stagedPack struct{ name, data, index string }

// write writes the pack and its index to temporary files in a directory.
func (p *packBuffer) write(dir *fsx.TreeDir, format Format) (stagedPack, error) {
	const headLen = 12
	pack := make([]byte, 0, headLen+p.size+format.Size())
	pack = append(pack, "PACK\x00\x00\x00\x02"...)
	pack = binary.BigEndian.AppendUint32(pack, uint32(len(p.entries)))
	places := make([]packPlace, len(p.entries))
	for i, e := range p.entries {
		places[i] = packPlace{oid: e.oid, sum: crc32.ChecksumIEEE(e.data), offset: uint32(len(pack))}
		pack = append(pack, e.data...)
	}
	h := format.NewHash()
	h.Write(pack)
	sum := h.Sum(nil)
	pack = append(pack, sum...)
	staged := stagedPack{name: hex.EncodeToString(sum)}
	var err error
	if staged.data, err = writeTemp(dir, "tmp_pack_", pack); err != nil {
		return staged, err
	}
	if staged.index, err = writeTemp(dir, "tmp_idx_", packIndex(places, sum, format.NewHash())); err != nil {
		return staged, errors.Join(err, os.Remove(staged.data))
	}
	return staged, nil
}

// packPlace is the position of an object in a pack.
type packPlace struct {
	oid         []byte
	sum, offset uint32
}

// packIndex returns the index of a pack, which is smaller than 2 GB.
func packIndex(places []packPlace, packSum []byte, h hash.Hash) []byte {
	slices.SortFunc(places, func(a, b packPlace) int { return bytes.Compare(a.oid, b.oid) })
	out := []byte("\xfftOc\x00\x00\x00\x02")
	next := 0
	for first := range 256 { // how many object names begin with at most this byte
		for next < len(places) && int(places[next].oid[0]) <= first {
			next++
		}
		out = binary.BigEndian.AppendUint32(out, uint32(next))
	}
	for _, p := range places {
		out = append(out, p.oid...)
	}
	for _, p := range places {
		out = binary.BigEndian.AppendUint32(out, p.sum)
	}
	for _, p := range places {
		out = binary.BigEndian.AppendUint32(out, p.offset)
	}
	out = append(out, packSum...)
	h.Write(out)
	return h.Sum(out)
}

func writeTemp(dir *fsx.TreeDir, prefix string, data []byte) (string, error) {
	f, err := dir.CreateTemp(prefix)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o444)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}
