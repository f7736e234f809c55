package refs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/writers"
)

// writer moves refs that are files. One of a repository's transactions is at
// work at a time in this process; git's locks keep it from those of others.
type writer struct {
	repo *Repository
	mu   sync.Mutex
	mark *writers.Lease // names the locks that are taken
	wait time.Duration  // for others' locks; 0: refLockTime

	signer   *gitcmd.Settings // that signature was made from
	who      string           // the committer in reflogs
	unlogged []error
}

// refLockTime is how long another's lock on a ref is waited for, as it is by the
// gits that Croft starts.
const refLockTime = 10 * time.Second

// transact moves refs, all or none, and calls meanwhile when all are locked.
func (w *writer) transact(ctx context.Context, meanwhile func() error, updates []Update) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := w.checkObjects(ctx, updates); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	t := &refTx{w: w, files: fsx.OpenTree(w.repo.CommonDir), until: time.Now().Add(w.patience())}
	for _, u := range updates {
		t.steps = append(t.steps, &refStep{Update: u})
	}
	t.findHead()
	if err := w.begin(t.locks()); err != nil {
		return err
	}
	defer w.mark.WriteIdle()
	err := t.prepare(ctx)
	if err == nil && meanwhile != nil {
		err = meanwhile()
	}
	if err == nil {
		// What was begun is not torn apart when the caller has had enough.
		err = t.applyUpdates(context.WithoutCancel(ctx))
	}
	if rerr := t.release(); err == nil {
		err = rerr
	}
	return err
}

func (w *writer) patience() time.Duration {
	if w.wait > 0 {
		return w.wait
	}
	return refLockTime
}

// begin says which locks are about to be taken.
func (w *writer) begin(locks []string) error {
	if w.mark == nil {
		m, err := w.repo.NewLease()
		if err != nil {
			return err
		}
		w.mark = m
	}
	return w.mark.WriteBusy(locks)
}

func (w *writer) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mark != nil {
		w.mark.End()
		w.mark = nil
	}
}

// locks are the locks that the transaction takes.
func (t *refTx) locks() []string {
	var locks []string
	for _, s := range t.steps {
		locks = append(locks, s.Ref+".lock")
	}
	if t.head != "" {
		locks = append(locks, "HEAD.lock")
	}
	if t.hasDeletions() {
		locks = append(locks, "packed-refs.lock", "packed-refs.new")
	}
	return locks
}

func (t *refTx) hasDeletions() bool { return slices.ContainsFunc(t.steps, (*refStep).deletes) }

// checkObjects makes sure that what refs are to name is there, and that
// branches lead to commits.
func (w *writer) checkObjects(ctx context.Context, updates []Update) error {
	types := map[string]string{}
	for _, u := range updates {
		if u.New == "" {
			continue
		}
		if types[u.New] == "" {
			info, err := w.repo.Info(ctx, u.New)
			if err != nil {
				return fmt.Errorf("%s: %w", u.Ref, err)
			}
			types[u.New] = info.Type
		}
		if kind := types[u.New]; kind != "commit" && strings.HasPrefix(u.Ref, "refs/heads/") {
			return &Error{Ref: u.Ref, Problem: fmt.Sprintf("cannot be %s, which is a %s and not a commit", u.New, kind)}
		}
	}
	return nil
}

// findHead notes which of the refs the main checkout is on: git takes HEAD's
// lock then, and writes into HEAD's log too.
func (t *refTx) findHead() {
	t.head = ""
	b, err := t.files.ReadFile("HEAD", maxRefFile)
	if err != nil {
		return
	}
	_, ref := gitdir.ParseRefFile(b)
	if slices.ContainsFunc(t.steps, func(s *refStep) bool { return s.Ref == ref && (s.New != "" || s.Old != "") }) {
		t.head = ref
	}
}

// lockHead keeps HEAD where it is.
func (t *refTx) lockHead(ctx context.Context) error {
	if t.head == "" {
		return nil
	}
	if err := t.lock(ctx, "HEAD", ""); err != nil {
		return err
	}
	t.findHead() // it may have been switched before it was locked
	return nil
}
