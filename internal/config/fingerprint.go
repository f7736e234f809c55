package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Fingerprint stands for everything outside of a repository that decides what a call does:
// the settings, and the variables that git and the approvals read. Two processes with the
// same one do the same.
func (s *Set) Fingerprint(environ []string) string {
	sum := sha256.New()
	for _, v := range s.Values() {
		fmt.Fprintf(sum, "%q=%q\n", v.Key, fmt.Sprint(v.Value))
	}
	env := newEnviron(environ)
	var names []string
	for name, value := range env {
		if value != "" && (strings.HasPrefix(name, "GIT_") || slices.Contains(outside, name)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(sum, "%q=%q\n", name, env[name])
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// outside are variables that are no settings, and that git or Croft goes by: where git's own
// configuration is, and which checks a person has allowed for one process.
var outside = []string{"HOME", "XDG_CONFIG_HOME", "CROFT_TRUST"}
