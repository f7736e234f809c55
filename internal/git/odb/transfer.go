package odb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/proc"
)

// Objects are transferred between a repository and the object directory of an isolated
// checkout as a pack, from one git process to another, and never copied as files: the git
// that receives them computes the name of each. Both run with the repository's
// configuration; of the agent's git directory they see only the objects.

// NotTrusted switches off the files that describe objects, because their content may
// differ from the objects.
var NotTrusted = [][2]string{
	{"core.commitGraph", "false"},
	{"core.multiPackIndex", "false"},
	{"pack.useBitmaps", "false"},
	{"pack.threads", "1"},
	{"pack.compression", "1"},
}

// Transfer says which objects are transferred, and where.
type Transfer struct {
	Wanted, Known []string
	From          []string    // the environment of the git that packs
	Into          gitcmd.Call // the git that receives the pack
}

// TransferPack streams a pack from one git process to another, and returns the output of
// the second.
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
		// A packer that has failed, which the receiver only sees as the end of its input,
		// gets a moment to report why. One that still writes ends by SIGPIPE.
		_ = packer.Stdout.Close()
		defer time.AfterFunc(packerDelay, func() { cancel(err) }).Stop()
	}
	perr := packer.Wait()
	if err != nil && wasKilled(perr) {
		return out, err
	}
	if perr != nil {
		err = errors.Join(r.Git.Wrap([]string{"pack-objects"}, r.CommonDir, perr), err)
	}
	return out, err
}

// packerDelay is how long the packer has to end by itself after the receiver has failed.
const packerDelay = 2 * time.Second

// wasKilled reports whether a process ended without a message, as one does that SIGPIPE
// kills.
func wasKilled(err error) bool {
	exit, ok := errors.AsType[*proc.ExitError](err)
	return ok && exit.Code < 0
}

var errNoPack = errors.New("git said nothing of a pack")

// PackName reads the name of the pack from the output of index-pack.
func PackName(out []byte) (string, error) {
	f := strings.Fields(string(out))
	if len(f) != 2 || !object.IsOID(f[1]) {
		return "", fmt.Errorf("%w: %q", errNoPack, out)
	}
	return f[1], nil
}
