package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"github.com/croft-sh/croft"
)

// schemaGenerations counts the changes of each repository, gives the database a
// name of its own, and keeps where workspaces came from.
const schemaGenerations = `
ALTER TABLE workspaces ADD COLUMN origin TEXT NOT NULL DEFAULT '';

CREATE TABLE generations (
	repo TEXT PRIMARY KEY,
	generation INTEGER NOT NULL,
	seen TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE TABLE identity (
	id TEXT PRIMARY KEY
) STRICT;

INSERT INTO identity (id) VALUES (lower(hex(randomblob(8))))`

// Generation says how often a database has changed something about a
// repository: the same number of the same database is the same state. A
// smaller one than was seen before means that an older copy was put in its
// place.
type Generation struct {
	Database string
	Number   int64
}

// String is the generation as it is written down.
func (g Generation) String() string { return fmt.Sprintf("%020d %s", g.Number, g.Database) }

// change is what a transaction did to a repository.
type change struct {
	repo Repo
	now  Generation
}

// touch notes that the transaction changes something about a repository.
func (t *Tx) touch(repo croft.ID) { t.touched[repo] = true }

// touchAround notes the same of the repository of a workspace.
func (t *Tx) touchAround(workspace croft.ID) error {
	var repo croft.ID
	err := t.row(`SELECT repo FROM workspaces WHERE id = ?`, workspace).Scan(&repo)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	t.touch(repo)
	return err
}

// advance counts what the transaction has touched.
func (t *Tx) advance() ([]change, error) {
	var changed []change
	for id := range t.touched {
		c := change{repo: Repo{ID: id}}
		err := t.row(`INSERT INTO generations (repo, generation) VALUES (?, 1)
			ON CONFLICT (repo) DO UPDATE SET generation = generation + 1
			RETURNING generation, (SELECT id FROM identity)`, id).Scan(&c.now.Number, &c.now.Database)
		if err != nil {
			return nil, err
		}
		err = t.row(`SELECT common_dir, path FROM repos WHERE id = ?`, id).Scan(&c.repo.CommonDir, &c.repo.Path)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return nil, err
		}
		changed = append(changed, c)
	}
	return changed, nil
}

// Generation is the state of a repository in this database.
func (j *Journal) Generation(ctx context.Context, repo croft.ID) (g Generation, err error) {
	err = j.with(ctx, func(db *sql.DB, _ os.FileInfo) error {
		return db.QueryRowContext(ctx, `SELECT id, coalesce((SELECT generation FROM generations WHERE repo = ?), 0) FROM identity`, repo).
			Scan(&g.Database, &g.Number)
	})
	return g, err
}

// HasSeen reports whether the database knows what a repository had come to: by
// having brought it there, or by having taken it over from another database.
func (j *Journal) HasSeen(ctx context.Context, repo croft.ID, g Generation) (seen bool, err error) {
	err = j.with(ctx, func(db *sql.DB, _ os.FileInfo) error {
		return db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM generations WHERE repo = ?
			AND (seen = ? OR generation >= ? AND ? = (SELECT id FROM identity)))`, repo, g.String(), g.Number, g.Database).Scan(&seen)
	})
	return seen, err
}

// See remembers that the database knows what a repository had come to. Its own
// count goes on from there.
func (t *Tx) See(repo croft.ID, g Generation) error {
	_, err := t.exec(`INSERT INTO generations (repo, generation, seen)
		SELECT ?1, iif(id = ?2, ?3, 0), ?4 FROM identity WHERE true
		ON CONFLICT (repo) DO UPDATE SET generation = max(generation, excluded.generation), seen = excluded.seen`,
		repo, g.Database, g.Number, g.String())
	return err
}
