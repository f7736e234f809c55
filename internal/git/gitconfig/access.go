package gitconfig

import (
	"slices"
	"strconv"
	"strings"
)

// Way is how git reaches an address.
type Way string

// The ways. A repository at a path is served by a program on this machine, which runs hooks as the user.
const (
	WayFile Way = "file"
	WaySSH  Way = "ssh"
	WayWeb  Way = "web"
	WayAny  Way = "any" // several remotes
)

// WayOf returns how git reaches an address.
func WayOf(address string) Way {
	scheme, _, isURL := strings.Cut(address, "://")
	switch {
	case isURL && (scheme == "https" || scheme == "http"):
		return WayWeb
	case isURL && strings.Contains(scheme, "ssh"):
		return WaySSH
	case isURL:
		return WayFile
	}
	if host, _, ok := strings.Cut(address, ":"); ok && len(host) > 1 && !strings.Contains(host, "/") {
		return WaySSH
	}
	return WayFile
}

// Remote is a remote's address as it was pinned.
type Remote struct {
	Name   string
	Pinned string // without its secret
	Given  string // with the secret that the repository has for it, if a person has seen that
}

// Remotes returns the remotes whose addresses are pinned. own is the repository's configuration.
func Remotes(pinned []Setting, own []Entry, known Fingerprints) []Remote {
	var list []Remote
	for _, p := range pinned {
		if !IsRemoteURL(p.Key) {
			continue
		}
		name, _ := Subsection(p.Key, "remote.")
		r := Remote{name, p.Value, p.Value}
		for _, e := range own {
			if bare, _, _ := CutSecret(e.Value); e.Key == p.Key && bare == p.Value && known.Has(e) {
				r.Given = e.Value
			}
		}
		list = append(list, r)
	}
	return list
}

// Access has what a git gets that reaches a remote, beside the user's credentials.
type Access struct {
	Way    Way
	Config [][2]string
	Env    []string
}

// secretVariable begins the names of the variables that hold the secrets of addresses.
const secretVariable = "CROFT_GIT_SECRET_"

// The rules by which a user has git rewrite addresses.
const (
	FetchRule = "insteadof"
	PushRule  = "pushinsteadof"
)

// AccessTo returns what a git gets that reaches one remote by a rule: the rule that rewrites the
// pinned address as the user's own rules do, without the secrets of either; the helper that
// answers with those secrets; and the user's settings that no file may have, as far as they are
// for that address. A git that reaches a path gets the rule alone.
func AccessTo(r Remote, rule string, user []Entry) Access {
	var a Access
	to := a.addRule(r, rule, user)
	a.Way = WayOf(to)
	if a.Way == WayWeb {
		a.addSettings(user, func(e Entry) bool { return isFor(e, to) })
	}
	return a
}

// AccessToAll returns what a git gets that may reach any of several remotes, because it
// fetches objects that a checkout lacks.
func AccessToAll(remotes []Remote, user []Entry) Access {
	a := Access{Way: WayAny}
	for _, r := range remotes {
		a.addRule(r, FetchRule, user)
		a.addRule(r, PushRule, user)
	}
	a.addSettings(user, func(Entry) bool { return true })
	return a
}

// addRule adds the rule for an address and its secret, and returns where the rule leads to.
func (a *Access) addRule(r Remote, rule string, user []Entry) string {
	to := rewrite(user, rule, r.Given)
	if rule == PushRule && to == r.Given {
		to = rewrite(user, FetchRule, r.Given)
	}
	bare, secret, found := CutSecret(to)
	if found || bare != r.Pinned {
		a.Config = append(a.Config, [2]string{"url." + bare + "." + rule, r.Pinned})
	}
	if found && secret != (Secret{}) {
		a.addSecret(bare, secret)
	}
	return bare
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

// addSettings adds the user's helpers, after those that know the secrets of addresses, and
// the settings that may hold a secret.
func (a *Access) addSettings(user []Entry, isWanted func(Entry) bool) {
	for _, e := range user {
		section, _, _ := strings.Cut(e.Key, ".")
		isHelper := section == "credential" && strings.HasSuffix(e.Key, ".helper")
		isSecret := slices.Contains([]string{"credential", "http", "lfs"}, section) && e.IsSecret()
		if (isHelper || isSecret) && isWanted(e) {
			a.Config = append(a.Config, [2]string{e.Key, e.Value})
		}
	}
}

// isFor reports whether a setting may be for an address: it is for all, or for that host. Git looks at the rest.
func isFor(e Entry, address string) bool {
	section, _, _ := strings.Cut(e.Key, ".")
	pattern, ok := Subsection(e.Key, section+".")
	if !ok {
		return true
	}
	want, have := strings.Split(hostOf(pattern), "."), strings.Split(hostOf(address), ".")
	if len(want) == 1 && want[0] == "" {
		return true
	}
	return slices.EqualFunc(want, have, func(w, h string) bool { return w == "*" || w == h })
}

// hostOf returns the host of an address, without its port.
func hostOf(address string) string {
	_, rest, isURL := strings.Cut(address, "://")
	if !isURL {
		rest = address
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	host := rest[strings.LastIndexByte(rest, '@')+1:]
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:i]
	}
	return strings.ToLower(host)
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
