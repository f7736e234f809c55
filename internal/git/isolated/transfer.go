package isolated

import (
	"context"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/odb"
)

// privateObjects is the environment in which git reads the objects of the agent's git
// directory and those of the repository.
func (p *private) privateObjects() []string {
	return []string{
		"GIT_OBJECT_DIRECTORY=" + filepath.Join(p.w.PrivateDir(), "objects"),
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + gitdir.QuoteInList(filepath.Join(p.w.Repo.CommonDir, "objects")),
	}
}

// pull transfers objects from the agent's git directory to the repository in a pack that
// git checks strictly. The objects are not pruned until release is called.
func (p *private) pull(ctx context.Context, wanted, known []string) (release func(), err error) {
	if len(wanted) == 0 {
		return func() {}, nil
	}
	repo := p.w.Repo
	out, err := repo.TransferPack(ctx, odb.Transfer{Wanted: wanted, Known: known, From: p.privateObjects(), Into: gitcmd.Call{
		Args:   []string{"index-pack", "--strict", "--stdin", "--keep=" + strings.TrimSuffix(object.KeepText, "\n")},
		Config: odb.NotTrusted, Inherit: p.w.Inherit,
	}})
	if err != nil {
		return nil, err
	}
	name, err := odb.PackName(out)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(repo.CommonDir, "objects", "pack")
	release = func() { _ = os.Remove(filepath.Join(dir, "pack-"+name+".keep")) }
	return release, fsx.SyncAll(dir)
}

// push transfers the wanted objects and everything that they reach to the agent's git
// directory, without what is reachable from has.
func (p *private) push(ctx context.Context, wanted, has []string) error {
	if len(wanted) == 0 {
		return nil
	}
	known := p.existing(ctx, has) // the agent may have commits that the repository does not
	if err := p.checkObjects(); err != nil {
		return err
	}
	_, err := p.w.Repo.TransferPack(ctx, odb.Transfer{Wanted: wanted, Known: known, Into: gitcmd.Call{
		Args: []string{"index-pack", "--stdin"}, Config: odb.NotTrusted, Inherit: p.w.Inherit,
		Env: []string{"GIT_OBJECT_DIRECTORY=" + filepath.Join(p.w.PrivateDir(), "objects")},
	}})
	return err
}

// storePinCommit stores the commit for the pin ref: its tree is the index, and its parents
// are the commit of HEAD and the tips beside it. branch is the commit that the branch will
// be at. It returns "" if the only parent would be branch or the base, and that commit has
// everything that is staged.
func (p *private) storePinCommit(ctx context.Context, last SyncState, n news, branch string) (string, error) {
	repo := p.w.Repo
	tips, err := p.tipsBesideHead(ctx, last, n)
	if err != nil {
		return "", err
	}
	commits := odb.OIDsOf()
	for _, oid := range tips {
		info, err := repo.Info(ctx, oid+"^{commit}")
		if err == nil {
			commits.Add(info.OID)
		} else if !errors.Is(err, object.ErrMissing) {
			return "", err
		}
	}
	parents := commits.List
	if len(parents) == 1 && (parents[0] == last.Base || parents[0] == branch) {
		c, err := repo.ReadCommit(ctx, parents[0])
		if err != nil || n.trees == nil || c.Tree == hex.EncodeToString(n.trees.OID) && n.trees.Entries == len(n.staged.Entries) {
			return "", err
		}
	}
	b := repo.Batch()
	defer b.Discard()
	tree := ""
	if n.trees != nil {
		tree, err = repo.WriteStaged(ctx, b, n.staged, n.trees)
	} else {
		tree, err = b.WriteTree(nil)
	}
	if err != nil {
		return "", err
	}
	held, err := b.WriteCommit(object.Commit{
		Tree: tree, Parents: parents, Signature: mergetree.SyntheticAuthor, Message: "What an isolated workspace holds beside its branch",
	})
	if err != nil {
		return "", err
	}
	return held, b.Flush()
}

// maxHeadWalk bounds how many commits are read to find the tips that the branch reaches: those
// that a reflog names are mostly its last ones.
const maxHeadWalk = 300

// tipsBesideHead returns the tips without those ancestors of the commit that is checked out
// which are among the first maxHeadWalk.
func (p *private) tipsBesideHead(ctx context.Context, last SyncState, n news) ([]string, error) {
	_, head := n.now.resolve()
	if head == "" || len(n.tips) == 1 {
		return n.tips, nil
	}
	seen := map[string]bool{}
	for next := []string{head}; len(next) > 0 && len(seen) < maxHeadWalk; next = next[1:] {
		if seen[next[0]] {
			continue
		}
		c, err := p.w.Repo.ReadCommit(ctx, next[0])
		if err != nil {
			return nil, err
		}
		seen[next[0]] = true
		if next[0] != last.Base {
			next = append(next, c.Parents...)
		}
	}
	var tips []string
	for _, oid := range n.tips {
		if oid == head || !seen[oid] {
			tips = append(tips, oid)
		}
	}
	return tips, nil
}
