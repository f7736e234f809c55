package upkeep

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/journal"
)

// TestRoots: each kind of root keeps what it names from being deleted, and nothing else is
// kept.
func TestRoots(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	record := func(state croft.State, trash *journal.Trash) journal.Record {
		return journal.Record{Workspace: croft.Workspace{State: state}, Trash: trash}
	}
	expired := now.Add(-11 * day)
	m := &roots{
		now: now, retention: day, history: 10 * day,
		records: map[string]journal.Record{
			"creating": record(croft.Creating, nil), "live": record(croft.Ready, nil),
			"trashed": record(croft.Trashed, &journal.Trash{Dir: "/trash/trashed", ExpiresAt: expired}),
			"reduced": record(croft.Trashed, &journal.Trash{ExpiresAt: expired}),
			"purged":  record(croft.Trashed, &journal.Trash{Purged: true, ExpiresAt: expired}),
			"pinned":  record(croft.Trashed, &journal.Trash{Purged: true, ExpiresAt: expired}),
			"recent":  record(croft.Trashed, &journal.Trash{Purged: true, ExpiresAt: now.Add(-9 * day)}),
			"odd":     record(croft.Trashed, nil),
		},
		asides: map[string]bool{"live.aside": true},
		pinned: map[string]bool{"pinned": true, "trashed": true}, saved: map[string]bool{"snapshot": true},
		awaited: map[string]bool{"awaited": true},
		sessions: map[string]journal.Session{
			"open":  {Session: croft.Session{State: croft.SessionOpen}},
			"ended": {Session: croft.Session{State: croft.SessionEnded, EndedAt: now.Add(-day)}},
			"old":   {Session: croft.Session{State: croft.SessionEnded, EndedAt: now.Add(-day - 1)}},
		},
	}
	m.admins = m.records
	for _, c := range []struct {
		what    string
		needed  func(string) bool
		yes, no []string
	}{
		{"work", m.needsWork, []string{"creating", "trashed", "reduced", "odd", "unknown"}, []string{"live", "purged", "recent"}},
		{"archive", ofArchive(m, "head"), []string{"creating", "live", "trashed", "reduced", "odd", "unknown"}, []string{"purged", "recent"}},
		{"work in the archive", ofArchive(m, "work"), []string{"live", "trashed", "purged", "unknown"}, nil},
		{"review", m.needsReview, []string{"awaited"}, []string{"unknown"}},
		{"session", m.needsSession, []string{"open", "ended", "unknown"}, []string{"old"}},
		{"secrets", m.needsSecrets, []string{"snapshot"}, []string{"trashed", "unknown"}},
		{"mount", m.needsMount, []string{"creating", "live"}, []string{"trashed", "reduced", "purged", "odd", "unknown"}},
		{"made", m.needsMade, []string{"creating", "live", "trashed", "reduced", "odd"}, []string{"purged", "recent", "unknown"}},
		{"directory of the trash", m.needsTrashDir, []string{"trashed", "live.aside"}, []string{"live", "reduced", "purged", "odd", "unknown"}},
		{"lent", m.needsLent, []string{"creating", "live", "trashed", "odd", "unknown"}, []string{"reduced", "purged"}},
		{"record", m.needsRecord, []string{"creating", "live", "trashed", "reduced", "pinned", "recent", "odd", "unknown"}, []string{"purged"}},
	} {
		for _, name := range c.yes {
			if !c.needed(name) {
				t.Errorf("%s of %s is not needed", c.what, name)
			}
		}
		for _, name := range c.no {
			if c.needed(name) {
				t.Errorf("%s of %s is needed", c.what, name)
			}
		}
	}
}

func ofArchive(m *roots, what string) func(string) bool {
	return func(id string) bool { return m.needsArchive("refs/croft/archive/" + id + "/" + what) }
}

// TestForgetIn: a ledger keeps the identity of a directory that exists and is not empty.
func TestForgetIn(t *testing.T) {
	t.Parallel()
	l, at := fsx.Ledger{Dir: t.TempDir()}, t.TempDir()
	for _, name := range []string{"full", "empty", "gone"} {
		dir := filepath.Join(at, name)
		if err := os.MkdirAll(filepath.Join(dir, "file"), 0o755); err != nil {
			t.Fatal(err)
		}
		id, err := fsx.IdentityOf(dir)
		if err == nil && name != "full" {
			err = os.Remove(filepath.Join(dir, "file"))
		}
		if err == nil && name == "gone" {
			err = os.Remove(dir)
		}
		if err = errors.Join(err, l.Put(name, fsx.Made{Path: dir, Identity: id}), deleteFromLedger(l)(t.Context(), nil, name)); err != nil {
			t.Fatal(err)
		}
	}
	if names, err := l.Names(); err != nil || !slices.Equal(names, []string{"full"}) {
		t.Errorf("the ledger has %v, %v, want what is there", names, err)
	}
}
