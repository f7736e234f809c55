package provision

import (
	"context"
	"errors"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
)

const (
	// workers is how many files are copied at a time.
	workers = 4
	// manyFiles is from how many files on several are copied at a time.
	manyFiles = 256
	// share is how many names a worker takes at a time: names beside each other are often in one directory.
	share = 32
)

// budget is what was copied so far.
type budget struct {
	mu           sync.Mutex
	bytes, files int64
}

// take counts a file before it is copied, or says why it is not to be.
func (b *budget) take(size int64, limits Limits) croft.SkipReason {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case limits.Files > 0 && b.files >= limits.Files:
		return croft.SkipTooMany
	case limits.Bytes > 0 && b.bytes+size > limits.Bytes:
		return croft.SkipTooLarge
	}
	b.bytes += size
	b.files++
	return ""
}

func (b *budget) add(bytes, files int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bytes += bytes
	b.files += files
}

func (b *budget) bytesSoFar() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes
}

func (c *Copier) spent() *budget {
	if c.shared != nil {
		return c.shared
	}
	return &c.own
}

// CopyEach copies files and links as Copy does, and yields what became of each, in the order of the names. It ends with the
// first error that is no *SkipError, or when ctx does. Few are copied when they are asked for; of many, several are
// copied at a time, and all before the first is yielded, so that some after a failure may be there.
func (c *Copier) CopyEach(ctx context.Context, names []string, how fsx.Content) iter.Seq2[Copy, error] {
	if len(names) >= manyFiles {
		return c.copyMany(ctx, names, how)
	}
	return func(yield func(Copy, error) bool) {
		for _, name := range names {
			made, err := Copy{}, ctx.Err()
			if err == nil {
				made, err = c.Copy(name, how)
			}
			if !yield(made, err) || isFatal(err) {
				return
			}
		}
	}
}

// isFatal reports whether an error means that further files are not copied, either.
func isFatal(err error) bool {
	_, isSkip := errors.AsType[*SkipError](err)
	return err != nil && !isSkip
}

// outcome is what became of one name.
type outcome struct {
	made Copy
	err  error
}

func (c *Copier) copyMany(ctx context.Context, names []string, how fsx.Content) iter.Seq2[Copy, error] {
	return func(yield func(Copy, error) bool) {
		results := make([]outcome, len(names))
		// The first tells whether files can be cloned here at all.
		results[0].made, results[0].err = c.Copy(names[0], how)
		if !isFatal(results[0].err) {
			c.copyRest(ctx, names, how, results)
		}
		for _, r := range results {
			if !yield(r.made, r.err) || isFatal(r.err) {
				return
			}
		}
	}
}

// errNotTried says that a file was not copied because another one failed.
var errNotTried = errors.New("another file could not be copied")

// copyRest copies all names but the first.
func (c *Copier) copyRest(ctx context.Context, names []string, how fsx.Content, results []outcome) {
	var next atomic.Int64
	next.Store(1)
	var hasFailed atomic.Bool
	work := func(with *Copier) {
		for {
			from := int(next.Add(share)) - share
			if from >= len(names) {
				return
			}
			for i := from; i < min(from+share, len(names)); i++ {
				switch {
				case ctx.Err() != nil:
					results[i].err = ctx.Err()
				case hasFailed.Load():
					results[i].err = errNotTried
				default:
					results[i].made, results[i].err = with.Copy(names[i], how)
				}
				if isFatal(results[i].err) {
					hasFailed.Store(true)
				}
			}
		}
	}
	var others sync.WaitGroup
	for range workers - 1 {
		with := &Copier{From: c.From.Twin(), To: c.To.Twin(), Limits: c.Limits, shared: c.spent()}
		others.Go(func() {
			defer with.From.Close()
			defer with.To.Close()
			work(with)
		})
	}
	work(c)
	others.Wait()
	// The first failure in the order of the names is the one that is told: not that others were not tried.
	at := -1
	for i := range results {
		if isFatal(results[i].err) && !errors.Is(results[i].err, errNotTried) {
			at = i
			break
		}
	}
	for i := range max(at, 0) {
		if errors.Is(results[i].err, errNotTried) {
			results[i].err = results[at].err
			break
		}
	}
}
