package odb

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/git/gitcmd"
)

// Pulling transfers objects to the repository, or only checks that they are complete. The
// repository does not prune them until release is called.
type Pulling func(ctx context.Context, wanted, known []string) (release func(), err error)

// maxPulls bounds how often PullComplete starts a transfer.
const maxPulls = 200

// PullComplete pulls those of the wanted objects that are complete, with everything that they
// reach. It returns the others, each with the reason.
func PullComplete(ctx context.Context, wanted, known []string, pull Pulling) (release func(), left map[string]error) {
	left = map[string]error{}
	var releases []func()
	pulls := 0
	leave := func(wanted []string, err error) {
		for _, oid := range wanted {
			left[oid] = err
		}
	}
	var some func(wanted []string)
	some = func(wanted []string) {
		if pulls++; pulls > maxPulls {
			leave(wanted, fmt.Errorf("it was left out after %d attempts", maxPulls))
			return
		}
		release, err := pull(ctx, wanted, known)
		switch {
		case err == nil:
			releases, known = append(releases, release), slices.Concat(known, wanted)
		case len(wanted) == 1 || ctx.Err() != nil:
			leave(wanted, err)
		default:
			half := len(wanted) / 2
			some(wanted[:half])
			some(wanted[half:])
		}
	}
	some(wanted)
	return func() {
		for _, release := range releases {
			release()
		}
	}, left
}

// Present returns those of the objects that exist where the environment env leads git. A
// damaged one may make it fail.
func (r *Repository) Present(ctx context.Context, oids, env []string) ([]string, error) {
	out, err := r.Git.Run(ctx, gitcmd.Target{Repo: r.Core()}, gitcmd.Call{
		Args: []string{"cat-file", "--batch-check"}, Stdin: strings.Join(oids, "\n") + "\n", Env: env, Config: NotTrusted,
	})
	if err != nil {
		return nil, err
	}
	var list []string
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) == 3 {
			list = append(list, f[0])
		}
	}
	return list, nil
}
