package journal

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/croft-sh/croft"
)

// Session is the record of a session, with all its rounds.
type Session struct {
	croft.Session
	Key        string        `json:"key,omitempty"`
	Request    string        `json:"request,omitempty"` // a digest
	Generation int           `json:"generation"`
	Context    croft.Context `json:"context,omitempty"`
	Rounds     []Round       `json:"turns,omitempty"`
	Homes      []Home        `json:"homes,omitempty"`
	Finals     []Final       `json:"finals,omitempty"`
	Repos      []SessionRepo `json:"repos,omitempty"`
	Ending     bool          `json:"ending,omitempty"` // it has ended, and its workspaces are being removed
}

// SessionRepo is one repository that a session works on.
type SessionRepo struct {
	ID     croft.ID `json:"id"`
	Path   string   `json:"path"`
	Place  string   `json:"place"`            // the name of its checkouts in a home
	Target string   `json:"target,omitempty"` // the branch that results are merged into
}

// Home is the home of an agent, or of a presenter.
type Home struct {
	Agent  string     `json:"agent"`
	Path   string     `json:"path"`
	Given  bool       `json:"given,omitempty"`  // the caller chose it, and Croft never deletes it
	Made   string     `json:"made,omitempty"`   // the identity of the directory that Croft made
	Synced []Archived `json:"synced,omitempty"` // the archives that were copied to it
}

// Archived names one archive: the scratch of a label at the end of a round.
type Archived struct {
	Round int    `json:"round"`
	Label string `json:"label"`
}

// Round is the record of one round.
type Round struct {
	ID         croft.ID         `json:"id"`
	Number     int              `json:"number"`
	Request    string           `json:"request"` // a digest
	Starting   bool             `json:"starting,omitempty"`
	StartedAt  time.Time        `json:"startedAt"`
	EndedAt    time.Time        `json:"endedAt,omitzero"` // when its end was first requested
	Ended      bool             `json:"ended,omitempty"`
	Forced     bool             `json:"forced,omitempty"` // it ends even while processes are in its checkouts
	Workspaces []RoundWorkspace `json:"seats"`
}

// RoundWorkspace is the workspace of one agent in one round and one repository.
type RoundWorkspace struct {
	Agent     string     `json:"agent"`
	Label     string     `json:"label"`
	Repo      croft.ID   `json:"repo"`
	Home      string     `json:"home"`
	Base      string     `json:"base,omitempty"`
	BaseRef   string     `json:"baseRef,omitempty"`
	Carried   string     `json:"carried,omitempty"` // the commit of uncommitted changes that it starts from
	Branch    string     `json:"branch,omitempty"`  // that the caller asked for
	Mode      croft.Mode `json:"mode,omitempty"`
	Workspace croft.ID   `json:"workspace,omitempty"`
	HeldBack  []string   `json:"heldBack,omitempty"` // files that were not committed when its round ended
	HeldIn    string     `json:"heldIn,omitempty"`   // the directory with copies of those files
	Absent    string     `json:"absent,omitempty"`   // the path where its checkout was not found when its round ended by force
	Archived  bool       `json:"archived,omitempty"`
	Ended     bool       `json:"ended,omitempty"`
}

// Final is the workspace in which a result is finished.
type Final struct {
	Repo      croft.ID `json:"repo"`
	Request   string   `json:"request"` // a digest
	Workspace croft.ID `json:"workspace"`
}

// IsUnfinished reports whether a process is starting a round of the session, or
// removing the workspaces of one that has ended.
func (s *Session) IsUnfinished() bool {
	return s.Ending || slices.ContainsFunc(s.Rounds, func(t Round) bool { return t.Starting })
}

// Round finds a round by its number, or nil.
func (s *Session) Round(number int) *Round {
	for i := range s.Rounds {
		if s.Rounds[i].Number == number {
			return &s.Rounds[i]
		}
	}
	return nil
}

// PutSession records a new or changed session.
func (t *Tx) PutSession(s *Session) (err error) {
	was, err := firstRow(collect(t.ctx, t, scanOne[int], `SELECT generation FROM sessions WHERE id = ?`, s.ID))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	s.Generation = was + 1
	s.Revision = s.Generation
	_, err = t.exec(`INSERT INTO sessions (id, repo, name, key, state, unfinished, generation, session)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET repo = excluded.repo, name = excluded.name, state = excluded.state, unfinished = excluded.unfinished,
			generation = excluded.generation, session = excluded.session`,
		s.ID, s.RepoID, s.Name, s.Key, s.State, s.IsUnfinished(), s.Generation, asJSON{*s})
	return err
}

func scanSession(rows *sql.Rows) (Session, error) { return scanJSON[Session](rows, "sessions") }

// Session finds a session by its ID.
func (j *Journal) Session(ctx context.Context, id croft.ID) (Session, error) {
	return firstRow(read(ctx, j, scanSession, `SELECT id, session FROM sessions WHERE id = ?`, id))
}

// SessionByKey finds the session that an idempotency key was used for.
func (t *Tx) SessionByKey(repo croft.ID, key string) (Session, error) {
	return firstRow(collect(t.ctx, t, scanSession, `SELECT id, session FROM sessions WHERE repo = ? AND key = ? AND key <> ''`, repo, key))
}

// OpenSessions lists the open sessions that have a name, of all repositories.
func (j *Journal) OpenSessions(ctx context.Context, name string) ([]Session, error) {
	return readList(ctx, j, scanSession, `SELECT id, session FROM sessions WHERE name = ? AND name <> '' AND state = 'open' ORDER BY seq`, name)
}

// Sessions lists the sessions of a repository, oldest first; with an empty ID, the
// sessions of all repositories.
func (j *Journal) Sessions(ctx context.Context, repo croft.ID) ([]Session, error) {
	return readList(ctx, j, scanSession, `SELECT id, session FROM sessions WHERE ? = '' OR repo = ? ORDER BY seq`, repo, repo)
}

// UnfinishedSessions lists the sessions for which [Session.IsUnfinished] is true.
func (j *Journal) UnfinishedSessions(ctx context.Context) ([]Session, error) {
	return readList(ctx, j, scanSession, `SELECT id, session FROM sessions WHERE unfinished <> 0 ORDER BY seq`)
}

// DeleteSession deletes the record of a session.
func (t *Tx) DeleteSession(id croft.ID) error {
	_, err := t.exec(`DELETE FROM sessions WHERE id = ?`, id)
	return err
}

// Has reports whether a home has an archive.
func (h Home) Has(a Archived) bool { return slices.Contains(h.Synced, a) }

// Last returns the last round of which a home has the archive of a label, or 0.
func (h Home) Last(label string) int {
	last := 0
	for _, a := range h.Synced {
		if a.Label == label {
			last = max(last, a.Round)
		}
	}
	return last
}

// ArchivedLabels lists, sorted, the labels of the agents whose scratch was archived from
// all of their workspaces in the round.
func (t Round) ArchivedLabels() []string {
	whole := map[string]bool{}
	for _, seat := range t.Workspaces {
		was, seen := whole[seat.Label]
		whole[seat.Label] = seat.Archived && (was || !seen)
	}
	maps.DeleteFunc(whole, func(_ string, all bool) bool { return !all })
	return slices.Sorted(maps.Keys(whole))
}
