package object

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
)

// FuzzParseTree: an agent can make trees. The entries of a tree that can be read have all
// its bytes, except for zeros before a mode, which some tools write.
func FuzzParseTree(f *testing.F) {
	f.Add([]byte("100644 a\x00" + strings.Repeat("x", 20) + "40000 b\x00" + strings.Repeat("y", 20)))
	f.Add([]byte("100644 ../a\x00" + strings.Repeat("x", 19)))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := ParseTree(data, 20)
		if err != nil {
			return
		}
		var b bytes.Buffer
		for _, e := range entries {
			oid, err := hex.DecodeString(e.OID)
			if err != nil || len(oid) != 20 {
				t.Fatalf("entry %+v", e)
			}
			b.WriteString(e.Mode + " " + e.Name + "\x00")
			b.Write(oid)
		}
		again, err := ParseTree(b.Bytes(), 20)
		if err != nil || !slices.Equal(again, entries) {
			t.Fatalf("not the same when it is read again: %+v, %v", again, err)
		}
		zeros := 0
		for rest := data; len(rest) > 0; {
			zeros += len(rest) - len(bytes.TrimLeft(rest, "0"))
			if rest[len(rest)-len(bytes.TrimLeft(rest, "0"))] == ' ' {
				return // a mode of zeros alone stays as it is
			}
			rest = rest[bytes.IndexByte(rest, 0)+21:]
		}
		if b.Len()+zeros != len(data) {
			t.Errorf("not all of it is there when it is written again: %q", b.Bytes())
		}
	})
}

// FuzzParseCommit: an agent can make commits.
func FuzzParseCommit(f *testing.F) {
	oid := strings.Repeat("ab", 20)
	f.Add([]byte("tree " + oid + "\nparent " + oid + "\nauthor A <a> 1 +0000\ncommitter C <c> 2 +0000\nencoding x\n\nmessage\n"))
	f.Add([]byte("tree \n\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ParseCommit(Object{OID: oid, Type: "commit", Size: int64(len(data)), Data: data})
		if err == nil && c.Tree == "" {
			t.Error("a commit without a tree")
		}
		if strings.Contains(c.Author+c.Signature+c.Tree+c.Encoding, "\n") {
			t.Errorf("a line has two: %+v", c)
		}
	})
}
