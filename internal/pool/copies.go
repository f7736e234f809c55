package pool

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/provision"
)

// Provisioner says what new workspaces get copies of. Package equip implements it.
type Provisioner interface {
	// Copied lists the large directories that provisioning copies into each new workspace at a commit.
	Copied(ctx context.Context, l project.Location, commit string) ([]Order, error)
}

// Order is a directory of which copies are wanted.
type Order struct {
	provision.Batch

	Limits   provision.Limits // those that hold for a workspace
	OrCopied bool             // of clones: copied where the file system shares no blocks
}

// copied says what a copy is of. It can be handed out as long as that looks the same, and nobody has changed the copy.
type copied struct {
	Dir     string      `json:"dir"`
	How     fsx.Content `json:"how"`
	NoClone bool        `json:"noClone,omitempty"` // clones were wanted, and the file system shares no blocks
	Source  string      `json:"source"`            // the sum of [provision.Batch.Look]
	Made    string      `json:"made"`              // the sum of [provision.LookPrepared]
}

// outcomesFile has what became of each name of a copy's batch.
const outcomesFile = "outcomes"

// copyStamp is the form of copies. Those of another form are not used.
const copyStamp = "copies 1"

// copiesOf returns the part of a pool that has copies of directories.
func copiesOf(s *stock) *stock {
	return &stock{r: s.r, dir: filepath.Join(s.dir, "copies"), at: s.at, holds: func(i *item) bool {
		return i.tree.Identity.IsAt(i.tree.Path) && fsx.IsThere(i.own(outcomesFile))
	}}
}

// list describes the copies of a stock.
func (s *stock) list() ([]croft.SpareCopy, error) {
	found, err := s.whole(copyStamp)
	var list []croft.SpareCopy
	for _, i := range found {
		list = append(list, croft.SpareCopy{Path: i.Copied.Dir, Files: i.Files, Bytes: i.Bytes})
	}
	return list, err
}

// WantedCopy is a directory that a new workspace is to get a copy of.
type WantedCopy struct {
	Batch  provision.Batch
	Copier *provision.Copier // from the project to the workspace, in which no agent works yet
	Into   fsx.Made          // the workspace
}

// HasUncloned reports whether a copy of a directory is in stock because no clones can be made in the file system of a
// workspace.
func (p *Pool) HasUncloned(r *project.Project, dir, workspace string) bool {
	s, err := stockOf(r)
	if err != nil || r.Config.Pool.Size == 0 || !fsx.IsSameDevice(existing(s.at), workspace) {
		return false
	}
	list, err := copiesOf(s).whole(copyStamp)
	for _, i := range list {
		if i.Copied.Dir == dir && i.Copied.NoClone {
			return err == nil
		}
	}
	return false
}

// Dirs lists the directories of which copies that were made in a way are in stock.
func (p *Pool) Dirs(r *project.Project, how fsx.Content) []string {
	s, err := stockOf(r)
	if err != nil || r.Config.Pool.Size == 0 {
		return nil
	}
	list, _ := copiesOf(s).whole(copyStamp)
	var dirs []string
	for _, i := range list {
		if i.Copied.How == how {
			dirs = append(dirs, i.Copied.Dir)
		}
	}
	return dirs
}

// TakeCopy moves a copy of a directory into a workspace: one that was made of files that look as the project's do now. It
// returns what copying them now would return, or nil if there is none that can be used. The error is of a failure
// that has left something in the workspace.
func (p *Pool) TakeCopy(ctx context.Context, r *project.Project, want WantedCopy) ([]provision.Outcome, error) {
	top, err := stockOf(r)
	if err != nil || r.Config.Pool.Size == 0 {
		return nil, nil
	}
	s := copiesOf(top)
	list, err := s.whole(copyStamp)
	if err != nil {
		return nil, nil
	}
	var look provision.Look
	for _, i := range list {
		if i.Copied.Dir != want.Batch.Dir || i.Copied.How != want.Batch.How {
			continue
		}
		if look.Sum == "" { // this takes as long as all the rest
			if _, err := want.Copier.To.Lstat(want.Batch.Dir); !errors.Is(err, os.ErrNotExist) || !fsx.IsSameDevice(existing(s.at), want.Into.Path) {
				return nil, nil
			}
			if look, err = want.Batch.Look(ctx, want.Copier.From); err != nil {
				return nil, ctx.Err()
			}
		}
		if i.Copied.Source != look.Sum {
			continue
		}
		if got, err := i.handOut(ctx, want, look); got != nil || err != nil {
			return got, err
		}
	}
	return nil, nil
}

// handOut moves a copy into a workspace, unless it cannot be used.
func (i *item) handOut(ctx context.Context, want WantedCopy, look provision.Look) ([]provision.Outcome, error) {
	lock, err := flock.TryExisting(i.own(lockFile))
	if err != nil {
		return nil, nil
	}
	defer func() { _ = lock.Unlock() }()
	list, err := i.outcomes(want.Batch)
	if err != nil || !want.Copier.Admits(want.Batch.How, look.Bytes, list) {
		return nil, nil
	}
	if err := os.Remove(i.own(wholeFile)); err != nil || failpoint.Hit("pool.copyclaimed") != nil {
		return nil, nil // another process has it; or Refill deletes it
	}
	tree, err := fsx.OpenTreeIs(i.tree.Path, i.tree.Identity)
	if err != nil {
		return nil, nil
	}
	defer tree.Release()
	if now, err := provision.LookBelow(ctx, tree, want.Batch.Dir); err != nil || now.Sum != i.Copied.Made {
		return nil, ctx.Err()
	}
	isMoved, err := i.moveTo(tree, want)
	if !isMoved || err != nil {
		return nil, err
	}
	want.Copier.Count(want.Batch.How, list)
	if err := failpoint.Hit("pool.copyplaced"); err != nil {
		return nil, err
	}
	_ = i.remove() // what is left of it; else Refill does
	return list, nil
}

// outcomes reads what became of each name of a batch, and fails unless the copy has exactly those.
func (i *item) outcomes(b provision.Batch) (list []provision.Outcome, err error) {
	text, err := os.ReadFile(i.own(outcomesFile))
	if err == nil {
		err = gob.NewDecoder(bytes.NewReader(text)).Decode(&list)
	}
	if err == nil && len(list) != len(b.Names) {
		err = fsx.ErrOther
	}
	for n := range b.Names {
		if err == nil && list[n].Path != b.Names[n] {
			err = fsx.ErrOther
		}
	}
	return list, err
}

// moveTo renames the directory of a copy into a workspace. It reports false if that is not possible, or the directory would
// have got other permissions there.
func (i *item) moveTo(tree *fsx.Tree, want WantedCopy) (isMoved bool, err error) {
	name, above := path.Base(want.Batch.Dir), path.Dir(want.Batch.Dir)
	if above == "." {
		above = ""
	}
	if _, err := want.Copier.To.MakeDir(above); err != nil {
		return false, nil
	}
	mine, err := tree.Stamp(above)
	if err != nil {
		return false, nil
	}
	theirs, err := want.Copier.To.Stamp(above)
	if err != nil || !isSameParent(mine, theirs) {
		return false, nil
	}
	from, err := openBelow(fsx.Made{Path: i.tree.Path, Identity: i.tree.Identity}, above)
	if err != nil {
		return false, nil
	}
	defer from.Close()
	to, err := openBelow(want.Into, above)
	if err != nil {
		return false, nil
	}
	defer to.Close()
	id, err := from.IdentityOf(name)
	if err != nil {
		return false, nil
	}
	err = from.Move(name, id, to, name)
	if err != nil && !to.Has(name) {
		return false, nil
	}
	return err == nil, err
}

// isSameParent reports whether what is made in two directories gets the same group and permissions.
func isSameParent(a, b fsx.Stamp) bool {
	const inherited = os.ModeSetgid | 0o020 // what is made in a directory that its group can write follows that
	if a.Group != b.Group || a.Mode&inherited != b.Mode&inherited {
		return false
	}
	return a.Mode&0o020 == 0 || a.Mode.Perm() == b.Mode.Perm()
}

// openBelow opens a directory below one that was made.
func openBelow(made fsx.Made, dir string) (*fsx.Dir, error) {
	top, err := fsx.OpenDirIs(made.Path, made.Identity)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	return top.OpenBelow(path.Clean(dir))
}

// fillCopies deletes the copies that nobody needs any more, and makes those that are missing. It says why it stopped before
// all were there.
func (p *Pool) fillCopies(ctx context.Context, l project.Location, top *stock, commit string, how croft.PoolAct) (why string, err error) {
	s := copiesOf(top)
	if err := s.sweep(copyStamp); err != nil {
		return "", err
	}
	orders, err := p.Provisioner.Copied(ctx, l, commit)
	if err != nil {
		return "", err
	}
	if len(orders) == 0 && !fsx.IsThere(s.dir) {
		return "", nil
	}
	from := fsx.OpenTree(s.r.Path)
	defer from.Release()
	looks := make([]provision.Look, len(orders))
	for n, o := range orders {
		if looks[n], err = settledLook(ctx, from, o); err != nil { // without a sum: none is made of it
			why = fmt.Sprintf("no copies of %s: %v", o.Dir, err)
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
	}
	if err := s.dropOthers(orders, looks); err != nil {
		return "", err
	}
	for want := 1; want <= s.r.Config.Pool.Size; want++ {
		for n, o := range orders {
			if looks[n].Sum == "" {
				continue
			}
			stopped, err := s.makeUpTo(ctx, from, want, o, looks[n], how)
			if errors.Is(err, provision.ErrUnsteady) {
				looks[n].Sum, why = "", fmt.Sprintf("no copies of %s: %v", o.Dir, err)
				continue
			}
			if stopped != "" || err != nil {
				return stopped, err
			}
		}
	}
	return why, nil
}

// longestSettling is how long filling waits until a change of files would be seen.
const longestSettling = 3 * time.Second

// settledLook looks at what is to be copied, so that every later change of it can be seen.
func settledLook(ctx context.Context, from *fsx.Tree, o Order) (provision.Look, error) {
	look, err := o.Look(ctx, from)
	if err != nil {
		return provision.Look{}, err
	}
	if o.Limits.Bytes > 0 && o.How == fsx.ContentCopied && look.Bytes > o.Limits.Bytes || o.Limits.Files > 0 && look.Entries > o.Limits.Files {
		return provision.Look{}, provision.ErrUnsteady
	}
	if err := waitUntil(ctx, look.Settled); err != nil {
		return look, err
	}
	return look, fsx.WriteBack(from.Path(""))
}

func waitUntil(ctx context.Context, when time.Time) error {
	wait := time.Until(when)
	if wait > longestSettling { // the clock was put back
		return provision.ErrUnsteady
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(wait):
		return nil
	}
}

// isOf reports whether a copy is one that an order asks for.
func (i *item) isOf(o Order, look provision.Look) bool {
	isSameHow := i.Copied.How == o.How || o.OrCopied && i.Copied.NoClone
	return i.Copied.Dir == o.Dir && i.Copied.Source == look.Sum && isSameHow
}

// dropOthers deletes the copies that no order asks for.
func (s *stock) dropOthers(orders []Order, looks []provision.Look) error {
	list, err := s.whole(copyStamp)
	errs := []error{err}
	for _, i := range list {
		isWanted := false
		for n, o := range orders {
			isWanted = isWanted || i.isOf(o, looks[n])
		}
		if isWanted {
			continue
		}
		if lock, err := flock.TryExisting(i.own(lockFile)); err == nil {
			errs = append(errs, i.remove(), lock.Unlock())
		}
	}
	return errors.Join(errs...)
}

// makeUpTo makes a copy unless as many are there as are wanted. It says why it may not.
func (s *stock) makeUpTo(ctx context.Context, from *fsx.Tree, want int, o Order, look provision.Look, how croft.PoolAct) (why string, err error) {
	list, err := s.whole(copyStamp)
	if err != nil {
		return "", err
	}
	have, as := 0, o.How
	for _, i := range list {
		if i.isOf(o, look) {
			have, as = have+1, i.Copied.How
		}
	}
	if have >= want {
		return "", nil
	}
	if why := s.limitOfCopies(ctx, list, look); why != "" {
		return why, nil
	}
	if how == croft.PoolTopUp && proc.IsBusy() {
		return "the machine is busy", nil
	}
	err = s.makeCopy(ctx, from, o, as, look)
	if errors.Is(err, fsx.ErrNoClone) && o.OrCopied {
		err = s.makeCopy(ctx, from, o, fsx.ContentCopied, look)
	}
	if errors.Is(err, fsx.ErrNoClone) { // provisioning brings nothing in
		return "", fmt.Errorf("%w: %w", provision.ErrUnsteady, err)
	}
	return "", err
}

// limitOfCopies says why no further copy may be made beside those that are there, or returns nothing.
func (s *stock) limitOfCopies(ctx context.Context, list []*item, look provision.Look) string {
	cfg := s.r.Config.Pool
	files, size := look.Entries, look.Bytes
	for _, i := range list {
		files, size = files+i.Files, size+i.Bytes
	}
	if stamp, err := s.r.Git.FileStamp(ctx); err == nil {
		if top, err := stockOf(s.r); err == nil {
			spares, _ := top.whole(stamp)
			for _, i := range spares {
				files, size = files+i.Files, size+i.Bytes
			}
		}
	}
	if cfg.MaxInodes > 0 && files > cfg.MaxInodes {
		return "more copies of what is provisioned would be over pool.max_inodes"
	}
	if cfg.MaxBytes > 0 && size > cfg.MaxBytes {
		return "more copies of what is provisioned would be over pool.max_bytes"
	}
	freeBytes, freeFiles, err := fsx.FreeSpace(existing(s.at))
	if err == nil && (freeBytes < reserve*look.Bytes+s.r.Config.Limits.MinFreeBytes || freeFiles < reserve*look.Entries+s.r.Config.Limits.MinFreeInodes) {
		return "the disk has not much room left"
	}
	return ""
}

// makeCopy makes one copy. It fails with ErrUnsteady if what it is of changes meanwhile.
func (s *stock) makeCopy(ctx context.Context, from *fsx.Tree, o Order, as fsx.Content, look provision.Look) error {
	i, lock, err := s.newItem()
	if err != nil {
		return err
	}
	err = i.writeCopy(ctx, from, o, as, look)
	if err != nil {
		err = errors.Join(err, i.remove())
	}
	return errors.Join(err, lock.Unlock())
}

// writeCopy copies the files of an empty copy, and marks it as whole.
func (i *item) writeCopy(ctx context.Context, from *fsx.Tree, o Order, as fsx.Content, look provision.Look) error {
	tree, err := fsx.OpenTreeIs(i.tree.Path, i.tree.Identity)
	if err != nil {
		return err
	}
	defer tree.Release()
	b := provision.Batch{Dir: o.Dir, Names: o.Names, How: as}
	list, err := b.Prepare(ctx, from, tree, o.Limits)
	if err != nil {
		return err
	}
	if err := failpoint.Hit("pool.copied"); err != nil {
		return err
	}
	if now, err := b.Look(ctx, from); err != nil || now.Sum != look.Sum {
		return errors.Join(provision.ErrUnsteady, err)
	}
	made, err := provision.LookPrepared(ctx, tree, o.Dir, list)
	if err != nil {
		return err
	}
	if err := waitUntil(ctx, made.Settled); err != nil {
		return err
	}
	if made, err = provision.LookPrepared(ctx, tree, o.Dir, list); err != nil {
		return err
	}
	f := facts{Stamp: copyStamp, User: proc.Writer(), Boot: proc.Here().Boot, Files: made.Entries, Bytes: made.Bytes}
	f.Copied = copied{Dir: o.Dir, How: as, NoClone: as != o.How, Source: look.Sum, Made: made.Sum}
	var text bytes.Buffer // not JSON, in which a name that is no UTF-8 would become another one
	if err := gob.NewEncoder(&text).Encode(list); err != nil {
		return err
	}
	return i.setWhole(f, outcomesFile, text.Bytes())
}
