package gitconfig

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseConfigListErrors(t *testing.T) {
	for name, text := range map[string]string{
		"no NUL":      "local\x00file:x\x00a.b\nc",
		"no value":    "local\x00file:x\x00",
		"scope alone": "local\x00",
		"no scope":    "\x00file:x\x00a.b\nc\x00",
		"no section":  "local\x00file:x\x00ab\nc\x00",
	} {
		if got, err := ParseList([]byte(text)); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got, err := ParseList(nil); err != nil || len(got) > 0 {
		t.Errorf("nothing: %v, %v", got, err)
	}
}

func FuzzParseConfigList(f *testing.F) {
	f.Add([]byte("local\x00file:/x\x00a.b\nc\x00global\x00command line:\x00d.e.f\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := ParseList(data)
		if err != nil {
			return
		}
		var b bytes.Buffer
		for _, e := range entries {
			b.WriteString(e.Scope + "\x00file:" + e.File + "\x00" + e.Key)
			if !e.Bare {
				b.WriteString("\n" + e.Value)
			}
			b.WriteByte(0)
		}
		again, err := ParseList(b.Bytes())
		if diff := cmp.Diff(entries, again, cmp.AllowUnexported(Entry{})); err != nil || diff != "" {
			t.Errorf("%v, not the same when encoded and parsed again:\n%s", err, diff)
		}
	})
}
