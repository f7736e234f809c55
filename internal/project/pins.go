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

// Pinned returns the object that the journal has pinned under ref, or refs.ErrNoRef if
// there is none.
func (p *Projects) Pinned(ctx context.Context, r *Project, ref string) (string, error) {
	oid, err := p.Journal.Pin(ctx, r.ID, ref)
	if errors.Is(err, journal.ErrNotFound) {
		err = refs.ErrNoRef
	}
	return oid, err
}

// Pin keeps objects by refs and rows in the journal. The refs and the journal are on
// disk when it returns.
func (p *Projects) Pin(ctx context.Context, r *Project, pins ...journal.Pin) error {
	unsynced, err := p.PinUnsynced(ctx, r, pins...)
	if err != nil {
		return err
	}
	return fsx.SyncAll(unsynced...)
}

// PinUnsynced keeps objects by refs and rows in the journal. The caller has to sync the
// directories that it returns before anything may depend on the refs. If the rows cannot
// be written, it deletes the refs, also such as existed before.
func (p *Projects) PinUnsynced(ctx context.Context, r *Project, pins ...journal.Pin) (unsynced []string, err error) {
	if len(pins) == 0 {
		return nil, nil
	}
	// The refs come first: a process that is killed in between leaves a ref without a
	// row, not a row without a ref.
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
		return nil, errors.Join(err, r.DeletePinRefs(context.WithoutCancel(ctx), refs))
	}
	return unsynced, nil
}

// MovePins makes refs name the objects of pins, whatever the refs named before. The
// caller syncs the directories that it returns. It fails if another process moves one of
// the refs three times meanwhile.
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
	return nil, err // another process moves the ref as fast as it is read
}

// Unpin releases objects: it deletes their refs, and then their rows in the journal. A
// ref that has no row stays.
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
	if err := r.DeletePinRefs(ctx, known); err != nil {
		return err
	}
	return p.deletePinRows(ctx, r, known...)
}

// deletedAtOnce is how many refs are deleted in one transaction. Every deletion of a
// packed ref writes all packed refs anew, and an agent may have made very many. During
// a transaction other processes wait for the lock of the packed refs.
const deletedAtOnce = 5000

// DeletePinRefs deletes refs. A ref that another process moves meanwhile stays.
func (r *Project) DeletePinRefs(ctx context.Context, refs []string) error {
	refs = slices.Compact(slices.Sorted(slices.Values(refs)))
	for len(refs) > 0 {
		var now, later []string
		isNow := map[string]bool{}
		for _, ref := range refs {
			if len(now) == deletedAtOnce || hasParentIn(isNow, ref) { // git refuses a transaction in which one ref is a directory of another
				later = append(later, ref)
				continue
			}
			now, isNow[ref] = append(now, ref), true
		}
		if err := r.deleteTogether(ctx, now); err != nil {
			return err
		}
		refs = later
	}
	return nil
}

// hasParentIn reports whether a ref lies below one of the names.
func hasParentIn(names map[string]bool, ref string) bool {
	for i := strings.LastIndexByte(ref, '/'); i > 0; i = strings.LastIndexByte(ref[:i], '/') {
		if names[ref[:i]] {
			return true
		}
	}
	return false
}

func (r *Project) deleteTogether(ctx context.Context, names []string) error {
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
	for _, u := range updates { // git does not say which ref was stale
		if err := r.Git.UpdateRefs(ctx, u); err != nil && !errors.Is(err, gitcmd.KindRefStale) {
			return err
		}
	}
	return nil
}

func (p *Projects) deletePinRows(ctx context.Context, r *Project, refs ...string) error {
	return p.Journal.Update(ctx, func(tx *journal.Tx) error {
		for _, ref := range refs {
			if err := tx.DeletePin(r.ID, ref); err != nil {
				return err
			}
		}
		return nil
	})
}

// PinOwner splits a pin's ref, after the prefix, into the ID of the workspace or review
// that it belongs to, and the rest.
func PinOwner(ref, prefix string) (id croft.ID, what string) {
	word, what, _ := strings.Cut(strings.TrimPrefix(ref, prefix), "/")
	return croft.ID(word), what
}

// ReleaseTime is how long a process may take between changing a pin's ref and changing
// its row in the journal.
const ReleaseTime = 2 * time.Second

// PinRefs begins the names of the refs of all pins.
const PinRefs = "refs/croft/"
