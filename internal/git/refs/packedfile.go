package refs

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
)

// packedFile finds refs in packed-refs as it is at one moment. A small file is read as a whole. In
// a large one, where every workspace that ever was may have a ref, a ref is searched by bisection, with
// a few reads, until so many were asked for that reading all of it is cheaper.
//
// The file is not mapped: an agent that truncates it would end this process. Its header is believed
// as far as git believes it: in a file that is not sorted as it says, git does not find a ref either.
type packedFile struct {
	path  string
	info  os.FileInfo // of the file that is searched in place
	begin int64       // of its first record
	left  atomic.Int64
	whole func() *packedRefs // reads all of the file that is there then
}

const (
	// maxReadWhole is how large packed-refs may be to be read as a whole for one ref.
	maxReadWhole = 64 << 10
	// bytesPerSearch is the size of a file that is read in the time of one search.
	bytesPerSearch = 16 << 10
	// searchedWhole is the size of the part that a search reads in the end.
	searchedWhole = 8 << 10
	// searchStep is how much a search reads to find one record.
	searchStep = 1 << 10
)

// packedCache keeps packed-refs until the file is replaced.
type packedCache struct {
	mu   sync.Mutex
	info os.FileInfo // of the file that refs were read from; nil: nothing is cached
	refs *packedFile
}

// packed returns the packed refs, read again if the file has changed.
func (r *Repository) packed() *packedFile {
	file := filepath.Join(r.CommonDir, "packed-refs")
	c := &r.inPack
	c.mu.Lock()
	defer c.mu.Unlock()
	info, err := os.Lstat(file)
	if errors.Is(err, os.ErrNotExist) {
		return wholeFile(&packedRefs{})
	}
	if err != nil {
		return wholeFile(&packedRefs{err: err})
	}
	if c.info != nil && isUnchanged(c.info, info) {
		return c.refs
	}
	refs := openPacked(file, info)
	c.info, c.refs = nil, nil
	// A file that is replaced during the read may have the same stat data.
	if after, err := os.Lstat(file); err == nil && isUnchanged(info, after) && time.Since(after.ModTime()) > fsx.CoarseGrain {
		c.info, c.refs = after, refs
	}
	return refs
}

func isUnchanged(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// wholeFile returns a packedFile of what was read.
func wholeFile(refs *packedRefs) *packedFile {
	return &packedFile{whole: func() *packedRefs { return refs }}
}

// openPacked returns the refs of a file. It reads all of it now, or its first and last bytes.
func openPacked(path string, info os.FileInfo) *packedFile {
	if info.Size() > maxReadWhole {
		p := &packedFile{path: path, info: info}
		p.whole = sync.OnceValue(func() *packedRefs { return readPacked(path) })
		if p.readHeader() {
			return p
		}
	}
	return wholeFile(readPacked(path))
}

func readPacked(path string) *packedRefs {
	data, err := fsx.ReadFile(path, maxPackedRefs)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return &packedRefs{err: err}
	}
	return parsePacked(data)
}

// readHeader reports whether the file says that it is sorted, and ends with a whole line.
func (p *packedFile) readHeader() bool {
	f, err := fsx.Open(p.path)
	if err != nil {
		return false
	}
	defer f.Close()
	var first [searchStep]byte
	if _, err := io.ReadFull(f, first[:]); err != nil {
		return false
	}
	head, _, isWhole := bytes.Cut(first[:], []byte("\n"))
	if !isWhole || !saysSorted(head) {
		return false
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], p.info.Size()-1)
	p.begin = int64(len(head)) + 1
	p.left.Store(p.info.Size() / bytesPerSearch)
	return err == nil && last[0] == '\n'
}

// find returns the object that a packed ref names, if there is such a ref.
func (p *packedFile) find(ref string) (oid string, ok bool, err error) {
	_, part := p.partWith(func(name string) int { return strings.Compare(name, ref) })
	oid, ok = part.find(ref)
	return oid, ok, part.err
}

// findBelow returns a ref whose name begins with prefix, if there is one.
func (p *packedFile) findBelow(prefix string) (name string, ok bool, err error) {
	name, part := p.partWith(func(name string) int {
		if strings.HasPrefix(name, prefix) {
			return 0
		}
		return strings.Compare(name, prefix)
	})
	if name != "" {
		return name, true, part.err
	}
	name, ok = part.findBelow(prefix)
	return name, ok, part.err
}

// partWith returns a part of the records that has those for which compare returns 0, if there are any,
// and the name of one of them that it came across. compare tells whether a name is before, after, or one that is
// looked for. If the file cannot be searched, all of it is returned.
func (p *packedFile) partWith(compare func(name string) int) (name string, part *packedRefs) {
	if p.info == nil || p.left.Add(-1) < 0 {
		return "", p.whole()
	}
	f, err := fsx.Open(p.path)
	if err != nil {
		return "", p.whole()
	}
	defer f.Close()
	name, data := p.search(f, compare)
	// A file that was replaced or written to meanwhile is another one.
	if now, err := f.Stat(); data == nil || err != nil || !isUnchanged(p.info, now) {
		return "", p.whole()
	}
	return name, &packedRefs{data: data}
}

// search bisects the open file until the part that is left is small, and returns that, or nil if the
// file is not what git writes.
func (p *packedFile) search(f io.ReaderAt, compare func(name string) int) (found string, part []byte) {
	low, high := p.begin, p.info.Size() // a record begins at each, or the file ends
	var buf [searchStep]byte
	for high-low > searchedWhole {
		mid := low + (high-low)/2
		if _, err := f.ReadAt(buf[:], mid); err != nil {
			return "", nil
		}
		at, name := firstRecord(buf[:])
		if at < 0 {
			return "", nil
		}
		start := mid + int64(at)
		switch c := compare(name); {
		case c == 0:
			found, low = name, start
		case c < 0:
			low = start
		default:
			high = start
		}
		if found != "" {
			high = min(high, low+searchedWhole)
			break
		}
	}
	part = make([]byte, high-low)
	if _, err := f.ReadAt(part, low); err != nil {
		return "", nil
	}
	return found, part[:bytes.LastIndexByte(part, '\n')+1]
}

// firstRecord returns where the first record in some bytes of packed-refs begins that have its line as a
// whole, and its name; or -1. The bytes may begin in the middle of a record.
func firstRecord(b []byte) (at int, name string) {
	for {
		next := bytes.IndexByte(b[at:], '\n')
		if next < 0 {
			return -1, ""
		}
		at += next + 1
		line, _, isWhole := bytes.Cut(b[at:], []byte("\n"))
		if !isWhole {
			return -1, ""
		}
		if len(line) > 0 && line[0] == '^' { // belongs to the record before
			continue
		}
		_, name, _ := strings.Cut(string(line), " ")
		return at, name
	}
}
