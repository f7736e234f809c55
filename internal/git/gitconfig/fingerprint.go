package gitconfig

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// Fingerprints tell the secrets in the addresses of a repository's remotes from others, without having
// them: an agent can write an address with another password, which would push as somebody else. They are hashes with
// a salt that lies beside them.
type Fingerprints struct {
	Salt string   `json:"salt"`
	Of   []string `json:"of,omitempty"`
}

// FingerprintsOf returns those of the secrets that a repository's configuration has now. An
// empty salt is drawn.
func FingerprintsOf(salt string, own []Entry) Fingerprints {
	if salt == "" {
		b := make([]byte, 16)
		_, _ = rand.Read(b) // which never fails
		salt = hex.EncodeToString(b)
	}
	f := Fingerprints{Salt: salt}
	for _, e := range own {
		if isSecretAddress(e) && !f.Has(e) {
			f.Of = append(f.Of, f.of(e))
		}
	}
	return f
}

// Has reports whether the address of a remote has no secret, or one of these.
func (f Fingerprints) Has(e Entry) bool {
	return !isSecretAddress(e) || slices.Contains(f.Of, f.of(e))
}

// Shown returns a setting as a person is shown it: without a password. One that is not among
// these is mentioned.
func (f Fingerprints) Shown(e Entry) Setting {
	s := WithoutSecret(e.Setting())
	if !f.Has(e) {
		s.Value += " (with a password or token that nobody has accepted, number " + f.of(e)[:8] + ")"
	}
	return s
}

func (f Fingerprints) of(e Entry) string {
	h := hmac.New(sha256.New, []byte(f.Salt))
	h.Write([]byte(e.Key + "\x00" + e.Value))
	return hex.EncodeToString(h.Sum(nil))
}

func isSecretAddress(e Entry) bool {
	_, secret, found := CutSecret(e.Value)
	return IsRemoteURL(e.Key) && found && secret != (Secret{})
}
