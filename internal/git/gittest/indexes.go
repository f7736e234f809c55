package gittest

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
)

// IndexEntry is an entry of a crafted index.
type IndexEntry struct {
	Path      string
	Stage     int
	Mode      uint32 // 0: what MakeIndexEntry is not told, a plain file; use NoMode for none
	OID       string // empty: the object that File is given
	IsHidden  bool   // assume-unchanged
	IsIntent  bool   // intent-to-add
	IsLeftOut bool   // git would not make it
}

// NoMode is a mode of zero.
const NoMode = ^uint32(0)

// CraftedIndex is an index file that a process wrote byte by byte.
type CraftedIndex struct {
	Entries  []IndexEntry
	IsFaulty bool     // git would not make it
	InOrder  []string // the paths that are kept, if not in the order of Entries
}

// Kept returns the paths of the entries that git would make, in its order.
func (x CraftedIndex) Kept() []string {
	if x.InOrder != nil {
		return x.InOrder
	}
	var list []string
	for _, e := range x.Entries {
		if !e.IsLeftOut {
			list = append(list, e.Path)
		}
	}
	return list
}

// File returns the file. oid is the object of the entries that name none.
func (x CraftedIndex) File(oid string) []byte {
	var out bytes.Buffer
	version := uint32(2)
	for _, e := range x.Entries {
		if e.IsIntent {
			version = 3
		}
	}
	put := func(n any) { _ = binary.Write(&out, binary.BigEndian, n) }
	out.WriteString("DIRC")
	put([]uint32{version, uint32(len(x.Entries))})
	for _, e := range x.Entries {
		start := out.Len()
		mode := e.Mode
		switch mode {
		case 0:
			mode = 0o100644
		case NoMode:
			mode = 0
		}
		put([10]uint32{6: mode})
		name := oid
		if e.OID != "" {
			name = e.OID
		}
		raw, err := hex.DecodeString(name)
		if err != nil {
			panic(err)
		}
		out.Write(raw)
		flags := uint16(e.Stage)<<12 | uint16(min(len(e.Path), 0xfff))
		if e.IsHidden {
			flags |= 0x8000
		}
		if e.IsIntent {
			put([]uint16{flags | 0x4000, 0x2000})
		} else {
			put(flags)
		}
		out.WriteString(e.Path)
		out.Write(make([]byte, 8-(out.Len()-start)%8))
	}
	sum := sha1.Sum(out.Bytes())
	return append(out.Bytes(), sum[:]...)
}

// CraftedIndexes returns indexes that git would not make, and unusual ones that it would.
func CraftedIndexes() map[string]CraftedIndex {
	faulty := func(entries ...IndexEntry) CraftedIndex { return CraftedIndex{Entries: entries, IsFaulty: true} }
	unusual := func(entries ...IndexEntry) CraftedIndex { return CraftedIndex{Entries: entries} }
	at := func(path string, stage int) IndexEntry { return IndexEntry{Path: path, Stage: stage} }
	out := func(path string, stage int) IndexEntry { return IndexEntry{Path: path, Stage: stage, IsLeftOut: true} }
	mode := func(e IndexEntry, mode uint32) IndexEntry { e.Mode = mode; return e }
	var many []IndexEntry
	for i := range 3000 {
		many = append(many, at(fmt.Sprintf("f%05d", i), 1+i%3))
	}
	unsorted := faulty(at("z", 2), at("a", 1), at("m", 0))
	unsorted.InOrder = []string{"a", "m", "z"}
	return map[string]CraftedIndex{
		"directory and file":              faulty(at("a", 0), at("a-b", 0), out("a/b", 0), out("a/b/c", 0)),
		"directory and file in a stage":   faulty(at("a", 2), out("a/b", 2)),
		"and between":                     faulty(at("a", 2), at("a/b", 0), out("a/c", 2), at("a/d", 0)),
		"directory and file of two":       unusual(at("a", 1), at("a", 2), at("a/b", 3)),
		"merged and in conflict":          faulty(at("a", 0), out("a", 2), out("a", 3)),
		"twice":                           faulty(at("a", 0), out("a", 0)),
		"twice in a stage":                faulty(at("a", 2), out("a", 2)),
		"unsorted":                        unsorted,
		"git directory":                   faulty(out(".git/config", 2), at("a", 0)),
		"git directory staged":            faulty(out(".git/hooks/pre-commit", 0), at("a", 0)),
		"git directory below":             faulty(at("a", 0), out("sub/.GIT/hooks/x", 3)),
		"up":                              faulty(out("../x", 2)),
		"up staged":                       faulty(out("../x", 0)),
		"absolute":                        faulty(out("/x", 1)),
		"absolute staged":                 faulty(out("/tmp/x", 0)),
		"no name":                         faulty(out("", 1)),
		"slash at the end":                faulty(out("a/", 2)),
		"two slashes":                     faulty(out("a//b", 2)),
		"dot":                             faulty(out("./a", 3)),
		"no mode":                         faulty(mode(out("a", 2), NoMode)),
		"no mode staged":                  faulty(mode(out("a", 0), NoMode)),
		"mode of a tree":                  faulty(mode(out("a", 2), 0o040000)),
		"mode of a tree staged":           faulty(mode(out("a", 0), 0o040000)),
		"strange modes":                   faulty(mode(out("a", 1), 0o100666), mode(out("b", 0), 0o107777)),
		"submodule in conflict":           unusual(mode(at("s", 1), 0o160000), mode(at("s", 2), 0o160000), at("s", 3)),
		"submodule and below":             faulty(mode(at("s", 0), 0o160000), out("s/x", 0)),
		"link":                            unusual(mode(at("a", 2), 0o120000)),
		"many":                            unusual(many...),
		"deep":                            unusual(at(strings.Repeat("d/", 900)+"x", 2)),
		"longer than a path":              faulty(at("a", 0), out(strings.Repeat("d/", 4000)+"x", 0)),
		"longer than a name":              faulty(at("a", 0), out(strings.Repeat("d", 1200), 0)),
		"newline":                         unusual(at("a\nb", 2), at("q\"\t", 3)),
		"order":                           unusual(at("a", 2), at("a-b", 2), at("a/c", 3), at("a0", 1)),
		"not compared":                    unusual(IndexEntry{Path: "a", Stage: 2, IsHidden: true}),
		"intended with content":           faulty(IndexEntry{Path: "a", IsIntent: true, IsLeftOut: true}, at("b", 0)),
		"all that is there is left out":   faulty(out("/", 0)),
		"conflict below a file elsewhere": unusual(at("a", 0), at("a/b", 1)),
	}
}
