package refs

import (
	"bytes"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/git/object"
)

// packedRefs is the content of packed-refs, git's file of refs that have no file of their
// own. A large project has tens of thousands of them, so the file is searched in place
// instead of being parsed.
type packedRefs struct {
	data   []byte            // records, sorted by ref name
	byName map[string]string // set instead of data if the file is not sorted
	err    error             // the file exists and cannot be read
}

// parsePacked prepares the content of packed-refs for find.
func parsePacked(data []byte) *packedRefs {
	if head, rest, ok := bytes.Cut(data, []byte("\n")); ok && saysSorted(head) && bytes.HasSuffix(rest, []byte("\n")) {
		return &packedRefs{data: rest}
	}
	p := &packedRefs{byName: map[string]string{}}
	for line := range strings.Lines(string(data)) {
		oid, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if ok && object.IsOID(oid) {
			p.byName[name] = oid
		}
	}
	return p
}

// saysSorted reports whether the first line of packed-refs says that the refs are sorted.
func saysSorted(head []byte) bool {
	return bytes.HasPrefix(head, []byte("# pack-refs with:")) && slices.Contains(strings.Fields(string(head)), "sorted")
}

// find returns the object that a packed ref names.
func (p *packedRefs) find(ref string) (oid string, ok bool) {
	if p.byName != nil {
		oid, ok = p.byName[ref]
		return oid, ok
	}
	low, high := 0, len(p.data)
	for low < high {
		start, end := p.recordAt(low, (low+high)/2)
		line, _, _ := bytes.Cut(p.data[start:end], []byte("\n"))
		oid, name, _ := strings.Cut(string(line), " ")
		switch strings.Compare(name, ref) {
		case 0:
			return oid, object.IsOID(oid)
		case -1:
			low = end
		default:
			high = start
		}
	}
	return "", false
}

// findBelow returns a ref whose name begins with prefix, if there is one.
func (p *packedRefs) findBelow(prefix string) (name string, ok bool) {
	for name := range p.byName {
		if strings.HasPrefix(name, prefix) {
			return name, true
		}
	}
	low, high := 0, len(p.data)
	for low < high {
		start, end := p.recordAt(low, (low+high)/2)
		line, _, _ := bytes.Cut(p.data[start:end], []byte("\n"))
		_, name, _ := strings.Cut(string(line), " ")
		switch {
		case strings.HasPrefix(name, prefix):
			return name, true
		case name < prefix:
			low = end
		default:
			high = start
		}
	}
	return "", false
}

// recordAt returns the bounds of the record at pos. low is the start of an earlier record.
// A record is a line, and a second line beginning with ^ if the object is an annotated
// tag.
func (p *packedRefs) recordAt(low, pos int) (start, end int) {
	start = low + bytes.LastIndexByte(p.data[low:pos], '\n') + 1
	for start > low && p.data[start] == '^' {
		start = low + bytes.LastIndexByte(p.data[low:start-1], '\n') + 1
	}
	end = start + bytes.IndexByte(p.data[start:], '\n') + 1
	for end < len(p.data) && p.data[end] == '^' {
		end += bytes.IndexByte(p.data[end:], '\n') + 1
	}
	return start, end
}

// manyRefs is how many refs below a prefix may be loose. Git opens the file of every loose
// ref whenever it lists refs, as a fetch does.
const manyRefs = 1000
