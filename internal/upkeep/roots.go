package upkeep

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/lane"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/review"
)

// roots says what a project still needs, as the journal says it at one moment. All that gc
// deletes besides the trash itself hangs on a record, a pin, a merge or a session:
//
//	thing                          is needed while
//	work, survey                   the workspace is being made, is in the trash, or has no record
//	archive of commits             the workspace is not purged; or git has them on no branch
//	review                         a merge of a part waits; or it is younger than trash.retention
//	session, its homes             it is open, or ended less than trash.retention ago
//	private files of a snapshot    a pin names the snapshot, or a process makes it
//	file for containers            the workspace is live
//	list of copied files           the workspace is not purged
//	made/, a checkout's identity   the workspace is not purged; or the directory is there
//	dirs/, deleted/, of the trash  the record names a directory in the trash, or a rewind may
//	                               use it; or the directory is there
//	objects lent to a checkout     the workspace is live, or its directory is in the trash; or
//	                               it has no record
//	record                         the workspace is not purged, or was until history.retention
//	                               ago, or a pin or a branch of it is left
//
// These hold for every deletion:
//
//   - Snapshots and archived commits of a workspace without a record are needed, and the
//     objects that were lent to it: another state may know it, or it is imported. Other files of the state that have no record or pin are not.
//   - A thing is deleted only after the journal was read again under the project's lock: an
//     act that makes a thing needed, such as a restoration, holds that lock. Sessions are
//     deleted without it, because one that has ended never opens again. The private files of
//     a snapshot have a lock of their own, which their process holds until it has pinned them.
//   - What git says is asked before, without the lock: agents change branches anyway.
//   - What is found by a pin or a record is deleted before that pin or record is. So a process
//     that is killed leaves things that the next gc finds.
//   - A kind of thing that cannot be deleted keeps no other kind from being deleted.
type roots struct {
	now                time.Time
	retention, history time.Duration

	records  map[string]journal.Record
	admins   map[string]journal.Record // the same, by the names of their registrations
	asides   map[string]bool           // directories in the trash that a rewind may use
	archive  map[string]string         // objects that are archived, by their refs
	works    map[string]bool           // workspaces with a snapshot in the archive
	reviews  map[string][]string       // the refs of each review
	pinned   map[string]bool           // workspaces that have an archive or a snapshot
	saved    map[string]bool           // snapshots, and workspaces that have an archive: they may have private files
	awaited  map[string]bool           // reviews with a merge of a part that waits
	sessions map[string]journal.Session
}

// readRoots reads from the journal what a project still needs.
func (c *collection) readRoots(ctx context.Context) (*roots, error) {
	m := &roots{
		now: c.Now(), retention: time.Duration(c.r.Config.Trash.Retention), history: time.Duration(c.Settings.Config().History.Retention),
		records: map[string]journal.Record{}, admins: map[string]journal.Record{}, asides: map[string]bool{},
		awaited: map[string]bool{}, sessions: map[string]journal.Session{},
	}
	records, err := c.Journal.Records(ctx, c.r.ID)
	for _, rec := range records {
		m.records[string(rec.Workspace.ID)], m.admins[rec.Admin], m.asides[project.AsideName(rec)] = rec, rec, true
	}
	waiting, werr := c.Journal.Waiting(ctx, c.r.ID, "", -1)
	var derr error
	for _, reason := range lane.RetriedReasons() {
		again, err := c.Journal.MergesPendingFor(ctx, c.r.ID, reason)
		waiting, derr = append(waiting, again...), errors.Join(derr, err)
	}
	for _, merge := range waiting {
		m.awaited[string(merge.Review)] = true
	}
	sessions, serr := c.Journal.Sessions(ctx, c.r.ID)
	for _, ses := range sessions {
		m.sessions[string(ses.ID)] = ses
	}
	return m, errors.Join(err, werr, derr, serr, c.readPins(ctx, m))
}

// readPins reads which objects are pinned, and sorts them by what needs them.
func (c *collection) readPins(ctx context.Context, m *roots) error {
	m.archive, m.works, m.reviews = map[string]string{}, map[string]bool{}, map[string][]string{}
	m.pinned, m.saved = map[string]bool{}, map[string]bool{}
	pins, err := c.Journal.Pins(ctx, c.r.ID, project.PinRefs)
	for _, p := range pins {
		kind, rest, _ := strings.Cut(strings.TrimPrefix(p.Ref, project.PinRefs), "/")
		id, what, _ := strings.Cut(rest, "/")
		switch project.PinRefs + kind + "/" {
		case project.ArchiveRefs:
			m.archive[p.Ref], m.pinned[id], m.saved[id] = p.OID, true, true
			m.works[id] = m.works[id] || what == "work"
		case project.SnapshotRefs:
			m.pinned[id], m.saved[what] = true, true
		case review.Refs:
			m.reviews[id] = append(m.reviews[id], p.Ref)
		}
	}
	return err
}

// isPurged reports whether a workspace was removed and cannot be restored any more.
func isPurged(rec journal.Record) bool {
	return rec.Workspace.State == croft.Trashed && rec.Trash != nil && rec.Trash.Purged
}

func (m *roots) needsWork(id string) bool {
	switch rec, isKnown := m.records[id]; rec.Workspace.State {
	case croft.Trashed, croft.Creating:
		return !isPurged(rec)
	default:
		return !isKnown
	}
}

func (m *roots) needsArchive(ref string) bool {
	id, what := project.PinOwner(ref, project.ArchiveRefs)
	return !isPurged(m.records[string(id)]) || what == "work"
}

func (m *roots) needsReview(id string) bool { return m.awaited[id] }

func (m *roots) needsSession(id string) bool {
	ses := m.sessions[id]
	return ses.State != croft.SessionEnded || m.now.Sub(ses.EndedAt) <= m.retention
}

func (m *roots) needsSecrets(id string) bool { return m.saved[id] }

func (m *roots) needsMount(id string) bool {
	rec, isKnown := m.records[id]
	return isKnown && rec.Workspace.State != croft.Trashed
}

func (m *roots) needsCopies(id string) bool {
	rec := m.records[id]
	return rec.Workspace.ID != "" && !isPurged(rec)
}

func (m *roots) needsMade(admin string) bool {
	rec, isKnown := m.admins[admin]
	return isKnown && !isPurged(rec)
}

func (m *roots) needsTrashDir(name string) bool {
	t := m.records[name].Trash
	return m.asides[name] || t != nil && t.Dir != ""
}

func (m *roots) needsLent(admin string) bool {
	rec, isKnown := m.admins[admin]
	return !isKnown || rec.Trash == nil || rec.Trash.Dir != ""
}

func (m *roots) needsRecord(id string) bool {
	rec := m.records[id]
	return !isPurged(rec) || !rec.Trash.ExpiresAt.Before(m.now.Add(-m.history)) || m.pinned[id]
}
