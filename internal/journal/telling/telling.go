// Package telling decides which events a transaction of the journal writes, and what they
// carry. A caller emits the events that have a name of their own; every other workspace
// and merge that the transaction wrote is told of, too. So events alone rebuild the lists,
// whatever a caller forgets.
//
// It also encodes events for the journal, and decodes those that were written before
// events had subjects and nouns. It knows no SQL.
package telling

import (
	"cmp"
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/croft-sh/croft"
)

// ErrNotFound says that a record that an event names does not exist.
var ErrNotFound = errors.New("not recorded")

// Workspace is a workspace as recorded, without its lease.
type Workspace struct {
	Repo croft.ID
	croft.Workspace
}

// Merge is a merge as recorded.
type Merge struct {
	Repo, Act croft.ID
	croft.Merge
}

// Records reads what the transaction sees. Workspace and Merge fail with ErrNotFound.
type Records interface {
	Workspace(id croft.ID) (Workspace, error)
	Merge(id croft.ID) (Merge, error)
	Leases(workspace croft.ID) ([]croft.Lease, error)
	// ActOf returns the act of an operation, and the workspaces that it concerns.
	ActOf(operation croft.ID) (act croft.ID, workspaces []croft.ID, err error)
}

// Story is what one transaction has to tell.
type Story struct {
	events     []croft.Event
	written    []croft.ID       // workspaces and merges, in order
	read       map[croft.ID]any // nouns as the transaction first read them
	workspaces map[croft.ID]Workspace
	merges     map[croft.ID]Merge
	gone       map[croft.ID]croft.Event
	acts       map[croft.ID]croft.ID // the acts of the operations that it wrote, by workspace
	ended      []croft.ID            // operations
}

// New returns the story of a transaction that has done nothing yet.
func New() *Story {
	return &Story{
		read: map[croft.ID]any{}, workspaces: map[croft.ID]Workspace{}, merges: map[croft.ID]Merge{},
		gone: map[croft.ID]croft.Event{}, acts: map[croft.ID]croft.ID{},
	}
}

// Emit adds an event.
func (s *Story) Emit(e croft.Event) { s.events = append(s.events, e) }

// Read remembers a noun, a croft.Workspace or a croft.Merge, as the transaction first reads
// it, so that a write that changes nothing is not told of.
func (s *Story) Read(id croft.ID, noun any) {
	if _, ok := s.read[id]; !ok {
		s.read[id] = noun
	}
}

// WroteWorkspace remembers that a record was written.
func (s *Story) WroteWorkspace(w Workspace) {
	s.written, s.workspaces[w.ID] = append(s.written, w.ID), w
}

// WroteMerge remembers that a merge was written.
func (s *Story) WroteMerge(m Merge) {
	s.written, s.merges[m.ID] = append(s.written, m.ID), m
}

// WroteLease remembers that a lease on a workspace has gone or come.
func (s *Story) WroteLease(workspace croft.ID) { s.written = append(s.written, workspace) }

// Deleted remembers that the record of a workspace was deleted.
func (s *Story) Deleted(w Workspace) {
	delete(s.workspaces, w.ID)
	s.written = append(s.written, w.ID)
	s.gone[w.ID] = croft.Event{
		Kind:     croft.EventWorkspaceForgotten,
		Subjects: croft.Subjects{Repo: w.Repo, Workspace: w.ID, WorkspaceName: w.Name},
	}
}

// Acted remembers which act the events about some workspaces are a part of, or, without
// workspaces, those about none.
func (s *Story) Acted(act croft.ID, workspaces []croft.ID) {
	if len(workspaces) == 0 {
		s.acts[""] = act
	}
	for _, w := range workspaces {
		s.acts[w] = act
	}
}

// Ended remembers an operation that the transaction ended.
func (s *Story) Ended(operation croft.ID) { s.ended = append(s.ended, operation) }

// Events returns the events of the transaction, with their nouns as it leaves them.
func (s *Story) Events(r Records, now time.Time) ([]croft.Event, error) {
	if err := s.addUntold(r, now); err != nil || len(s.events) == 0 {
		return nil, err
	}
	for _, id := range s.ended {
		act, workspaces, err := r.ActOf(id)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		s.Acted(act, workspaces)
	}
	for i := range s.events {
		if err := s.complete(r, &s.events[i]); err != nil {
			return nil, err
		}
	}
	return s.events, nil
}

// addUntold adds events for the workspaces and merges that the transaction changed and
// that no event of its caller tells of.
func (s *Story) addUntold(r Records, now time.Time) error {
	told := map[croft.ID]bool{}
	for _, e := range s.events {
		if !isOfCheck(e) {
			told[e.Workspace], told[e.Merge] = true, true
		}
	}
	for _, id := range s.written {
		if told[id] {
			continue
		}
		told[id] = true
		if m, ok := s.merges[id]; ok {
			for _, kind := range kindsOf(s.read[id], m.Merge) {
				s.Emit(croft.Event{Time: now, Kind: kind, Subjects: croft.Subjects{Repo: m.Repo, Workspace: m.Workspace, Merge: id}})
			}
			continue
		}
		if e, ok := s.gone[id]; ok {
			e.Time = now
			s.Emit(e)
			continue
		}
		w, isWritten := s.workspaces[id]
		if isWritten && reflect.DeepEqual(s.read[id], w.Workspace) {
			continue
		}
		if !isWritten { // a lease
			var err error
			if w, err = r.Workspace(id); errors.Is(err, ErrNotFound) {
				continue
			} else if err != nil {
				return err
			}
		}
		s.Emit(croft.Event{Time: now, Kind: croft.EventWorkspaceChanged, Subjects: croft.Subjects{Repo: w.Repo, Workspace: id}})
	}
	return nil
}

// kindsOf returns the kinds of the events that tell of a merge which was written. before
// is not a merge if the transaction did not read it.
func kindsOf(before any, m croft.Merge) []string {
	was, ok := before.(croft.Merge)
	switch {
	case ok && reflect.DeepEqual(was, m):
		return nil
	case ok && was.State == croft.MergeQueued && m.State == croft.MergeMerging:
		return []string{croft.EventMergeStarted}
	case ok && was.State == croft.MergeQueued && m.State == croft.MergeChecking:
		return []string{croft.EventMergeStarted, croft.EventMergeChecking}
	case ok && was.State != croft.MergeQueued && m.State == croft.MergeQueued:
		return []string{croft.EventMergeQueued}
	case ok && m.IsHeld && !was.IsHeld:
		return []string{croft.EventMergeHeld}
	case ok && was.IsHeld && !m.IsHeld:
		return []string{croft.EventMergeReleased}
	}
	return []string{croft.EventMergeChanged}
}

// isOfCheck reports whether an event tells of a check: there are many of these, so they carry
// neither the merge nor the workspace.
func isOfCheck(e croft.Event) bool { return strings.HasPrefix(e.Kind, "check.") }

// complete sets the nouns of an event and the subjects that follow from them, unless its
// caller did.
func (s *Story) complete(r Records, e *croft.Event) error {
	if isOfCheck(*e) {
		return nil
	}
	after := croft.Nouns{}
	if e.After != nil {
		after = *e.After
	}
	if e.Merge != "" && after.Merge == nil {
		m, ok := s.merges[e.Merge]
		if !ok {
			var err error
			if m, err = r.Merge(e.Merge); err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
		}
		if m.ID != "" {
			after.Merge = &m.Merge
			e.Operation, e.Review, e.Target, e.WorkspaceName = cmp.Or(e.Operation, m.Act), cmp.Or(e.Review, m.Review), m.Target, m.WorkspaceName
		}
	}
	_, isWritten := s.workspaces[e.Workspace]
	isGone := e.Kind == croft.EventWorkspaceForgotten
	if e.Workspace != "" && after.Workspace == nil && (e.Merge == "" && !isGone || isWritten) {
		w, err := s.workspaceOf(r, e.Workspace)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if w != nil {
			after.Workspace, e.WorkspaceName = w, w.Name
			if w.Round > 0 {
				e.Session = croft.ID(w.Session)
			}
			if w.Lease != nil && strings.HasPrefix(e.Kind, "lease.") {
				e.Lease = cmp.Or(e.Lease, w.Lease.ID)
			}
		}
	}
	e.Operation = cmp.Or(e.Operation, s.acts[e.Workspace])
	if e.After = nil; after != (croft.Nouns{}) {
		e.After = &after
	}
	return nil
}

// workspaceOf returns a workspace as the transaction leaves it, with the lease that lasts
// longest.
func (s *Story) workspaceOf(r Records, id croft.ID) (*croft.Workspace, error) {
	w, ok := s.workspaces[id]
	if !ok {
		var err error
		if w, err = r.Workspace(id); err != nil {
			return nil, err
		}
	}
	if w.State == croft.Trashed {
		return &w.Workspace, nil
	}
	leases, err := r.Leases(id)
	for _, l := range leases {
		if w.Lease == nil || l.ExpiresAt.After(w.Lease.ExpiresAt) {
			w.Lease = &l
		}
	}
	return &w.Workspace, err
}
