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

// writer moves refs that are files. It runs one transaction at a time; git's lock files
// exclude other processes.
type writer struct {
	repo  *Repository
	mu    sync.Mutex
	lease *writers.Lease // named in the lock files that a transaction creates
	wait  time.Duration  // for lock files of other processes; 0: refLockTime

	signer   *gitcmd.Settings // the settings that who was made from
	who      string           // the committer in reflogs
	unlogged []error
}

// refLockTime is how long a lock file of another process is waited for; the git processes
// that Croft starts wait as long.
const refLockTime = 10 * time.Second

// transact moves all refs or none, and calls meanwhile when all are locked.
func (w *writer) transact(ctx context.Context, meanwhile func() error, updates []Update) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := w.checkObjects(ctx, updates); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	t := &refTx{w: w, files: fsx.OpenTree(w.repo.CommonDir), until: time.Now().Add(w.lockTimeout())}
	for _, u := range updates {
		t.steps = append(t.steps, &refStep{Update: u})
	}
	t.findHead()
	if err := w.begin(t.locks()); err != nil {
		return err
	}
	defer w.lease.WriteIdle()
	err := t.prepare(ctx)
	if err == nil && meanwhile != nil {
		err = meanwhile()
	}
	if err == nil {
		// Once refs have begun to move, the caller's cancellation does not apply.
		err = t.applyUpdates(context.WithoutCancel(ctx))
	}
	if rerr := t.release(); err == nil {
		err = rerr
	}
	return err
}

func (w *writer) lockTimeout() time.Duration {
	if w.wait > 0 {
		return w.wait
	}
	return refLockTime
}

// begin records in the lease which lock files the transaction is about to create.
func (w *writer) begin(locks []string) error {
	if w.lease == nil {
		m, err := w.repo.NewLease()
		if err != nil {
			return err
		}
		w.lease = m
	}
	return w.lease.WriteBusy(locks)
}

func (w *writer) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lease != nil {
		w.lease.End()
		w.lease = nil
	}
}

// locks returns the lock files that the transaction creates.
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

// checkObjects fails unless the new objects exist and those of branches are commits.
func (w *writer) checkObjects(ctx context.Context, updates []Update) error {
	types := map[string]string{}
	for _, u := range updates {
		if u.New == "" {
			continue
		}
		if types[u.New] == "" {
			kind, err := w.repo.TypeOf(ctx, u.New)
			if err != nil {
				return fmt.Errorf("%s: %w", u.Ref, err)
			}
			types[u.New] = kind
		}
		if kind := types[u.New]; kind != "commit" && strings.HasPrefix(u.Ref, "refs/heads/") {
			return &Error{Ref: u.Ref, Problem: fmt.Sprintf("cannot be %s, which is a %s and not a commit", u.New, kind)}
		}
	}
	return nil
}

// findHead sets head if HEAD of the main checkout names one of the refs: git then locks
// HEAD, too, and writes its reflog.
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

// lockHead locks HEAD of the main checkout if it names one of the refs.
func (t *refTx) lockHead(ctx context.Context) error {
	if t.head == "" {
		return nil
	}
	if err := t.lock(ctx, "HEAD", ""); err != nil {
		return err
	}
	t.findHead() // HEAD may have been switched before it was locked
	return nil
}
