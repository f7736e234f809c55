package odb

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/proc"
)

// Objects go between a repository and an isolated checkout's own object
// directory as a pack, from one git to another, never as files that are copied:
// the git that receives them computes the name of each itself. Both run with
// the repository's configuration; of the private side they see the objects and
// nothing else.

// NotTrusted are the files beside objects that could say something else than
// the objects do.
var NotTrusted = [][2]string{
	{"core.commitGraph", "false"},
	{"core.multiPackIndex", "false"},
	{"pack.useBitmaps", "false"},
	{"pack.threads", "1"},
	{"pack.compression", "1"},
}

// Transfer says which objects go where.
type Transfer struct {
	Wanted, Known []string
	From          []string    // the environment of the git that packs
	Into          gitcmd.Call // what the git that receives runs
}

// TransferPack streams a pack from one git to another, and returns the answer of the
// second.
func (r *Repository) TransferPack(ctx context.Context, c Transfer) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	packer, err := r.Git.Start(ctx, gitcmd.Target{Repo: r.Core()}, gitcmd.Call{
		Args: []string{"pack-objects", "--revs", "--stdout", "--quiet", "--delta-base-offset"}, Env: c.From, Config: NotTrusted,
	})
	if err != nil {
		return nil, err
	}
	go func() {
		var list strings.Builder
		for _, oid := range c.Wanted {
			list.WriteString(oid + "\n")
		}
		for _, oid := range c.Known {
			list.WriteString("^" + oid + "\n")
		}
		_, _ = io.WriteString(packer.Stdin, list.String())
		_ = packer.Stdin.Close()
	}()
	c.Into.Input = packer.Stdout
	out, err := r.Git.Run(ctx, gitcmd.Target{Repo: r.Core()}, c.Into)
	if err != nil {
		// A packer that failed, which the other git only sees as an end of its input,
		// has a moment to say why. One that is at work has nobody left who reads.
		_ = packer.Stdout.Close()
		defer time.AfterFunc(packerDelay, func() { cancel(err) }).Stop()
	}
	perr := packer.Wait()
	if err != nil && isUnread(perr) {
		return out, err
	}
	if perr != nil {
		err = errors.Join(r.Git.Wrap([]string{"pack-objects"}, r.CommonDir, perr), err)
	}
	return out, err
}

// packerDelay is how long a git that packs has to end by itself after the one that
// receives has failed.
const packerDelay = 2 * time.Second

// isUnread reports whether a process said nothing of its own end: it was killed, as
// one is that writes what nobody reads.
func isUnread(err error) bool {
	exit, ok := errors.AsType[*proc.ExitError](err)
	return ok && exit.Code < 0
}
