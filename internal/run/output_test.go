package run

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"testing"
)

// TestOutputKeepsItsEnds: of a long output the first file and the last ones are kept; whoever
// reads on gets each byte once, at its place, and nothing of what was deleted.
func TestOutputKeepsItsEnds(t *testing.T) {
	dir := t.TempDir()
	w, err := CreateOutput(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	w.most = 100
	var all []byte
	for i := range 500 {
		line := fmt.Appendf(nil, "line %d\n", i)
		all = append(all, line...)
		if n, err := w.Write(line); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
	}
	var kept int
	for at := int64(0); ; {
		p, err := ReadOutput(dir, at, 7)
		if err != nil {
			t.Fatal(err)
		}
		if p.Size != int64(len(all)) || p.Offset < at {
			t.Fatalf("at %d: %+v", at, p)
		}
		if len(p.Data) == 0 {
			break
		}
		if !bytes.Equal(p.Data, all[p.Offset:p.Offset+int64(len(p.Data))]) {
			t.Fatalf("at %d: %q", p.Offset, p.Data)
		}
		kept += len(p.Data)
		at = p.Offset + int64(len(p.Data))
	}
	if kept < 400 || kept > 650 {
		t.Errorf("%d bytes are kept of %d", kept, len(all))
	}
	if p, err := ReadOutput(dir, -9, 100); err != nil || string(p.Data) != "line 499\n" {
		t.Errorf("the end: %+v, %v", p, err)
	}
	if p, err := ReadOutput(dir, 0, 7); err != nil || string(p.Data) != "line 0\n" {
		t.Errorf("the beginning: %+v, %v", p, err)
	}
	if _, err := ReadOutput(t.TempDir(), 0, 7); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without an output: %v", err)
	}
}
