package refs

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/git/object"
)

// FuzzParsePacked: an agent can write packed-refs. Looking up a name ends, and finds an
// object or none, whether the file is sorted as its header says or not.
func FuzzParsePacked(f *testing.F) {
	oid := strings.Repeat("ab", 20)
	const head = "# pack-refs with: peeled fully-peeled sorted \n"
	f.Add([]byte(head+oid+" refs/heads/a\n"+oid+" refs/heads/b\n^"+oid+"\n"), "refs/heads/b")
	f.Add([]byte(oid+" refs/heads/b\n"+oid+" refs/heads/a\n"), "refs/heads/a")
	f.Add([]byte(head+"^\n^\n\n \n"), "x")
	f.Add([]byte(head), "")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		p := parsePacked(data)
		if got, ok := p.find(name); ok && !object.IsOID(got) {
			t.Errorf("%q is no object", got)
		}
		file := filepath.Join(t.TempDir(), "packed-refs")
		data = append(append([]byte(nil), data...), bytes.Repeat([]byte(oid+" refs/heads/same\n"), 1300)...) // so that it is searched in place
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		info, err := os.Lstat(file)
		if err != nil {
			t.Fatal(err)
		}
		large := openPacked(file, info)
		if got, ok, err := large.find(name); ok && !object.IsOID(got) || err != nil {
			t.Errorf("%q is no object: %v", got, err)
		}
		if got, ok, _ := large.findBelow(name); ok && !strings.HasPrefix(got, name) {
			t.Errorf("%q is not below %q", got, name)
		}
		for line := range strings.Lines(string(data)) {
			if _, ref, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok {
				p.find(ref)
			}
		}
	})
}
