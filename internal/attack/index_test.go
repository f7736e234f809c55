//go:build linux

package attack

import (
	"bytes"
	be "encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hugeIndexes are index files of a few kilobytes to megabytes on disk.
var hugeIndexes = map[string]func(t *testing.T, file string){
	"that is sparse": func(t *testing.T, file string) { must(t, os.Truncate(file, 1900<<20)) },
	"whose paths repeat a long one": func(t *testing.T, file string) {
		var b bytes.Buffer
		entry := func(strip byte, suffix []byte) {
			var fixed [62]byte
			be.BigEndian.PutUint32(fixed[24:], 0o100644)
			copy(fixed[40:], bytes.Repeat([]byte{1}, 20))
			be.BigEndian.PutUint16(fixed[60:], 0xfff)
			b.Write(append(append(append(fixed[:], strip), suffix...), 0))
		}
		const long, many = 40, 1000 // git takes 2.5 GB for it
		b.Write(be.BigEndian.AppendUint32(be.BigEndian.AppendUint32([]byte("DIRC"), 4), long+many))
		for range long {
			entry(0, bytes.Repeat([]byte("a"), 60_000))
		}
		for range many {
			entry(0, []byte("b"))
		}
		b.Write(make([]byte, 20)) // no checksum
		must(t, os.WriteFile(file, b.Bytes(), 0o644))
	},
}

// TestHugeIndex: [C], in isolated mode [W], gives its workspace an index that takes far more memory than disk. Every command
// must answer in bounded memory, about the other workspace too, whose work must land; the directory must go to the trash.
func TestHugeIndex(t *testing.T) {
	for name, write := range hugeIndexes {
		t.Run(name, func(t *testing.T) {
			inModes(t, gitModes, func(t *testing.T, h *host) {
				a, b := h.agent("a1"), h.agent("b1")
				a.write("f1.txt", "mine\n")
				b.write("f2.txt", "work\n")
				write(t, filepath.Join(a.admin(), "index"))
				for command := range strings.SplitSeq("list --full,show a1,conflicts,merge a1 b1,clean --yes,snapshot a1,remove --force a1", ",") {
					h.mustBeSmall(command, h.croft(strings.Fields(command)...))
				}
				if _, err := os.Lstat(a.dir); err == nil {
					t.Error("it cannot be removed")
				}
				if got := h.git(h.dir, "show", "main:f2.txt"); got != "work" {
					t.Errorf("%q landed", got)
				}
			})
		})
	}
}
