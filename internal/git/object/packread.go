package object

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/croft-sh/croft/internal/fsx"
)

// objectPack is an open pack. Nothing in it or in its index is trusted: every offset is
// checked, and every object is hashed.
type objectPack struct {
	files *Files
	base  string // the path of its files without extension
	index *os.File
	data  *os.File // opened when it is needed
	size  int64    // of data

	old    bool // version 1 of the index
	fanout [256]uint32
	length int64 // of index

	bases map[int64]packedObject // bases of deltas, by offset
	held  int                    // total size of bases
}

type packedObject struct {
	kind string
	text []byte
}

var (
	errPack    = errors.New("not a pack that can be read")
	packLetter = map[byte]string{1: "commit", 2: "tree", 3: "blob", 4: "tag"}
)

const (
	ofsDelta  = 6
	refDelta  = 7
	maxChain  = 4096     // of deltas, as git has it
	heldBases = 16 << 20 // bound of held
)

func openObjectPack(o *Files, base string) (*objectPack, error) {
	index, err := fsx.Open(base + ".idx")
	if err != nil {
		return nil, err
	}
	p := &objectPack{files: o, base: base, index: index}
	info, err := index.Stat()
	if err == nil {
		p.length = info.Size()
		err = p.readFanout()
	}
	if err == nil {
		_, err = os.Lstat(base + ".pack")
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *objectPack) close() {
	_ = p.index.Close()
	if p.data != nil {
		_ = p.data.Close()
	}
}

func (p *objectPack) readFanout() error {
	head := make([]byte, 8+4*256)
	if _, err := p.index.ReadAt(head, 0); err != nil {
		return fmt.Errorf("%s.idx: %w", p.base, errPack)
	}
	p.old = !bytes.HasPrefix(head, []byte("\xfftOc"))
	table := head[8:]
	if p.old {
		table = head[:4*256]
	} else if binary.BigEndian.Uint32(head[4:]) != 2 {
		return fmt.Errorf("%s.idx: %w", p.base, errPack)
	}
	for i := range p.fanout {
		p.fanout[i] = binary.BigEndian.Uint32(table[4*i:])
	}
	return nil
}

// find returns the offset of an object in the pack, if it has it.
func (p *objectPack) find(oid []byte) (at int64, isThere bool, err error) {
	low, high := uint32(0), p.fanout[oid[0]]
	if oid[0] > 0 {
		low = p.fanout[oid[0]-1]
	}
	count := int64(p.fanout[255])
	if low > high || int64(high) > count {
		return 0, false, errPack
	}
	names, step, skip := int64(8+4*256), int64(len(oid)), int64(0)
	if p.old {
		names, step, skip = 4*256, int64(4+len(oid)), 4
	}
	entry := make([]byte, step)
	for low < high {
		mid := low + (high-low)/2
		if _, err := p.index.ReadAt(entry, names+int64(mid)*step); err != nil {
			return 0, false, errPack
		}
		switch c := bytes.Compare(oid, entry[skip:]); {
		case c < 0:
			high = mid
		case c > 0:
			low = mid + 1
		case p.old:
			return int64(binary.BigEndian.Uint32(entry)), true, nil
		default:
			at, err := p.offset(names+count*(step+4), int64(mid), count)
			return at, true, err
		}
	}
	return 0, false, nil
}

// offset reads the offset of the n-th object from the tables of offsets.
func (p *objectPack) offset(table, n, count int64) (int64, error) {
	var b [8]byte
	if _, err := p.index.ReadAt(b[:4], table+4*n); err != nil {
		return 0, errPack
	}
	small := binary.BigEndian.Uint32(b[:4])
	if small&(1<<31) == 0 {
		return int64(small), nil
	}
	if _, err := p.index.ReadAt(b[:], table+4*count+8*int64(small&^(1<<31))); err != nil || b[0]&0x80 != 0 {
		return 0, errPack
	}
	return int64(binary.BigEndian.Uint64(b[:])), nil
}

// hashed reads the object at an offset and computes its name from its content.
func (p *objectPack) hashed(ctx context.Context, at int64, keep Keep) (Object, error) {
	if err := p.openData(); err != nil {
		return Object{}, err
	}
	in, code, size, err := p.entry(at)
	if err != nil {
		return Object{}, err
	}
	if kind := packLetter[code]; kind != "" && (keep == KeepNothing || kind == "blob" && size > maxKept) {
		z, err := p.files.zlib.open(in)
		if err != nil {
			return Object{}, err
		}
		h := p.files.startHash(kind, size)
		if err := copyContext(ctx, h, z); err != nil {
			return Object{}, err
		}
		return Object{OID: hex.EncodeToString(h.Sum(nil)), Type: kind, Size: size}, nil
	}
	got, err := p.text(ctx, at, 0)
	if err != nil {
		return Object{}, err
	}
	h := p.files.startHash(got.kind, int64(len(got.text)))
	h.Write(got.text)
	return Object{OID: hex.EncodeToString(h.Sum(nil)), Type: got.kind, Size: int64(len(got.text)), Data: got.text}, nil
}

func (p *objectPack) openData() error {
	if p.data != nil {
		return nil
	}
	f, err := fsx.Open(p.base + ".pack")
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return err
	}
	p.data, p.size = f, info.Size()
	return nil
}

// entry reads the header of the entry at an offset: its type and its size.
func (p *objectPack) entry(at int64) (in *bufio.Reader, code byte, size int64, err error) {
	if at < 12 || at >= p.size {
		return nil, 0, 0, errPack
	}
	in = bufio.NewReader(io.NewSectionReader(p.data, at, p.size-at))
	b, err := in.ReadByte()
	if err != nil {
		return nil, 0, 0, err
	}
	code, size = b>>4&7, int64(b&15)
	for shift := 4; b&0x80 != 0; shift += 7 {
		if b, err = in.ReadByte(); err != nil || shift > 55 {
			return nil, 0, 0, errPack
		}
		size |= int64(b&0x7f) << shift
	}
	return in, code, size, nil
}

// text reads an object into memory, and the bases of a delta.
func (p *objectPack) text(ctx context.Context, at int64, chain int) (packedObject, error) {
	if known, ok := p.bases[at]; ok {
		return known, nil
	}
	if chain > maxChain || ctx.Err() != nil {
		return packedObject{}, errors.Join(errPack, ctx.Err())
	}
	in, code, size, err := p.entry(at)
	if err != nil {
		return packedObject{}, err
	}
	base, err := p.baseOf(in, code, at)
	if err != nil {
		return packedObject{}, err
	}
	if size > maxInMemory {
		return packedObject{}, fmt.Errorf("%w: %d bytes", errPack, size)
	}
	z, err := p.files.zlib.open(in)
	if err != nil {
		return packedObject{}, err
	}
	var text bytes.Buffer
	if n, err := io.Copy(&text, io.LimitReader(z, size+1)); err != nil || n != size {
		return packedObject{}, errors.Join(errPack, err)
	}
	got := packedObject{packLetter[code], text.Bytes()}
	if code == ofsDelta || code == refDelta {
		from, err := p.text(ctx, base, chain+1)
		if err != nil {
			return packedObject{}, err
		}
		if got.text, err = applyDelta(from.text, text.Bytes()); err != nil {
			return packedObject{}, err
		}
		got.kind = from.kind
	}
	if got.kind == "" {
		return packedObject{}, errPack
	}
	p.holdBase(at, got)
	return got, nil
}

// holdBase keeps an object that may be the base of further deltas.
func (p *objectPack) holdBase(at int64, got packedObject) {
	if p.held += len(got.text); p.bases == nil || p.held > heldBases {
		p.bases, p.held = map[int64]packedObject{}, len(got.text)
	}
	p.bases[at] = got
}

// baseOf reads the offset of the base of a delta.
func (p *objectPack) baseOf(in *bufio.Reader, code byte, at int64) (int64, error) {
	switch code {
	case refDelta:
		oid := make([]byte, p.files.format.Size())
		if _, err := io.ReadFull(in, oid); err != nil {
			return 0, err
		}
		base, isThere, err := p.find(oid)
		if err != nil || !isThere {
			return 0, errPack
		}
		return base, nil
	case ofsDelta:
		b, err := in.ReadByte()
		back := int64(b & 0x7f)
		for err == nil && b&0x80 != 0 {
			if b, err = in.ReadByte(); back > 1<<55 {
				return 0, errPack
			}
			back = (back+1)<<7 | int64(b&0x7f)
		}
		if err != nil || back <= 0 || back >= at {
			return 0, errPack
		}
		return at - back, nil
	}
	return 0, nil
}

// applyDelta returns the object that a delta makes of its base.
func applyDelta(base, delta []byte) ([]byte, error) {
	from, n := binary.Uvarint(delta)
	if n <= 0 || from != uint64(len(base)) {
		return nil, errPack
	}
	delta = delta[n:]
	size, n := binary.Uvarint(delta)
	if n <= 0 || size > maxInMemory {
		return nil, errPack
	}
	delta = delta[n:]
	out := make([]byte, 0, size)
	for len(delta) > 0 {
		op := delta[0]
		delta = delta[1:]
		if op&0x80 == 0 {
			if op == 0 || int(op) > len(delta) {
				return nil, errPack
			}
			out, delta = append(out, delta[:op]...), delta[op:]
			continue
		}
		var args [7]uint32
		for i := range args {
			if op>>i&1 != 0 {
				if len(delta) == 0 {
					return nil, errPack
				}
				args[i], delta = uint32(delta[0]), delta[1:]
			}
		}
		at := uint64(args[0] | args[1]<<8 | args[2]<<16 | args[3]<<24)
		length := uint64(args[4] | args[5]<<8 | args[6]<<16)
		if length == 0 {
			length = 1 << 16
		}
		if at+length > uint64(len(base)) || uint64(len(out))+length > size {
			return nil, errPack
		}
		out = append(out, base[at:at+length]...)
	}
	if uint64(len(out)) != size {
		return nil, errPack
	}
	return out, nil
}
