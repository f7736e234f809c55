package odb

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/git/object"
)

func TestParseStatusErrors(t *testing.T) {
	for name, text := range map[string]string{
		"no NUL":            "? a",
		"empty line":        "? a\x00\x00",
		"unknown kind":      "x a\x00",
		"no path":           "? \x00",
		"no columns":        "1 .M\x00",
		"bad state":         "1 .MM N... 100644 100644 100644 a b p\x00",
		"bad submodule":     "1 .M N 100644 100644 100644 a b p\x00",
		"rename cut short":  "2 R. N... 100644 100644 100644 a b R100 new\x00",
		"a very long field": "? " + strings.Repeat("x", maxField) + "\x00",
	} {
		var last error
		for _, err := range ParseStatus(strings.NewReader(text)) {
			last = err
		}
		if last == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestReadBatch(t *testing.T) {
	oid := strings.Repeat("ab", 20)
	for _, tt := range []struct {
		name, text string
		contents   bool
		want       object.Object
		missing    bool
		fails      bool
	}{
		{"info", oid + " blob 5\n", false, object.Object{OID: oid, Type: "blob", Size: 5}, false, false},
		{"contents", oid + " blob 5\na\nb\x00c\n", true, object.Object{OID: oid, Type: "blob", Size: 5, Data: []byte("a\nb\x00c")}, false, false},
		{"empty", oid + " blob 0\n\n", true, object.Object{OID: oid, Type: "blob", Data: []byte{}}, false, false},
		{"sha256", strings.Repeat("ab", 32) + " commit 1\n", false, object.Object{OID: strings.Repeat("ab", 32), Type: "commit", Size: 1}, false, false},
		{"missing", "main:nothing missing\n", true, object.Object{}, true, false},
		{"ambiguous", "ab ambiguous\n", true, object.Object{}, true, false},
		{"a name like an answer", oid + " blob missing\n", true, object.Object{}, true, false},
		{"a name like a whole answer", oid + " blob 5 missing\n", true, object.Object{}, true, false},
		{"no newline", oid + " blob 5", false, object.Object{}, false, true},
		{"cut in the data", oid + " blob 5\nabc", true, object.Object{}, false, true},
		{"no newline after the data", oid + " blob 3\nabc", true, object.Object{}, false, true},
		{"more data", oid + " blob 3\nabcd\n", true, object.Object{}, false, true},
		{"negative", oid + " blob -5\n", true, object.Object{}, false, true},
		{"huge", oid + " blob 99999999999999999999\n", true, object.Object{}, false, true},
		{"other type", oid + " note 5\n", true, object.Object{}, false, true},
		{"other words", "fatal: what\n", true, object.Object{}, false, true},
		{"nothing", "", true, object.Object{}, false, true},
	} {
		got, err := readWhole(bufio.NewReader(strings.NewReader(tt.text)), tt.contents)
		if errors.Is(err, object.ErrMissing) != tt.missing || (err != nil) != (tt.missing || tt.fails) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// readWhole reads an answer into memory.
func readWhole(r *bufio.Reader, contents bool) (object.Object, error) {
	if !contents {
		return readBatch(r, nil)
	}
	var data bytes.Buffer
	o, err := readBatch(r, &data)
	if err == nil {
		o.Data = data.Bytes()
	}
	return o, err
}

// encodeStatus returns what git prints for entries.
func encodeStatus(entries []StatusEntry) []byte {
	var b bytes.Buffer
	for _, e := range entries {
		sub := "N..."
		if e.Submodule {
			sub = "SC.."
		}
		xy := string([]byte{e.Index, e.Work})
		switch {
		case e.IsUntracked():
			b.WriteString("? " + e.Path)
		case e.Conflicted:
			b.WriteString("u " + xy + " " + sub + " 1 2 3 4 h1 h2 h3 " + e.Path)
		default:
			b.WriteString("1 " + xy + " " + sub + " 1 2 3 h1 h2 " + e.Path)
		}
		b.WriteByte(0)
	}
	return b.Bytes()
}

// collect reads a sequence to its end or its error.
func collect[T any](seq func(func(T, error) bool)) (list []T, err error) {
	for v, err := range seq {
		if err != nil {
			return list, err
		}
		list = append(list, v)
	}
	return list, nil
}

func FuzzParseStatus(f *testing.F) {
	f.Add([]byte("# branch.oid abc\x001 .M N... 100644 100644 100644 a b p a t h\x002 R. N... 1 2 3 a b R100 new\x00old\x00? x\x00! y\x00"))
	f.Add([]byte("u UU SC.. 1 2 3 4 a b c odd\nname\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := collect(ParseStatus(bytes.NewReader(data)))
		if err == nil && len(data) > 0 && data[len(data)-1] != 0 {
			t.Errorf("no error for output that ends within a field")
		}
		for _, e := range entries {
			if e.Path == "" || strings.Contains(e.Path, "\x00") {
				t.Errorf("path %q", e.Path)
			}
		}
		again, err := collect(ParseStatus(bytes.NewReader(encodeStatus(entries))))
		if diff := cmp.Diff(entries, again); err != nil || diff != "" {
			t.Errorf("%v, not the same when encoded and parsed again:\n%s", err, diff)
		}
	})
}

func FuzzReadBatch(f *testing.F) {
	oid := strings.Repeat("ab", 20)
	f.Add([]byte(oid+" blob 5\na\nb\x00c\n"), true)
	f.Add([]byte(oid+" tree 0\n\n"), false)
	f.Add([]byte("x missing\n"), true)
	f.Fuzz(func(t *testing.T, data []byte, contents bool) {
		in := bytes.NewReader(data)
		r := bufio.NewReaderSize(in, 16)
		o, err := readWhole(r, contents)
		switch {
		case errors.Is(err, object.ErrMissing):
			if !bytes.Contains(data, []byte("\n")) {
				t.Error("an answer without a newline was believed")
			}
		case err == nil:
			if !object.IsOID(o.OID) || o.Size < 0 || contents && int64(len(o.Data)) != o.Size {
				t.Errorf("object %+v", o)
			}
			rest, _ := io.ReadAll(r)
			header, _, _ := bytes.Cut(data, []byte("\n"))
			size := len(header) + 1
			if contents {
				size += len(o.Data) + 1
			}
			if len(data)-len(rest) != size {
				t.Errorf("read %d bytes of an answer of %d", len(data)-len(rest), size)
			}
		}
	})
}
