package mergetree

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/writers"
)

// idleTime is for how long a git that computes merges is asked again. It keeps
// what it has read for as long as it lives.
const idleTime = time.Minute

// idleMergeTrees are attempts that are over: their quarantine is empty, and their
// git waits for the next ones.
type idleMergeTrees struct {
	mu     sync.Mutex
	a      *Session
	closed bool
	expiry gitcmd.Expiry

	warming chan struct{} // closed when what is being made ready is
}

// Warm starts the gits that a publication needs, while the caller still finds
// out what there is to publish. What cannot be started is for those who need it
// to find out.
func (r *Repository) Warm(ctx context.Context) {
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
		if !r.NativeRefs() {
			started.Go(func() { r.WarmRefs(ctx) })
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
			a.throwAway()
		}
	}()
}

// HasIdleMergeTree reports whether a git that computes merges waits to be asked
// again.
func (r *Repository) HasIdleMergeTree() bool {
	r.idle.mu.Lock()
	defer r.idle.mu.Unlock()
	return r.idle.a != nil
}

// takeReady waits for attempts that are being made ready.
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

// putBack keeps attempts for later, unless there are some already.
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

// endExpired ends attempts that nobody took.
func (i *idleMergeTrees) endExpired() {
	if a := i.a; a != nil {
		i.a, i.warming = nil, nil // what was being made ready is what goes
		a.throwAway()
	}
}

func (i *idleMergeTrees) close() {
	i.mu.Lock()
	i.closed = true
	i.expiry.Stop()
	i.mu.Unlock()
	if a := i.takeReady(); a != nil {
		a.throwAway()
	}
}

// began is what a git saw when it was started, and goes by while it lives.
type began struct {
	at       time.Time
	settings *gitcmd.Settings
	shallow  string
	packs    []string
}

func (r *Repository) beginSeen(ctx context.Context) (began, error) {
	s, err := r.SettingsOf(ctx, r.CommonDir)
	return began{at: time.Now(), settings: s, shallow: gitcmd.Digest(filepath.Join(r.CommonDir, "shallow")), packs: r.listPacks()}, err
}

// listPacks lists the packs of the repository.
func (r *Repository) listPacks() []string {
	names, _ := filepath.Glob(filepath.Join(r.CommonDir, "objects", "pack", "*.idx"))
	return names
}

// isStillValid reports whether a git that saw this may be asked once more: one that
// takes an object for stored, in a pack that is gone, would not store it again.
func (b began) isStillValid(now began) bool {
	return now.settings == b.settings && now.shallow == b.shallow && now.at.Sub(b.at) < idleTime &&
		!slices.ContainsFunc(b.packs, func(p string) bool { return !slices.Contains(now.packs, p) })
}

// emptyForReuse empties the quarantine, and leaves the attempts for whoever comes next.
// It reports whether that was possible.
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
	// Packs that came since are known to it too.
	next := a.began
	for _, p := range a.q.Repo.listPacks() {
		if !slices.Contains(next.packs, p) {
			next.packs = append(next.packs, p)
		}
	}
	return err == nil && a.q.Repo.idle.putBack(&Session{q: a.q, p: a.p, out: a.out, began: next, reused: true, made: a.made})
}

// mostMade bounds the commits that are remembered.
const mostMade = 100

// rememberCommit keeps a commit that was made for whoever asks for it next: the next
// merge begins with the last commit of this one.
func (a *Session) rememberCommit(o object.Object) {
	c, err := object.ParseCommit(o)
	if err != nil {
		return
	}
	a.madeMu.Lock()
	defer a.madeMu.Unlock()
	if a.made == nil || len(a.made) >= mostMade {
		a.made = map[string]object.Commit{}
	}
	c.Parents = slices.Clip(c.Parents)
	a.made[o.OID] = c
}

func (a *Session) lastMade(oid string) (object.Commit, bool) {
	a.madeMu.Lock()
	defer a.madeMu.Unlock()
	c, ok := a.made[oid]
	return c, ok
}

// checkReusable makes sure that a git which waited may be asked once more, and reports
// whether this is the first question since.
func (a *Session) checkReusable(ctx context.Context) (reused bool, err error) {
	if a.p != nil && !a.reused {
		return false, nil
	}
	now, err := a.q.Repo.beginSeen(ctx)
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
