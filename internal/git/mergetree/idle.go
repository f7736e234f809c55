package mergetree

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/writers"
)

// idleTime is the age from which a git that computes merges is not used again after it was
// idle. Its memory use grows with what it has read.
const idleTime = time.Minute

// idleMergeTrees keeps one session whose caller has closed it: its quarantine is empty,
// and its git process waits for the next caller.
type idleMergeTrees struct {
	mu     sync.Mutex
	a      *Session
	closed bool
	expiry gitcmd.Expiry

	warming chan struct{} // closed when the session that PrestartMerge starts is ready
}

// PrestartMerge starts the git processes that a publication needs, while the caller still finds out
// what to publish. It ignores errors: the call that needs the process reports them.
func (r *Repository) PrestartMerge(ctx context.Context) {
	r.idle.mu.Lock()
	isWarm := r.idle.a != nil || r.idle.closed || r.idle.warming != nil
	done := make(chan struct{})
	if !isWarm {
		r.idle.warming = done
	}
	r.idle.mu.Unlock()
	if isWarm {
		return
	}
	ctx = context.WithoutCancel(ctx)
	go func() {
		var started sync.WaitGroup
		if !r.HasNativeRefs() {
			started.Go(func() { r.StartRefProcess(ctx) })
		}
		defer func() {
			started.Wait()
			close(done)
		}()
		q, err := r.NewQuarantine(writers.InMemory)
		if err != nil {
			return
		}
		a := &Session{q: q}
		if _, err = a.checkReusable(ctx); err == nil {
			err = a.start(ctx)
		}
		a.reused = true
		if err != nil || !r.idle.putBack(a) {
			a.discard()
		}
	}()
}

// HasIdleMergeTree reports whether an idle git that computes merges is kept.
func (r *Repository) HasIdleMergeTree() bool {
	r.idle.mu.Lock()
	defer r.idle.mu.Unlock()
	return r.idle.a != nil
}

// takeReady returns the idle session, or nil. It waits for one that PrestartMerge is starting.
func (i *idleMergeTrees) takeReady() *Session {
	i.mu.Lock()
	defer i.mu.Unlock()
	if done := i.warming; done != nil {
		i.mu.Unlock()
		<-done
		i.mu.Lock()
		if i.warming == done {
			i.warming = nil
		}
	}
	a := i.a
	i.a = nil
	return a
}

// putBack keeps a session for the next caller. It reports false if one is kept already or the
// repository is closed; then the caller discards the session.
func (i *idleMergeTrees) putBack(a *Session) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.a != nil || i.closed {
		return false
	}
	i.a = a
	i.expiry.After(a.q.Repo.Git.IdleTime(), &i.mu, i.endExpired)
	return true
}

// endExpired ends a session that was not used for the time that [gitcmd.Git.IdleTime] gives.
func (i *idleMergeTrees) endExpired() {
	if a := i.a; a != nil {
		i.a, i.warming = nil, nil // including the one that PrestartMerge is starting
		a.discard()
	}
}

func (i *idleMergeTrees) close() {
	i.mu.Lock()
	i.closed = true
	i.expiry.Stop()
	i.mu.Unlock()
	if a := i.takeReady(); a != nil {
		a.discard()
	}
}

// startState is the state of the repository when a git process was started: the process assumes
// it for as long as it lives.
type startState struct {
	at       time.Time
	settings *gitcmd.Settings
	shallow  string
	packs    []string
}

// readStartState reads the state that the repository has now, which a git process that is
// started now assumes.
func (r *Repository) readStartState(ctx context.Context) (startState, error) {
	s, err := r.SettingsOf(ctx, r.CommonDir)
	return startState{at: time.Now(), settings: s, shallow: gitcmd.Digest(filepath.Join(r.CommonDir, "shallow")), packs: r.listPacks()}, err
}

// listPacks lists the packs of the repository.
func (r *Repository) listPacks() []string {
	names, _ := filepath.Glob(filepath.Join(r.CommonDir, "objects", "pack", "*.idx"))
	return names
}

// isStillValid reports whether a process that was started in state b may be used in state
// now. A process that believes an object to be in a pack which is gone would not store it
// again.
func (b startState) isStillValid(now startState) bool {
	return now.settings == b.settings && now.shallow == b.shallow && now.at.Sub(b.at) < idleTime &&
		!slices.ContainsFunc(b.packs, func(p string) bool { return !slices.Contains(now.packs, p) })
}

// emptyForReuse empties the quarantine and keeps the session for the next caller. It
// reports whether that was possible.
func (a *Session) emptyForReuse() bool {
	if a.q.placement != writers.InMemory || a.p == nil {
		return false
	}
	entries, err := os.ReadDir(a.q.Dir)
	for _, e := range entries {
		if err == nil {
			err = os.RemoveAll(filepath.Join(a.q.Dir, e.Name()))
		}
	}
	// The process may have read packs that came since, too.
	next := a.began
	for _, p := range a.q.Repo.listPacks() {
		if !slices.Contains(next.packs, p) {
			next.packs = append(next.packs, p)
		}
	}
	return err == nil && a.q.Repo.idle.putBack(&Session{q: a.q, p: a.p, out: a.out, began: next, reused: true})
}

// checkReusable ends an idle process that may not be used any more. reused says that the
// process was idle, and that this is the first question to it since.
func (a *Session) checkReusable(ctx context.Context) (reused bool, err error) {
	if a.p != nil && !a.reused {
		return false, nil
	}
	now, err := a.q.Repo.readStartState(ctx)
	if err != nil {
		return false, err
	}
	if a.p != nil && !a.began.isStillValid(now) {
		a.end()
	}
	if a.p == nil {
		a.began = now
	}
	a.reused = false
	return a.p != nil, nil
}
