package git

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/proc"
)

// Objects go between a repository and an isolated checkout's own object
// directory as a pack, from one git to another, never as files that are copied:
// the git that receives them computes the name of each itself. Both run with
// the repository's configuration; of the private side they see the objects and
// nothing else.

// notTrusted are the files beside objects that could say something else than
// the objects do.
var notTrusted = [][2]string{
	{"core.commitGraph", "false"},
	{"core.multiPackIndex", "false"},
	{"pack.useBitmaps", "false"},
	{"pack.threads", "1"},
	{"pack.compression", "1"},
}

// privateObjects is the environment in which git sees the objects of the private
// side, and those of the repository.
func (p *private) privateObjects() []string {
	return []string{
		"GIT_OBJECT_DIRECTORY=" + filepath.Join(p.w.privateDir(), "objects"),
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quoteInList(filepath.Join(p.w.Repo.CommonDir, "objects")),
	}
}

// quoteInList writes a path as git reads it in a variable that lists several.
func quoteInList(path string) string {
	if strings.ContainsRune(path, os.PathListSeparator) || strings.HasPrefix(path, `"`) {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
	}
	return path
}

// pull brings objects from the private side, checked, and keeps them from being
// pruned until release is called.
func (p *private) pull(ctx context.Context, wanted, known []string) (release func(), err error) {
	if len(wanted) == 0 {
		return func() {}, nil
	}
	repo := p.w.Repo
	out, err := repo.transferPack(ctx, carrying{wanted: wanted, known: known, from: p.privateObjects(), into: call{
		args:   []string{"index-pack", "--strict", "--stdin", "--keep=" + strings.TrimSuffix(object.KeepText, "\n")},
		config: notTrusted, inherit: p.w.Inherit,
	}})
	if err != nil {
		return nil, err
	}
	name, err := packName(out)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(repo.CommonDir, "objects", "pack")
	release = func() { _ = os.Remove(filepath.Join(dir, "pack-"+name+".keep")) }
	return release, fsx.SyncAll(dir)
}

// push brings objects of the repository to the private side, as far as that
// does not have them with all that they lead to.
func (p *private) push(ctx context.Context, wanted, has []string) error {
	if len(wanted) == 0 {
		return nil
	}
	var known []string
	for _, oid := range has { // the agent may have what the repository does not
		if _, err := p.w.Repo.Info(ctx, oid); err == nil {
			known = append(known, oid)
		}
	}
	if err := p.checkObjects(); err != nil {
		return err
	}
	_, err := p.w.Repo.transferPack(ctx, carrying{wanted: wanted, known: known, into: call{
		args: []string{"index-pack", "--stdin"}, config: notTrusted, inherit: p.w.Inherit,
		env: []string{"GIT_OBJECT_DIRECTORY=" + filepath.Join(p.w.privateDir(), "objects")},
	}})
	return err
}

// carrying says which objects go where.
type carrying struct {
	wanted, known []string
	from          []string // the environment of the git that packs
	into          call     // what the git that receives runs
}

// transferPack streams a pack from one git to another, and returns the answer of the
// second.
func (r *Repository) transferPack(ctx context.Context, c carrying) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	packer, err := r.git.start(ctx, door{repo: r}, call{
		args: []string{"pack-objects", "--revs", "--stdout", "--quiet", "--delta-base-offset"}, env: c.from, config: notTrusted,
	})
	if err != nil {
		return nil, err
	}
	go func() {
		var list strings.Builder
		for _, oid := range c.wanted {
			list.WriteString(oid + "\n")
		}
		for _, oid := range c.known {
			list.WriteString("^" + oid + "\n")
		}
		_, _ = io.WriteString(packer.Stdin, list.String())
		_ = packer.Stdin.Close()
	}()
	c.into.input = packer.Stdout
	out, err := r.git.run(ctx, door{repo: r}, c.into)
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
		err = errors.Join(r.git.wrap([]string{"pack-objects"}, r.CommonDir, perr), err)
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
