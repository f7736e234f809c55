package isolated

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/git/worktree"
	"github.com/croft-sh/croft/internal/git/writers"
)

// Unpulled is an object, an entry of the index or a worktree in the agent's git directory
// that cannot be pulled into the repository.
type Unpulled struct {
	Name string `json:"name"` // what names the object there, such as a ref
	OID  string `json:"oid,omitempty"`
	Why  string `json:"why"`
}

var errNotThere = errors.New("it is not there, or damaged")

// fetchObjects pulls the objects of n and returns those that it had to leave out, each
// with the reason. The repository does not prune them until release is called; refs must
// name them before that.
func (p *private) fetchObjects(ctx context.Context, last SyncState, n news) (release func(), left map[string]error, err error) {
	return p.fetchBy(ctx, last, n, p.pull)
}

func (p *private) fetchBy(ctx context.Context, last SyncState, n news, pull odb.Pulling) (release func(), left map[string]error, err error) {
	known := p.knownCommits(ctx, last)
	wanted := odb.OIDsOf(known...).Without(slices.Concat(n.tips, n.blobs))
	if len(wanted) == 0 {
		return func() {}, nil, nil
	}
	if err := p.checkObjects(); err != nil {
		return nil, nil, err
	}
	release, err = pull(ctx, wanted, known)
	if err == nil {
		return release, nil, nil
	}
	// A ref, a reflog or the index may name an object that is missing or incomplete. The
	// commit that is checked out must be complete.
	_, head := n.now.resolve()
	essential := odb.OIDsOf(head)
	if last.Branch != "" {
		essential.Add(n.now.Refs["refs/heads/"+last.Branch])
	}
	must, second := pull(ctx, odb.OIDsOf(known...).Without(essential.List), known)
	if second != nil {
		return nil, nil, p.wrongError("its objects are not whole: %v", err)
	}
	known = slices.Concat(known, essential.List)
	staged, left := p.pullStaged(ctx, n.blobs, known, pull)
	for _, err := range left {
		if failed, isGits := errors.AsType[*gitcmd.Error](err); ctx.Err() != nil || isGits && isOfSystem(failed.Kind) {
			must()
			staged()
			return nil, nil, cmp.Or(ctx.Err(), p.wrongError("its objects cannot be read: %v", err))
		}
	}
	for _, oid := range n.blobs {
		essential.Add(oid)
	}
	rest := essential.Without(wanted)
	there, second := p.w.Repo.Present(ctx, rest, p.privateObjects())
	if second != nil {
		for _, oid := range rest {
			left[oid] = second
		}
		return func() { must(); staged() }, left, nil
	}
	may, more := odb.PullComplete(ctx, there, known, pull)
	maps.Copy(left, more)
	for _, oid := range odb.OIDsOf(there...).Without(rest) {
		left[oid] = errNotThere
	}
	return func() { must(); staged(); may() }, left, nil
}

// pullStaged pulls those of the staged blobs that are there. It returns the others, each
// with the reason.
func (p *private) pullStaged(ctx context.Context, blobs, known []string, pull odb.Pulling) (release func(), left map[string]error) {
	there, err := p.w.Repo.Present(ctx, blobs, p.privateObjects())
	if err != nil {
		there = blobs // git ends at a damaged one
	}
	release, left = odb.PullComplete(ctx, there, known, pull)
	for _, oid := range odb.OIDsOf(there...).Without(blobs) {
		left[oid] = errNotThere
	}
	return release, left
}

// isOfSystem reports whether a transfer failed for another reason than the objects.
func isOfSystem(kind gitcmd.Kind) bool {
	return slices.Contains([]gitcmd.Kind{gitcmd.KindNoSpace, gitcmd.KindIO, gitcmd.KindDenied, gitcmd.KindVanished, gitcmd.KindBusy}, kind)
}

// checkComplete checks that the agent's git directory has the wanted objects and everything that
// they reach. It transfers nothing.
func (p *private) checkComplete(ctx context.Context, wanted, known []string) (release func(), err error) {
	if len(wanted) == 0 {
		return func() {}, nil
	}
	// rev-list takes an object for complete if its file exists. To pack an object, git has
	// to read it.
	q, err := p.w.Repo.NewQuarantine(writers.OnDisk)
	if err != nil {
		return nil, err
	}
	defer q.Discard()
	_, err = p.w.Repo.TransferPack(ctx, odb.Transfer{Wanted: wanted, Known: known, From: p.privateObjects(), Into: gitcmd.Call{
		Args: []string{"index-pack", "--strict", "--stdin"}, Config: slices.Concat(odb.NotTrusted, mergetree.Unsynced), Env: q.Env,
	}})
	return func() {}, err
}

// nameUnpulled returns the names under which the agent's git directory has the objects that
// were left out, the worktrees there that cannot be read, and the entries of the index that
// git would not make. It ignores objects that only a reflog names and that are missing: git
// itself may prune those.
func (p *private) nameUnpulled(n news, left map[string]error) []Unpulled {
	var list []Unpulled
	for _, at := range p.objectNames(n.now) {
		if err := left[at.OID]; err != nil && (at.Name != headLog || !errors.Is(err, errNotThere)) {
			list = append(list, Unpulled{Name: at.Name, OID: at.OID, Why: firstLine(err)})
		}
	}
	list = slices.Concat(list, p.unreadableHeads(n.now), n.unpulledEntries(left))
	if more := len(list) - maxUnpulled; more > 0 {
		list = append(list[:maxUnpulled], Unpulled{Name: fmt.Sprintf("%d more", more), Why: "they are not listed"})
	}
	return list
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// entryOf is how the name of an entry of the index begins.
const entryOf = "index entry "

// unpulledEntries returns the entries of the index that were left out.
func (n news) unpulledEntries(left map[string]error) []Unpulled {
	var list []Unpulled
	if n.staged == nil {
		return nil
	}
	for _, f := range n.staged.LeftOut() {
		list = append(list, Unpulled{Name: fmt.Sprintf("%s%.200q", entryOf, f.Path), Why: f.Why})
	}
	for _, e := range n.staged.Entries {
		if err := left[e.OID]; err != nil && e.Mode != "160000" {
			list = append(list, Unpulled{Name: fmt.Sprintf("%s%.200q", entryOf, e.Path), OID: e.OID, Why: firstLine(err)})
		}
	}
	return list
}

// maxUnpulled bounds how many Unpulled are recorded: the number of names is up to the agent.
const maxUnpulled = 100

// headLog stands for every commit that the reflog of HEAD or an operation in progress
// names.
const headLog = "logs/HEAD"

// objectNames lists the names of objects in the agent's git directory, sorted by name.
func (p *private) objectNames(now privateState) []Unpulled {
	var list []Unpulled
	for name, oid := range now.Refs {
		list = append(list, Unpulled{Name: name, OID: oid})
	}
	for name, oid := range now.Inner {
		list = append(list, Unpulled{Name: path.Join("worktrees", name, "HEAD"), OID: oid})
	}
	stashes := worktree.StashOIDs(now.Stash)
	for i, oid := range stashes {
		if n := len(stashes) - 1 - i; n > 0 { // the newest is refs/stash
			list = append(list, Unpulled{Name: "stash@{" + strconv.Itoa(n) + "}", OID: oid})
		}
	}
	for _, oid := range odb.OIDsOf(p.pendingOIDs()...).List {
		list = append(list, Unpulled{Name: headLog, OID: oid})
	}
	slices.SortFunc(list, func(a, b Unpulled) int { return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.OID, b.OID)) })
	return list
}

// unreadableHeads returns the agent's own worktrees whose HEAD cannot be read.
func (p *private) unreadableHeads(now privateState) []Unpulled {
	_, err := p.innerHeads(now.Refs)
	if err == nil {
		return nil
	}
	list := []Unpulled{}
	for line := range strings.Lines(err.Error()) {
		list = append(list, Unpulled{Name: "worktrees", Why: strings.TrimSpace(line)})
	}
	return list
}

// ListUnpulled lists the objects in the agent's git directory that the last pull left out, or
// that the next one would. It changes neither side.
//
// It fails with a *PrivateError if nothing can be pulled.
func (w *Worktree) ListUnpulled(ctx context.Context) ([]Unpulled, error) {
	if !w.IsIsolated() {
		return nil, nil
	}
	p, err := w.openPrivate()
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer p.close()
	if err := p.checkLayout(); err != nil {
		return nil, err
	}
	now, err := p.state()
	if err != nil {
		return nil, err
	}
	last := w.readSyncState()
	if last.Pending {
		return nil, nil // Pending: the repository's side is the newer one
	}
	if last.isUpToDate(now) {
		return last.Left, nil
	}
	n, err := p.readNews(ctx, last, now)
	if err != nil {
		return nil, err
	}
	_, left, err := p.fetchBy(ctx, last, n, p.checkComplete)
	if err != nil {
		return nil, err
	}
	return p.nameUnpulled(n, left), nil
}

// Apart returns the tips of the workspace's branch in the agent's git directory and in the
// repository, if the last pull could not move the repository's branch to the agent's tip.
// Both are empty otherwise, and if the tips are equal now, the branch is a symbolic ref,
// or another checkout has it checked out. It changes neither side.
func (w *Worktree) Apart(ctx context.Context) (mine, tip string, err error) {
	last := w.readSyncFile()
	if !w.IsIsolated() || !last.Apart {
		return "", "", nil
	}
	mine = last.Private.Refs["refs/heads/"+last.Branch]
	to, err := w.Repo.SymbolicBranch(ctx, last.Branch)
	if err != nil || to != "" || len(w.Repo.CheckedOut(last.Branch, w.Admin)) > 0 {
		return "", "", err
	}
	if tip, err = w.Repo.ReadRef(ctx, "refs/heads/"+last.Branch); err != nil || tip == mine {
		return "", "", err
	}
	return mine, tip, nil
}

// RetryPull is Pull that also retries the objects which were left out before. It
// returns those that still cannot be pulled. For a linked checkout it fails with a
// *PrivateError.
func (w *Worktree) RetryPull(ctx context.Context) ([]Unpulled, error) {
	p, release, err := w.holdPrivate(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := p.syncBothSides(ctx); err != nil {
		return nil, err
	}
	last := w.readSyncState()
	if len(last.Left) == 0 {
		return nil, nil
	}
	now, err := p.state()
	if err == nil {
		err = p.pullState(ctx, last, now)
	}
	return w.readSyncState().Left, err
}
