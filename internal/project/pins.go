package project

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/journal"
)

// Pinned returns the object that a ref keeps, or refs.ErrNoRef if this state has
// pinned nothing there.
func (p *Projects) Pinned(ctx context.Context, r *Project, ref string) (string, error) {
	oid, err := p.Journal.Pin(ctx, r.ID, ref)
	if errors.Is(err, journal.ErrNotFound) {
		err = refs.ErrNoRef
	}
	return oid, err
}

// Pin keeps objects. Both the database and the refs are on disk when it returns.
func (p *Projects) Pin(ctx context.Context, r *Project, pins ...journal.Pin) error {
	unsynced, err := p.PinUnsynced(ctx, r, pins...)
	if err != nil {
		return err
	}
	return fsx.SyncAll(unsynced...)
}

// PinUnsynced keeps objects. The caller has to sync the directories that it
// returns before anything may depend on the refs.
func (p *Projects) PinUnsynced(ctx context.Context, r *Project, pins ...journal.Pin) (unsynced []string, err error) {
	if len(pins) == 0 {
		return nil, nil
	}
	// The refs come first: a process that is killed in between leaves a ref without a
	// pin, not a pin without a ref.
	unsynced, err = r.MovePins(ctx, pins)
	if err != nil {
		return nil, err
	}
	err = p.Journal.Update(ctx, func(tx *journal.Tx) error {
		for _, pin := range pins {
			if err := tx.PutPin(r.ID, pin); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		var refs []string
		for _, pin := range pins {
			refs = append(refs, pin.Ref)
		}
		return nil, errors.Join(err, r.DropPinRefs(context.WithoutCancel(ctx), refs))
	}
	return unsynced, nil
}

// MovePins makes refs name the objects of pins, whatever they named before.
func (r *Project) MovePins(ctx context.Context, pins []journal.Pin) (unsynced []string, err error) {
	for range 3 {
		var updates []refs.Update
		for _, p := range pins {
			old, err := r.Git.ReadRef(ctx, p.Ref)
			if err != nil && !errors.Is(err, refs.ErrNoRef) {
				return nil, err
			}
			if old != p.OID {
				updates = append(updates, refs.Update{Ref: p.Ref, New: p.OID, Old: old})
			}
		}
		unsynced, err = r.Git.UpdateRefsUnsynced(ctx, updates...)
		if !errors.Is(err, gitcmd.KindRefStale) {
			return unsynced, err
		}
	}
	return nil, err // an agent moves it as fast as it is read
}

// Unpin releases objects: first the refs go, then the database forgets them.
func (p *Projects) Unpin(ctx context.Context, r *Project, names ...string) error {
	var known []string
	for _, ref := range names {
		switch _, err := p.Pinned(ctx, r, ref); {
		case err == nil:
			known = append(known, ref)
		case !errors.Is(err, refs.ErrNoRef):
			return err
		}
	}
	if len(known) == 0 {
		return nil
	}
	if err := r.DropPinRefs(ctx, known); err != nil {
		return err
	}
	return p.forgetPins(ctx, r, known...)
}

// droppedAtOnce is how many refs go together. Every deletion of a packed ref writes
// all packed refs anew, and an agent may have made very many; while they go, others
// wait for the lock of the packed refs.
const droppedAtOnce = 5000

// DropPinRefs deletes refs. A ref that another process moves meanwhile stays.
func (r *Project) DropPinRefs(ctx context.Context, refs []string) error {
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

func (r *Project) dropTogether(ctx context.Context, names []string) error {
	at, err := r.Git.ReadRefs(ctx, names...)
	if err != nil {
		return err
	}
	var updates []refs.Update
	for _, ref := range names {
		if oid, isThere := at[ref]; isThere {
			updates = append(updates, refs.Update{Ref: ref, Old: oid})
		}
	}
	for {
		err := r.Git.UpdateRefs(ctx, updates...)
		if !errors.Is(err, gitcmd.KindRefStale) {
			return err
		}
		moved, isNamed := errors.AsType[*refs.Error](err)
		if !isNamed {
			break
		}
		n := len(updates)
		updates = slices.DeleteFunc(updates, func(u refs.Update) bool { return u.Ref == moved.Ref })
		if len(updates) == n {
			return err
		}
	}
	for _, u := range updates { // git does not say which one it was
		if err := r.Git.UpdateRefs(ctx, u); err != nil && !errors.Is(err, gitcmd.KindRefStale) {
			return err
		}
	}
	return nil
}

func (p *Projects) forgetPins(ctx context.Context, r *Project, refs ...string) error {
	return p.Journal.Update(ctx, func(tx *journal.Tx) error {
		for _, ref := range refs {
			if err := tx.DropPin(r.ID, ref); err != nil {
				return err
			}
		}
		return nil
	})
}

// PinOwner is the workspace or review that a pin belongs to: the word after the
// prefix.
func PinOwner(ref, prefix string) (id croft.ID, what string) {
	word, what, _ := strings.Cut(strings.TrimPrefix(ref, prefix), "/")
	return croft.ID(word), what
}

// ReleaseTime is how long a process may take from the ref to the row when it
// keeps or releases an object.
const ReleaseTime = 2 * time.Second

// PinRefs is what the refs of all pins begin with.
const PinRefs = "refs/croft/"
