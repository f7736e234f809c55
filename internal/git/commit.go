package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/croft-sh/croft/internal/git/object"
)

// ReadCommit reads a commit.
func (r *Repository) ReadCommit(ctx context.Context, name string) (object.Commit, error) {
	o, err := r.Read(ctx, name)
	if err != nil {
		return object.Commit{}, err
	}
	return object.ParseCommit(o)
}

// ErrNoIdentity says that git does not know whose name to put on a commit.
var ErrNoIdentity = errors.New("git does not know who you are")

// Identity is who makes commits.
type Identity struct {
	Author, Committer string // "Name <address>"
	Signs             bool   // the user wants every commit signed
}

// Identity finds out who makes commits here, as git would: from the variables
// of the user's environment, the configuration, and what the system knows.
func (r *Repository) Identity(ctx context.Context) (Identity, error) {
	s, err := r.settingsOf(ctx, r.CommonDir)
	if err != nil {
		return Identity{}, err
	}
	id := Identity{Signs: isTrue(s.values["commit.gpgsign"])}
	for _, side := range []struct {
		who  *string
		role string
	}{{&id.Author, "author"}, {&id.Committer, "committer"}} {
		if *side.who, err = r.identity(ctx, s, side.role); err != nil {
			return id, err
		}
	}
	return id, nil
}

func (r *Repository) identity(ctx context.Context, s *settings, role string) (string, error) {
	env := "GIT_" + strings.ToUpper(role) + "_"
	name, _ := r.git.environ(env + "NAME")
	email, _ := r.git.environ(env + "EMAIL")
	name = cmp.Or(name, s.values[role+".name"], s.values["user.name"])
	email = cmp.Or(email, s.values[role+".email"], s.values["user.email"])
	if name == "" || email == "" {
		out, err := r.git.run(ctx, door{repo: r}, call{args: []string{"var", env + "IDENT"}, asks: true})
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

// knowsCommitter reports whether the user has an address. Where nothing says it
// git looks the name of the machine up, and waits some seconds where no server
// answers.
func (g *Git) knowsCommitter(s *settings) bool {
	variable, _ := g.environ("GIT_COMMITTER_EMAIL")
	mail, _ := g.environ("EMAIL")
	return cmp.Or(variable, mail, s.values["committer.email"], s.values["user.email"]) != ""
}

// reflogIdentity is the configuration that says whose name git writes into a
// reflog.
func (g *Git) reflogIdentity(s *settings) [][2]string {
	name, _ := g.environ("GIT_COMMITTER_NAME")
	email, _ := g.environ("GIT_COMMITTER_EMAIL")
	if !g.knowsCommitter(s) {
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
