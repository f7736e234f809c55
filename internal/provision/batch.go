package provision

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
)

// LargeBatch is from how many names on a batch is worth being copied before it is needed.
const LargeBatch = manyFiles

// Batch is what is copied of one directory. It can be copied before it is needed ([Batch.Prepare]): the outcome is that
// of copying now as long as the batch looks as it did then ([Batch.Look]).
type Batch struct {
	Dir   string   // with slashes
	Names []string // sorted, and all below Dir; one that ends in a slash is a nested repository
	How   fsx.Content
}

// Look is what files looked like at one moment, without their content.
type Look struct {
	Sum     string    // of all names and stamps
	Settled time.Time // from when on each change gives another Sum
	Entries int64
	Bytes   int64 // of the files
}

// Outcome is what became of one name of a batch: a copy, or the reason why there is none.
type Outcome struct {
	Copy

	Skip croft.SkipReason `json:"skip,omitempty"`
}

// Err returns the reason as Copier.Copy does, or nil.
func (o Outcome) Err() error {
	if o.Skip == "" {
		return nil
	}
	return &SkipError{Path: o.Path, Why: o.Skip}
}

// ErrUnsteady says that a batch cannot be copied before it is needed: some of its files change, or are over the limits.
var ErrUnsteady = errors.New("its files are being changed, or cannot all be copied")

// seen is an entry with its stamp.
type seen struct {
	name string
	fsx.Stamp
}

// lookOf sums up entries in the order of their names.
func lookOf(list []seen) Look {
	h := sha256.New()
	look := Look{Entries: int64(len(list))}
	var text []byte
	for _, s := range list {
		text = append(append(text[:0], s.name...), 0)
		if s.Stamp != (fsx.Stamp{}) {
			text = s.AppendTo(text)
		}
		_, _ = h.Write(text)
		if s.Mode.IsRegular() {
			look.Bytes += s.Size
		}
		if at := s.Settled(); at.After(look.Settled) {
			look.Settled = at
		}
	}
	look.Sum = hex.EncodeToString(h.Sum(nil))
	return look
}

// Look looks at all names of the batch in the project.
func (b Batch) Look(ctx context.Context, from *fsx.Tree) (Look, error) {
	list := make([]seen, len(b.Names))
	err := spread(ctx, from, len(b.Names), func(tree *fsx.Tree, i int) (err error) {
		list[i].name = b.Names[i]
		if !strings.HasSuffix(b.Names[i], "/") {
			list[i].Stamp, err = tree.Stamp(b.Names[i])
		}
		return err
	})
	if err != nil {
		return Look{}, err
	}
	return lookOf(list), nil
}

// spread calls do for each index, several at a time, each with a tree of its own. It returns the first error.
func spread(ctx context.Context, tree *fsx.Tree, n int, do func(tree *fsx.Tree, i int) error) error {
	var next atomic.Int64
	var once sync.Once
	var first error
	var hasFailed atomic.Bool
	work := func(tree *fsx.Tree) {
		for !hasFailed.Load() {
			from := int(next.Add(share)) - share
			if from >= n {
				return
			}
			for i := from; i < min(from+share, n); i++ {
				err := do(tree, i)
				if err == nil && i == from {
					err = ctx.Err()
				}
				if err != nil {
					once.Do(func() { first = err })
					hasFailed.Store(true)
					return
				}
			}
		}
	}
	var others sync.WaitGroup
	for range min(workers, (n+share-1)/share) - 1 {
		twin := tree.Twin()
		others.Go(func() {
			defer twin.Close()
			work(twin)
		})
	}
	work(tree)
	others.Wait()
	return first
}

// LookBelow looks at a directory of a tree and at all that is below it, whatever it is.
func LookBelow(ctx context.Context, tree *fsx.Tree, dir string) (Look, error) {
	list, err := seenBelow(ctx, tree, dir)
	return lookOf(list), err
}

// seenBelow lists a directory and all that is below it, sorted.
func seenBelow(ctx context.Context, tree *fsx.Tree, dir string) ([]seen, error) {
	top, err := tree.Stamp(dir)
	if err != nil {
		return nil, err
	}
	list := []seen{{dir, top}}
	for level := []string{dir}; len(level) > 0; {
		found := make([][]seen, len(level))
		err := spread(ctx, tree, len(level), func(tree *fsx.Tree, i int) error {
			entries, err := tree.Entries(level[i])
			if err != nil {
				return err
			}
			for _, e := range entries {
				s := seen{name: level[i] + "/" + e.Name()}
				if s.Stamp, err = tree.Stamp(s.name); err != nil {
					return err
				}
				found[i] = append(found[i], s)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		level = nil
		for _, s := range slices.Concat(found...) {
			list = append(list, s)
			if s.Mode.IsDir() {
				level = append(level, s.name)
			}
		}
	}
	slices.SortFunc(list, func(a, b seen) int { return strings.Compare(a.name, b.name) })
	return list, nil
}

// Prepare copies a batch into another tree, which has nothing in its place. It fails with ErrUnsteady unless the outcome is
// that of every later copy as long as the batch looks the same.
func (b Batch) Prepare(ctx context.Context, from, to *fsx.Tree, limits Limits) ([]Outcome, error) {
	c := &Copier{From: from, To: to, Limits: limits}
	list := make([]Outcome, 0, len(b.Names))
	for made, err := range c.CopyEach(ctx, b.Names, b.How) {
		skip, isSkip := errors.AsType[*SkipError](err)
		switch {
		case err == nil:
			list = append(list, Outcome{Copy: made})
		case !isSkip:
			return nil, err
		case isLasting(skip.Why):
			list = append(list, Outcome{Copy{Path: skip.Path}, skip.Why})
		default:
			return nil, fmt.Errorf("%w: %w", ErrUnsteady, err)
		}
	}
	return list, nil
}

// isLasting reports whether a reason follows from what a look at the project's file tells, and from the user.
func isLasting(why croft.SkipReason) bool {
	switch why {
	case croft.SkipRepository, croft.SkipLink, croft.SkipSpecial, croft.SkipUnreadable:
		return true
	}
	return false
}

// LookPrepared looks at what Prepare has made, and fails with ErrUnsteady if that is not what it says.
func LookPrepared(ctx context.Context, tree *fsx.Tree, dir string, list []Outcome) (Look, error) {
	found, err := seenBelow(ctx, tree, dir)
	if err != nil {
		return Look{}, err
	}
	made := make(map[string]Copy, len(list))
	for _, o := range list {
		if o.Skip == "" {
			made[o.Path] = o.Copy
		}
	}
	for _, s := range found {
		c, isMade := made[s.name]
		delete(made, s.name)
		switch {
		case s.Mode.IsDir() && !isMade:
		case isMade && c.Link != "" && s.Mode.Type() == fs.ModeSymlink:
		case isMade && c.Link == "" && s.Mode.IsRegular() && s.Size == c.Size && s.Modified == c.Time && uint32(s.Mode.Perm()) == c.Mode:
		default:
			return Look{}, fmt.Errorf("%w: %s", ErrUnsteady, s.name)
		}
	}
	if len(made) > 0 {
		return Look{}, fmt.Errorf("%w: %d are gone", ErrUnsteady, len(made))
	}
	return lookOf(found), nil
}

// Admits reports whether a batch that was copied before may come in by the limits of the copier: all of it, counted as if
// it was copied now.
func (c *Copier) Admits(how fsx.Content, bytes int64, list []Outcome) bool {
	_, files := spentBy(how, list)
	if how == fsx.ContentCopied {
		files = int64(len(list)) // one that cannot be read takes its share until that is found out
		isLarge := func(o Outcome) bool { return o.Size > smallFile }
		if slices.ContainsFunc(list, isLarge) && !c.hasRoom(bytes) {
			return false
		}
	} else {
		bytes = 0
	}
	spent := c.spent()
	spent.mu.Lock()
	defer spent.mu.Unlock()
	return (c.Limits.Files <= 0 || spent.files+files <= c.Limits.Files) && (c.Limits.Bytes <= 0 || spent.bytes+bytes <= c.Limits.Bytes)
}

// Count counts a batch that was copied before and has come in.
func (c *Copier) Count(how fsx.Content, list []Outcome) {
	c.spent().add(spentBy(how, list))
}

// spentBy is what copying a batch takes of the limits. Clones take nothing.
func spentBy(how fsx.Content, list []Outcome) (bytes, files int64) {
	for _, o := range list {
		if o.Skip == "" && (o.Link != "" || how == fsx.ContentCopied) {
			bytes += o.Size
			files++
		}
	}
	return bytes, files
}
