// Package remote is the door to a remote: which refs are there, what they reach, and a commit
// that a branch there gets.
//
// The address is the one that was pinned when Croft first saw the repository, or that a person
// has accepted since. No other setting of a remote is read, so that neither the program at the
// other end nor a second address is an agent's choice. The user's own settings hold: rules
// that rewrite addresses, credential helpers, the ssh command. No hook runs, and only git's own transports for
// https, ssh and files do. A password in an address, the
// repository's or a rule's, is in no argument and in no file: git asks a helper for it, which
// has it from the environment (package gitconfig, access.go). Nothing is written but objects.
package remote

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitconfig"
)

// ErrNone says that the repository has no such remote.
var ErrNone = errors.New("the repository has no such remote")

// Remote is a remote of a repository.
type Remote struct {
	Name string
	URL  string // pinned, without its secret
	repo *gitcmd.Repository
}

// Names returns the names of the remotes of a repository.
func Names(r *gitcmd.Repository) ([]string, error) {
	list, err := r.PinnedRemotes()
	var names []string
	for _, s := range list {
		name, _ := gitconfig.Subsection(s.Key, "remote.")
		if len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	return names, err
}

// Open finds a remote. It fails with a *gitcmd.ConfigChangedError if the repository's
// configuration has another address for it, or one that nobody has accepted, and with
// ErrNone if it has none.
func Open(r *gitcmd.Repository, name string) (*Remote, error) {
	if err := r.CheckRemote(name); err != nil {
		return nil, err
	}
	list, err := r.PinnedRemotes()
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		if s.Key == "remote."+name+".url" {
			return &Remote{name, s.Value, r}, nil
		}
	}
	return nil, fmt.Errorf("%q: %w", name, ErrNone)
}

// run runs git with the user's credentials.
func (r *Remote) run(ctx context.Context, c gitcmd.Call) ([]byte, error) {
	if err := r.repo.CheckRemote(r.Name); err != nil {
		return nil, err
	}
	c.Network, c.Remote = true, r.Name
	return r.repo.Git.Run(ctx, r.repo.RemoteTarget(), c)
}

// Refs returns the objects that refs of the remote are at. A ref that the remote does not have
// is left out. names are whole names of refs.
func (r *Remote) Refs(ctx context.Context, names ...string) (map[string]string, error) {
	args := append([]string{"ls-remote", "--quiet", "--upload-pack=git-upload-pack", "--end-of-options", r.URL}, names...)
	out, err := r.run(ctx, gitcmd.Call{Args: args})
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for line := range strings.Lines(string(out)) {
		oid, name, ok := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		if !ok || len(oid) != r.repo.ObjectFormat().HexLen() {
			continue
		}
		for _, wanted := range names { // git matches the ends of names, too
			if name == wanted {
				found[name] = oid
			}
		}
	}
	return found, nil
}

// Fetch fetches what some refs of the remote reach. It writes no ref: the caller keeps what it
// needs.
func (r *Remote) Fetch(ctx context.Context, names ...string) error {
	_, err := r.run(ctx, gitcmd.Call{Args: append([]string{
		"fetch", "--no-tags", "--quiet", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-maintenance", "--refmap=",
		"--upload-pack=git-upload-pack", "--end-of-options", r.URL,
	}, names...)})
	return err
}

// Push is a commit that a branch of a remote gets.
type Push struct {
	Branch string // without refs/heads/
	Commit string
	Was    string // where the branch is there; empty: it does not exist
}

// RejectedError says that a remote did not take a push.
type RejectedError struct {
	Reason  string // of the remote, in a few words
	Text    string // what the remote's programs have printed; any text
	IsStale bool   // the branch was not where it was expected
}

func (e *RejectedError) Error() string { return "the remote did not take it: " + e.Reason }

// Push puts a branch of the remote to a commit, from exactly the place where the caller has
// seen it. A remote that refuses, or a branch that is elsewhere by now, is a *RejectedError.
func (r *Remote) Push(ctx context.Context, p Push) error {
	ref := "refs/heads/" + p.Branch
	out, err := r.run(ctx, gitcmd.Call{
		Args: []string{
			"push", "--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", "--no-signed", "--no-progress",
			"--receive-pack=git-receive-pack", "--force-with-lease=" + ref + ":" + p.Was, "--end-of-options", r.URL, p.Commit + ":" + ref,
		},
		Config: [][2]string{{"push.gpgSign", "false"}, {"push.useForceIfIncludes", "false"}, {"push.pushOption", ""}},
	})
	failed, ok := errors.AsType[*gitcmd.Error](err)
	if !ok {
		return err
	}
	for line := range strings.Lines(string(out)) {
		rest, isRefused := strings.CutPrefix(strings.TrimRight(line, "\n"), "!\t")
		_, summary, ok := strings.Cut(rest, "\t")
		if !isRefused || !ok {
			continue
		}
		_, reason, _ := strings.Cut(summary, "] ")
		reason = strings.TrimSuffix(strings.TrimPrefix(reason, "("), ")")
		return &RejectedError{
			Reason: reason, Text: remoteLines(failed.Stderr),
			IsStale: strings.HasPrefix(summary, "[rejected]"), // by git here; a server's no is [remote rejected]
		}
	}
	return err
}

// remoteLines returns the lines that the other end of a push has printed, without git's mark.
func remoteLines(stderr string) string {
	var lines []string
	for line := range strings.Lines(stderr) {
		if text, ok := strings.CutPrefix(line, "remote:"); ok {
			lines = append(lines, strings.TrimSpace(text))
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
