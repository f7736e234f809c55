package gitconfig

import (
	"strconv"
	"strings"
)

// Access has what a git gets that reaches a remote, beside the user's credentials.
type Access struct {
	Config [][2]string
	Env    []string
}

// secretVariable begins the names of the variables that hold the secrets of addresses.
const secretVariable = "CROFT_GIT_SECRET_"

// AccessTo returns the rules that rewrite the pinned addresses of remotes as the user's own
// rules do, without the secrets of either, the helpers that answer with those secrets, and the
// user's settings that no file may have. own is the repository's configuration, in which the
// pinned addresses have their secrets.
func AccessTo(pinned []Setting, own, user []Entry) Access {
	var a Access
	for _, e := range user {
		_, isRule := Subsection(e.Key, "url.")
		if e.IsSecret() && !isRule && !strings.HasPrefix(e.Key, "credential.") {
			a.Config = append(a.Config, [2]string{e.Key, e.Value})
		}
	}
	for _, p := range pinned {
		if !IsRemoteURL(p.Key) {
			continue
		}
		given := p.Value
		for _, e := range own {
			if bare, _, _ := CutSecret(e.Value); e.Key == p.Key && bare == p.Value {
				given = e.Value
			}
		}
		for _, rule := range []string{"insteadof", "pushinsteadof"} {
			to := rewrite(user, rule, given)
			if rule == "pushinsteadof" && to == given {
				to = rewrite(user, "insteadof", given)
			}
			bare, secret, found := CutSecret(to)
			if found || bare != p.Value {
				a.Config = append(a.Config, [2]string{"url." + bare + "." + rule, p.Value})
			}
			if found {
				a.addSecret(bare, secret)
			}
		}
	}
	return a
}

// addSecret adds a helper that answers with a secret for one address.
func (a *Access) addSecret(bare string, s Secret) {
	scheme, rest, _ := strings.Cut(bare, "://")
	if scheme != "https" && scheme != "http" {
		return
	}
	host, _, _ := strings.Cut(rest, "/")
	user, password := secretVariable+strconv.Itoa(len(a.Env)), secretVariable+strconv.Itoa(len(a.Env)+1)
	a.Env = append(a.Env, user+"="+s.User, password+"="+s.Password)
	a.Config = append(a.Config, [2]string{
		"credential." + scheme + "://" + host + ".helper",
		`!f() { test "$1" = get && printf 'username=%s\npassword=%s\n' "$` + user + `" "$` + password + `"; }; f`,
	})
}

// rewrite rewrites an address by the user's rules, as git does: by the longest that matches.
func rewrite(entries []Entry, rule, address string) string {
	longest, out := 0, address
	for _, e := range entries {
		base, ok := Subsection(e.Key, "url.")
		if !ok || !strings.HasSuffix(e.Key, "."+rule) || len(e.Value) <= longest {
			continue
		}
		if rest, ok := strings.CutPrefix(address, e.Value); ok {
			longest, out = len(e.Value), base+rest
		}
	}
	return out
}
