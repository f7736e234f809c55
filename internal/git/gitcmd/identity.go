package gitcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/croft-sh/croft/internal/git/gitconfig"
)

// ErrNoIdentity says that git knows no name for commits.
var ErrNoIdentity = errors.New("git does not know who you are")

// Identity is the author and committer of commits.
type Identity struct {
	Author, Committer string // "Name <address>"
	Signs             bool   // the user wants every commit to be signed
}

// Identity returns who makes commits here, as git determines it: from the user's
// environment, the configuration, and the system.
func (r *Repository) Identity(ctx context.Context) (Identity, error) { return r.IdentityAs(ctx, "") }

// IdentityAs returns the identity of commits for an author, "Name <address>". The author is
// also the committer, unless commits are signed: the key is that of the user. Without an
// author it is Identity.
func (r *Repository) IdentityAs(ctx context.Context, author string) (Identity, error) {
	s, err := r.SettingsOf(ctx, r.CommonDir)
	if err != nil {
		return Identity{}, err
	}
	id := Identity{Signs: gitconfig.IsTrue(s.Values["commit.gpgsign"])}
	for _, side := range []struct {
		who  *string
		role string
	}{{&id.Author, "author"}, {&id.Committer, "committer"}} {
		if author != "" && (side.role == "author" || !id.Signs) {
			*side.who = author
			continue
		}
		if *side.who, err = r.Ident(ctx, s, side.role); err != nil {
			return id, err
		}
	}
	return id, nil
}

// IdentityOfEnviron is Identity if a variable of the environment names the author or the
// committer; otherwise isNamed is false.
func (r *Repository) IdentityOfEnviron(ctx context.Context) (id Identity, isNamed bool, err error) {
	for _, name := range []string{"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"} {
		value, _ := r.Git.environ(name)
		isNamed = isNamed || value != ""
	}
	if isNamed {
		id, err = r.Identity(ctx)
	}
	return id, isNamed, err
}

// Ident returns the author or the committer of a commit.
func (r *Repository) Ident(ctx context.Context, s *Settings, role string) (string, error) {
	env := "GIT_" + strings.ToUpper(role) + "_"
	name, _ := r.Git.environ(env + "NAME")
	email, _ := r.Git.environ(env + "EMAIL")
	name = cmp.Or(name, s.Values[role+".name"], s.Values["user.name"])
	email = cmp.Or(email, s.Values[role+".email"], s.Values["user.email"])
	if name == "" || email == "" {
		out, err := r.Git.Run(ctx, Target{Repo: r}, Call{Args: []string{"var", env + "IDENT"}, asks: true})
		if err != nil {
			return "", fmt.Errorf("%w: %w", ErrNoIdentity, err)
		}
		who, _, ok := strings.Cut(string(out), ">")
		if !ok {
			return "", ErrNoIdentity
		}
		return who + ">", nil
	}
	clean := strings.NewReplacer("<", "", ">", "", "\n", "")
	return fmt.Sprintf("%s <%s>", strings.TrimSpace(clean.Replace(name)), strings.TrimSpace(clean.Replace(email))), nil
}

// KnowsCommitter reports whether the user has set an address. Otherwise git looks up the
// name of the machine, and waits some seconds if no server answers.
func (g *Git) KnowsCommitter(s *Settings) bool {
	variable, _ := g.environ("GIT_COMMITTER_EMAIL")
	mail, _ := g.environ("EMAIL")
	return cmp.Or(variable, mail, s.Values["committer.email"], s.Values["user.email"]) != ""
}

// reflogIdentity returns the settings for the identity that git writes to a reflog.
func (g *Git) reflogIdentity(s *Settings) [][2]string {
	name, _ := g.environ("GIT_COMMITTER_NAME")
	email, _ := g.environ("GIT_COMMITTER_EMAIL")
	if !g.KnowsCommitter(s) {
		name, email = cmp.Or(name, unknownName), unknownEmail
	}
	var kv [][2]string
	for _, pair := range [][2]string{{"committer.name", name}, {"committer.email", email}} {
		if pair[1] != "" {
			kv = append(kv, pair)
		}
	}
	return kv
}

// The identity in reflogs where git does not know the user.
const (
	unknownName, unknownEmail = "croft", "croft@localhost"
	UnknownCommitter          = unknownName + " <" + unknownEmail + ">"
)
