package isolated

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/git/writers"
)

// LeftOut is something in the git directory of an isolated checkout that cannot be
// brought to the repository.
type LeftOut struct {
	Name string `json:"name"` // what names it there, such as a ref
	OID  string `json:"oid,omitempty"`
	Why  string `json:"why"`
}

// pulling brings objects of the private side, or only finds out whether they are
// whole. The repository keeps them until release is called.
type pulling func(ctx context.Context, wanted, known []string) (release func(), err error)

var errNotThere = errors.New("it is not there, or damaged")

// fetchObjects brings the objects, and returns those that it had to leave out, with the
// reason. The repository keeps them until release is called, by when refs have to
// name them.
func (p *private) fetchObjects(ctx context.Context, last SyncState, n news) (release func(), left map[string]error, err error) {
	return p.fetchBy(ctx, last, n, p.pull)
}

func (p *private) fetchBy(ctx context.Context, last SyncState, n news, pull pulling) (release func(), left map[string]error, err error) {
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
	// A ref or a log may name what is not there, or what leads to nothing. What is
	// checked out and what is staged must be whole.
	essential := odb.OIDsOf(n.blobs...)
	_, head := n.now.resolve()
	essential.Add(head)
	if last.Branch != "" {
		essential.Add(n.now.Refs["refs/heads/"+last.Branch])
	}
	must, second := pull(ctx, essential.List, known)
	if second != nil {
		return nil, nil, p.wrongError("its objects are not whole: %v", err)
	}
	rest := essential.Without(wanted)
	there, second := p.presentObjects(ctx, rest)
	if second != nil {
		left = map[string]error{}
		for _, oid := range rest {
			left[oid] = second
		}
		return must, left, nil
	}
	may, left := p.pullWhole(ctx, there, slices.Concat(known, essential.List), pull)
	for _, oid := range odb.OIDsOf(there...).Without(rest) {
		left[oid] = errNotThere
	}
	return func() { must(); may() }, left, nil
}

// isWhole finds out whether objects of the private side are there with all that they
// lead to. Nothing is brought.
func (p *private) isWhole(ctx context.Context, wanted, known []string) (release func(), err error) {
	if len(wanted) == 0 {
		return func() {}, nil
	}
	// Git's own walk takes an object for whole if its file is there. To pack it, git
	// reads it.
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

// nameLeftOut says by which names an agent's git directory has objects that were left out,
// and which of its worktrees cannot be read. Where a log alone names what is not
// there, git itself has let go of it.
func (p *private) nameLeftOut(now privateState, left map[string]error) []LeftOut {
	var list []LeftOut
	for _, at := range p.placesOf(now) {
		if err := left[at.OID]; err != nil && (at.Name != headLog || !errors.Is(err, errNotThere)) {
			why, _, _ := strings.Cut(err.Error(), "\n")
			list = append(list, LeftOut{Name: at.Name, OID: at.OID, Why: why})
		}
	}
	list = append(list, p.unreadHeads(now)...)
	if more := len(list) - mostLeft; more > 0 {
		list = append(list[:mostLeft], LeftOut{Name: fmt.Sprintf("%d more", more), Why: "they are not listed"})
	}
	return list
}

// mostLeft is how much of what was left out is remembered: an agent can name more
// than anybody reads.
const mostLeft = 100

// headLog is where commits are named that HEAD was at, or that an act is in the
// middle of.
const headLog = "logs/HEAD"

// placesOf lists what names objects in an agent's git directory, sorted by name.
func (p *private) placesOf(now privateState) []LeftOut {
	var list []LeftOut
	for name, oid := range now.Refs {
		list = append(list, LeftOut{Name: name, OID: oid})
	}
	for name, oid := range now.Inner {
		list = append(list, LeftOut{Name: path.Join("worktrees", name, "HEAD"), OID: oid})
	}
	stashes := stashOIDs(now.Stash)
	for i, oid := range stashes {
		if n := len(stashes) - 1 - i; n > 0 { // the newest is refs/stash
			list = append(list, LeftOut{Name: "stash@{" + strconv.Itoa(n) + "}", OID: oid})
		}
	}
	for _, oid := range odb.OIDsOf(p.pendingOIDs()...).List {
		list = append(list, LeftOut{Name: headLog, OID: oid})
	}
	slices.SortFunc(list, func(a, b LeftOut) int { return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.OID, b.OID)) })
	return list
}

// unreadHeads are the worktrees of an agent's own whose HEAD says nothing.
func (p *private) unreadHeads(now privateState) []LeftOut {
	_, err := p.innerHeads(now.Refs)
	if err == nil {
		return nil
	}
	list := []LeftOut{}
	for line := range strings.Lines(err.Error()) {
		list = append(list, LeftOut{Name: "worktrees", Why: strings.TrimSpace(line)})
	}
	return list
}

// LeftOut lists what of an isolated checkout's own git directory was not brought to
// the repository by the last harvest, or would not be by the next one. It changes
// nothing, neither there nor in the repository.
//
// It fails with a *PrivateError if nothing can be brought.
func (w *Worktree) LeftOut(ctx context.Context) ([]LeftOut, error) {
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
		return nil, nil // the repository's side counts
	}
	if last.isUpToDate(now) {
		return last.Left, nil
	}
	n, err := p.readNews(ctx, last, now)
	if err != nil {
		return nil, err
	}
	_, left, err := p.fetchBy(ctx, last, n, p.isWhole)
	if err != nil {
		return nil, err
	}
	return p.nameLeftOut(now, left), nil
}

// PullAgain is Pull for a checkout of which something was left out, in case that
// can be brought by now. It returns what cannot.
func (w *Worktree) PullAgain(ctx context.Context) ([]LeftOut, error) {
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
