package index_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/object"
)

// TestHugeIndex: an index of version 4 may say in a few bytes that a path begins as the one before. How long all paths are
// together is bounded by the size of the file, and only by that.
func TestHugeIndex(t *testing.T) {
	write := func(long, length, many, lie int) string {
		var b bytes.Buffer
		last := 0
		entry := func(strip byte, suffix string) {
			var fixed [62]byte
			binary.BigEndian.PutUint32(fixed[24:], 0o100644)
			last += len(suffix) - int(strip)
			binary.BigEndian.PutUint16(fixed[60:], uint16(min(last+lie, 0xfff)))
			b.Write(fixed[:])
			b.WriteByte(strip)
			b.WriteString(suffix + "\x00")
		}
		b.Write(binary.BigEndian.AppendUint32([]byte("DIRC\x00\x00\x00\x04"), uint32(long+many)))
		for range long {
			entry(0, string(bytes.Repeat([]byte("d"), length)))
		}
		for i := range many {
			entry(byte(min(i, 4)), string(binary.BigEndian.AppendUint32(nil, uint32(i)|0x80808080)))
		}
		b.Write(make([]byte, 20)) // no checksum
		file := filepath.Join(t.TempDir(), "index")
		if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for _, k := range []struct {
		name               string
		long, length, many int
		lie                int // by how much a path is longer than it says
		isHuge             bool
	}{
		{"long paths", 20, 50_000, 1000, 0, true},
		{"paths longer than what is read at once", 1, 70_000, 2000, 0, true},
		{"many files in a deep directory", 1, 200, 20_000, 0, false},
		{"paths whose length git reads otherwise", 1, 200, 20_000, 1, true},
	} {
		file := write(k.long, k.length, k.many, k.lie)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, parsed := index.Parse(data, object.Format("").NewHash())
		checked := index.CheckSize(file, 20)
		if errors.Is(parsed, index.ErrUnreadable) != k.isHuge || errors.Is(checked, index.ErrUnreadable) != k.isHuge {
			t.Errorf("%s: it is read: %v, and %v for git", k.name, parsed, checked)
		}
	}
	sparse := filepath.Join(t.TempDir(), "index")
	if err := errors.Join(os.WriteFile(sparse, []byte("DIRC\x00\x00\x00\x02"), 0o600), os.Truncate(sparse, index.MaxSize+1)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := index.ReadFile(sparse); !errors.Is(err, index.ErrUnreadable) || !errors.Is(index.CheckSize(sparse, 20), index.ErrUnreadable) {
		t.Errorf("a file of more than %d bytes is read: %v", index.MaxSize, err)
	}
}
