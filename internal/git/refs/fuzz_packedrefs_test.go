package refs

import (
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
		for line := range strings.Lines(string(data)) {
			if _, ref, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok {
				p.find(ref)
			}
		}
	})
}
