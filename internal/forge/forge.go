// Package forge speaks with the hosts of pull requests: GitHub by its tool gh and GitLab by
// its tool glab, which have the user's own credentials. It sees no token, and stores nothing.
//
// What the host is, is read from the address of a remote. The tool is called by its absolute
// path, in a directory that no agent writes, with the host and the project named: it reads
// nothing of a repository. Words of agents (titles, descriptions, names of branches) reach it
// in a body of JSON on its standard input, or escaped in the path of a request: none of them
// is an argument by itself. Where no tool is installed, the page of the host is known on which
// a person opens the pull request.
package forge

import (
	"net/url"
	"strconv"
	"strings"
)

// Kind is the software of a host.
type Kind string

// The kinds. Unknown hosts have no pages that are known.
const (
	GitHub    Kind = "github"
	GitLab    Kind = "gitlab"
	Bitbucket Kind = "bitbucket"
	Gitea     Kind = "gitea" // and Forgejo
	Unknown   Kind = ""
)

// Host is where a project has its pull requests.
type Host struct {
	Kind    Kind
	Name    string // with its port, if that is not the usual one
	Project string // such as acme/app, without .git
}

// HostOf returns the host that the address of a remote leads to. It is false for a path, and
// for an address without a project.
func HostOf(address string) (Host, bool) {
	name, path, ok := splitAddress(address)
	path = strings.Trim(strings.TrimSuffix(strings.TrimRight(path, "/"), ".git"), "/")
	if !ok || name == "" || !strings.Contains(path, "/") || strings.ContainsAny(name+path, " \t\r\n\\?#%&'\"<>") {
		return Host{}, false
	}
	switch name = strings.ToLower(name); name {
	case "ssh.github.com":
		name = "github.com"
	case "altssh.gitlab.com":
		name = "gitlab.com"
	case "altssh.bitbucket.org":
		name = "bitbucket.org"
	}
	return Host{Kind: kindOf(name), Name: name, Project: path}, true
}

// splitAddress returns the host and the path of an address.
func splitAddress(address string) (name, path string, ok bool) {
	scheme, rest, isURL := strings.Cut(address, "://")
	if !isURL {
		at, path, ok := strings.Cut(address, ":") // user@host:path
		if strings.Contains(at, "/") || len(at) < 2 {
			return "", "", false
		}
		return at[strings.LastIndexByte(at, '@')+1:], path, ok
	}
	if scheme != "https" && scheme != "http" && scheme != "ssh" {
		return "", "", false
	}
	name, path, ok = strings.Cut(rest, "/")
	name = name[strings.LastIndexByte(name, '@')+1:]
	if scheme == "ssh" {
		name, _, _ = strings.Cut(name, ":") // the port of ssh says nothing about the pages
	}
	return name, path, ok
}

// kindOf guesses the software of a host by its name.
func kindOf(name string) Kind {
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(name, w) {
				return true
			}
		}
		return false
	}
	switch {
	case has("github") || strings.HasSuffix(name, ".ghe.com"):
		return GitHub
	case has("gitlab"):
		return GitLab
	case name == "bitbucket.org":
		return Bitbucket
	case has("gitea", "forgejo") || name == "codeberg.org":
		return Gitea
	}
	return Unknown
}

// CompareURL returns the page on which a person opens a pull request for a branch, or the
// empty string if that is not known.
func (h Host) CompareURL(base, branch string) string {
	at := "https://" + h.Name + "/" + h.Project
	switch h.Kind {
	case GitHub:
		return at + "/compare/" + escapeBranch(base) + "..." + escapeBranch(branch) + "?expand=1"
	case GitLab:
		q := url.Values{"merge_request[source_branch]": {branch}, "merge_request[target_branch]": {base}}
		return at + "/-/merge_requests/new?" + q.Encode()
	case Bitbucket:
		return at + "/pull-requests/new?" + url.Values{"source": {branch}, "dest": {base}}.Encode()
	case Gitea:
		return at + "/compare/" + escapeBranch(base) + "..." + escapeBranch(branch)
	}
	return ""
}

// escapeBranch escapes the parts of a branch's name for the path of a page.
func escapeBranch(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}

// PullRefs returns the refs under which hosts show the head of a pull request, those of this
// host first.
func (h Host) PullRefs(number int) []string {
	n := strconv.Itoa(number)
	refs := []string{"refs/pull/" + n + "/head", "refs/merge-requests/" + n + "/head"}
	if h.Kind == GitLab {
		refs[0], refs[1] = refs[1], refs[0]
	}
	return refs
}

// ToolName returns the name of the host's tool, or the empty string if Croft knows none.
func (h Host) ToolName() string {
	switch h.Kind {
	case GitHub:
		return "gh"
	case GitLab:
		return "glab"
	}
	return ""
}
