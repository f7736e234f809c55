package seal

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"
)

func open(t *testing.T, path string) *Box {
	t.Helper()
	b, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSealedIsReadByTheSameKeyOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "key")
	text := []byte(`{"agent":"opus"}`)
	sealed := open(t, path).Seal(text)
	if bytes.Contains(sealed, []byte("opus")) {
		t.Error("the name can be read")
	}
	if got, err := open(t, path).Unseal(sealed); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%q, %v", got, err)
	}
	other := open(t, filepath.Join(t.TempDir(), "key"))
	if got, err := other.Unseal(sealed); !errors.Is(err, ErrForeign) {
		t.Errorf("another key reads %q, %v", got, err)
	}
	for _, damaged := range [][]byte{sealed[:20], sealed[:len(sealed)-1], append(bytes.Clone(sealed[:len(sealed)-1]), sealed[len(sealed)-1]^1)} {
		if _, err := open(t, path).Unseal(damaged); !errors.Is(err, ErrForeign) {
			t.Errorf("damaged: %v", err)
		}
	}
	if got, err := other.Unseal(text); err != nil || !bytes.Equal(got, text) {
		t.Errorf("a text that is not sealed: %q, %v", got, err)
	}
}

// Neither the length nor a second sealing tells whether two texts are alike.
func TestSealedTellsNothing(t *testing.T) {
	b := open(t, filepath.Join(t.TempDir(), "key"))
	short, long := b.Seal([]byte("opus")), b.Seal([]byte("a much longer name of an agent"))
	if len(short) != len(long) {
		t.Errorf("lengths %d and %d", len(short), len(long))
	}
	if bytes.Equal(b.Seal([]byte("x")), b.Seal([]byte("x"))) {
		t.Error("the same text is sealed the same way")
	}
}
