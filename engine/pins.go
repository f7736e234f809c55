package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/journal"
)

// A pin is an object that Croft needs later, and a ref below refs/croft/ that
// keeps git from collecting it. Agents can move or delete such a ref, and others
// who use the same repository have refs of their own there. So the database says
// which object is meant; what a ref names is never read back, and only refs that
// the database knows are deleted.

// pinned returns the object that a ref keeps, or git.ErrNoRef if this state has
// pinned nothing there.
func (e *Engine) pinned(ctx context.Context, r *repo, ref string) (string, error) {
	oid, err := e.journal.Pin(ctx, r.id, ref)
	if errors.Is(err, journal.ErrNotFound) {
		err = git.ErrNoRef
	}
	return oid, err
}

// pin keeps objects. Both the database and the refs are on disk when it returns.
func (e *Engine) pin(ctx context.Context, r *repo, pins ...journal.Pin) error {
	unsynced, err := e.pinUnsynced(ctx, r, pins...)
	if err != nil {
		return err
	}
	return fsx.SyncAll(unsynced...)
}

// pinUnsynced keeps objects. The caller has to sync the directories that it
// returns before anything may depend on the refs.
func (e *Engine) pinUnsynced(ctx context.Context, r *repo, pins ...journal.Pin) (unsynced []string, err error) {
	if len(pins) == 0 {
		return nil, nil
	}
	// The refs come first: whoever is killed in between leaves a ref that nothing
	// speaks of, not a pin without one.
	unsynced, err = r.movePins(ctx, pins)
	if err != nil {
		return nil, err
	}
	err = e.journal.Update(ctx, func(tx *journal.Tx) error {
		for _, p := range pins {
			if err := tx.PutPin(r.id, p); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		var refs []string
		for _, p := range pins {
			refs = append(refs, p.Ref)
		}
		return nil, errors.Join(err, r.dropPinRefs(context.WithoutCancel(ctx), refs))
	}
	return unsynced, nil
}

// movePins makes refs name the objects of pins, whatever they named before.
func (r *repo) movePins(ctx context.Context, pins []journal.Pin) (unsynced []string, err error) {
	for range 3 {
		var updates []git.RefUpdate
		for _, p := range pins {
			old, err := r.git.ReadRef(ctx, p.Ref)
			if err != nil && !errors.Is(err, git.ErrNoRef) {
				return nil, err
			}
			if old != p.OID {
				updates = append(updates, git.RefUpdate{Ref: p.Ref, New: p.OID, Old: old})
			}
		}
		unsynced, err = r.git.MoveRefs(ctx, updates...)
		if !errors.Is(err, git.KindRefStale) {
			return unsynced, err
		}
	}
	return nil, err // an agent moves it as fast as it is read
}

// unpin releases objects: first the refs go, then the database forgets them.
func (e *Engine) unpin(ctx context.Context, r *repo, refs ...string) error {
	var known []string
	for _, ref := range refs {
		switch _, err := e.pinned(ctx, r, ref); {
		case err == nil:
			known = append(known, ref)
		case !errors.Is(err, git.ErrNoRef):
			return err
		}
	}
	if len(known) == 0 {
		return nil
	}
	if err := r.dropPinRefs(ctx, known); err != nil {
		return err
	}
	return e.forgetPins(ctx, r, known...)
}

// droppedAtOnce is how many refs go together. Every deletion of a packed ref writes
// all packed refs anew, and an agent may have made very many; while they go, others
// wait for the lock of the packed refs.
const droppedAtOnce = 5000

// dropPinRefs deletes refs. One that somebody moves meanwhile stays.
func (r *repo) dropPinRefs(ctx context.Context, refs []string) error {
	refs = slices.Compact(slices.Sorted(slices.Values(refs)))
	for len(refs) > 0 {
		var now, later []string
		isNow := map[string]bool{}
		for _, ref := range refs {
			if len(now) == droppedAtOnce || hasParentIn(isNow, ref) { // git changes no two of which one is the other's directory
				later = append(later, ref)
				continue
			}
			now, isNow[ref] = append(now, ref), true
		}
		if err := r.dropTogether(ctx, now); err != nil {
			return err
		}
		refs = later
	}
	return nil
}

// hasParentIn reports whether a ref's name lies below one of some names.
func hasParentIn(names map[string]bool, ref string) bool {
	for i := strings.LastIndexByte(ref, '/'); i > 0; i = strings.LastIndexByte(ref[:i], '/') {
		if names[ref[:i]] {
			return true
		}
	}
	return false
}

func (r *repo) dropTogether(ctx context.Context, refs []string) error {
	at, err := r.git.ReadRefs(ctx, refs...)
	if err != nil {
		return err
	}
	var updates []git.RefUpdate
	for _, ref := range refs {
		if oid, isThere := at[ref]; isThere {
			updates = append(updates, git.RefUpdate{Ref: ref, Old: oid})
		}
	}
	for {
		err := r.git.UpdateRefs(ctx, updates...)
		if !errors.Is(err, git.KindRefStale) {
			return err
		}
		moved, isNamed := errors.AsType[*git.RefError](err)
		if !isNamed {
			break
		}
		n := len(updates)
		updates = slices.DeleteFunc(updates, func(u git.RefUpdate) bool { return u.Ref == moved.Ref })
		if len(updates) == n {
			return err
		}
	}
	for _, u := range updates { // git does not say which one it was
		if err := r.git.UpdateRefs(ctx, u); err != nil && !errors.Is(err, git.KindRefStale) {
			return err
		}
	}
	return nil
}

func (e *Engine) forgetPins(ctx context.Context, r *repo, refs ...string) error {
	return e.journal.Update(ctx, func(tx *journal.Tx) error {
		for _, ref := range refs {
			if err := tx.DropPin(r.id, ref); err != nil {
				return err
			}
		}
		return nil
	})
}

// pinOwner is the workspace or review that a pin belongs to: the word after the
// prefix.
func pinOwner(ref, prefix string) (id croft.ID, what string) {
	word, what, _ := strings.Cut(strings.TrimPrefix(ref, prefix), "/")
	return croft.ID(word), what
}

// movedPins looks for refs that do not name what was pinned: somebody moved
// or deleted them. Mended, they name it again.
func (d *doctor) movedPins(ctx context.Context) error {
	pins, err := d.journal.Pins(ctx, d.r.id, pinRefs)
	if err != nil {
		return err
	}
	deadline := time.Now().Add(releaseTime)
	for _, p := range pins {
		if d.isKept(ctx, p, deadline) {
			continue
		}
		if _, err := d.r.git.Info(ctx, p.OID); errors.Is(err, object.ErrMissing) {
			d.find(findPinLost, p.Ref, "The ref was moved or deleted, and git has collected the object that it kept, "+p.OID+".",
				func() error { return d.unpin(ctx, d.r, p.Ref) })
			continue
		}
		d.find(findPinMoved, p.Ref, "The ref does not name the object any more that Croft keeps there, "+p.OID+".",
			func() error { return d.pin(ctx, d.r, p) })
	}
	return nil
}

// releaseTime is how long a process may take from the ref to the row when it
// keeps or releases an object.
const releaseTime = 2 * time.Second

// isKept reports whether a pin's ref names its object, or the pin is not there any
// more. Somebody may be at work between the two.
func (d *doctor) isKept(ctx context.Context, p journal.Pin, deadline time.Time) bool {
	for {
		if now, err := d.r.git.ReadRef(ctx, p.Ref); err == nil && now == p.OID {
			return true
		}
		if oid, err := d.journal.Pin(ctx, d.r.id, p.Ref); errors.Is(err, journal.ErrNotFound) || err == nil && oid != p.OID {
			return true
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return false
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// pinRefs is what the refs of all pins begin with.
const pinRefs = "refs/croft/"
