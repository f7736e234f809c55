package config

import "testing"

// TestFingerprint: settings and what git reads of the environment change it, and nothing
// else does.
func TestFingerprint(t *testing.T) {
	of := func(flags map[string]string, environ ...string) string {
		environ = append([]string{"HOME=/home/ada"}, environ...)
		set, err := Load(Input{Environ: environ, Flags: flags})
		if err != nil {
			t.Fatal(err)
		}
		return set.Fingerprint(environ)
	}
	plain := of(nil)
	for _, same := range []string{of(nil, "PATH=/bin", "TERM=x", "CROFT_WORKSPACE=w", "GIT_EDITOR="), of(nil)} {
		if same != plain {
			t.Error("something else changed it")
		}
	}
	for name, other := range map[string]string{
		"a flag": of(map[string]string{"gc.auto": "false"}), "a variable": of(nil, "CROFT_GC_AUTO=false"), "git's": of(nil, "GIT_AUTHOR_NAME=Bob"),
		"an approval": of(nil, "CROFT_TRUST=x"), "the home": of(nil, "HOME=/home/bob"), "the state": of(nil, "CROFT_STATE_DIR=/s"),
	} {
		if other == plain {
			t.Errorf("%s does not change it", name)
		}
	}
}
