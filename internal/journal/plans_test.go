package journal

import (
	"database/sql"
	"strings"
	"testing"
)

// TestPlans has SQLite say how it finds rows of which there are more with every act: by an
// index that leads to them.
func TestPlans(t *testing.T) {
	j, err := Open(t.Context(), t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for _, test := range []struct{ query, index string }{
		{liveOnBranch, "workspaces_on_branch (branch=? AND repo=?)"},
		{mergeByCommit, "merges_by_commit (commit_id=?)"},
		{mergesPendingFor, "merges_pending (repo=? AND reason=?)"},
		{mergesNamed, "merges_by_name (repo=? AND <expr>=?)"},
		{history, "operations_by_repo (repo=?)"},
		{undoing, "operations_undoing (undoes=?)"},
		{waiting, "merges_waiting (repo=?)"},
		{waitingOf, "merges_by_workspace (workspace=?)"},
		{laneTargets, "merges_waiting (repo=?)"},
		{landed, "merges_by_workspace (workspace=?)"},
		{landedOf, "merges_by_workspace (workspace=?)"},
		{lastMerges, "merges_by_workspace (workspace=?)"},
		{untidy, "merges_untidy (repo=?)"},
		{string(IdentifiedActs), "operations_by_act (act>? AND act<?)"},
		{string(IdentifiedTrashed), "sqlite_autoindex_workspaces_1 (id>? AND id<?)"},
		{string(IdentifiedMerges), "sqlite_autoindex_merges_1 (id>? AND id<?)"},
		{`SELECT id, record, created_at, rowid FROM workspaces WHERE repo = ? AND ` + live, "workspaces_live_name (repo=?)"},
	} {
		if plan := planOf(t, j, test.query); !strings.Contains(plan, test.index) || strings.Contains(plan, "SCAN operations") || strings.Contains(plan, "SCAN m") {
			t.Errorf("%s\n%s", test.query, plan)
		}
	}
}

func planOf(t *testing.T, j *Journal, query string) string {
	t.Helper()
	args := make([]any, strings.Count(query, "?"))
	for i := range args {
		args[i] = "x"
	}
	if strings.Contains(query, "LIMIT ?") {
		args[len(args)-1] = 10
	}
	plan, err := read(t.Context(), j, func(rows *sql.Rows) (text string, err error) {
		return text, rows.Scan(new(int), new(int), new(int), &text)
	}, "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(plan, "\n")
}

// TestIndexesAreAdded: a database that lacks an index gets it when it is opened.
func TestIndexesAreAdded(t *testing.T) {
	dir := t.TempDir()
	j, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.db.ExecContext(t.Context(), "DROP INDEX operations_undoing"); err != nil {
		t.Fatal(err)
	}
	if plan := planOf(t, j, undoing); !strings.Contains(plan, "SCAN operations") {
		t.Fatalf("without the index: %s", plan)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if j, err = Open(t.Context(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if plan := planOf(t, j, undoing); !strings.Contains(plan, "operations_undoing") {
		t.Error(plan)
	}
}

// TestIndexesThatCannotBeMade: a database opens, and answers, without an index that cannot be made.
func TestIndexesThatCannotBeMade(t *testing.T) {
	dir := t.TempDir()
	j, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, stmt := range []string{"DROP INDEX operations_undoing", "CREATE TABLE operations_undoing (name TEXT)"} {
		if _, err := j.db.ExecContext(t.Context(), stmt); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if j, err = Open(t.Context(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := addIndexes(t.Context(), j.db); err == nil {
		t.Error("the index could be made")
	}
	if plan := planOf(t, j, undoing); !strings.Contains(plan, "SCAN operations") {
		t.Error(plan)
	}
}
