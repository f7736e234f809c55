package snapshot

import (
	"encoding/json"
	"testing"
)

// FuzzDecodeMeta: an agent may have written the object that holds a snapshot's description.
func FuzzDecodeMeta(f *testing.F) {
	whole, err := json.Marshal(Meta{Version: version, Deleted: [][]byte{[]byte("a")}, Modes: []Mode{{[]byte("b"), 0o4755}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte(`{"version":99}`))
	f.Add([]byte(`{"version":1,"secrets":{"../../x":"Li4veA=="},"modes":[{"path":"Li4vLi4=","mode":4294967295}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decodeMeta(data)
		if err == nil && m.Version != version {
			t.Errorf("version %d", m.Version)
		}
	})
}
