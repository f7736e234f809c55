CREATE TABLE repos (
	id TEXT PRIMARY KEY,
	common_dir TEXT NOT NULL,
	path TEXT NOT NULL,
	identity TEXT NOT NULL,
	created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX repos_by_place ON repos (common_dir, identity);

CREATE INDEX repos_by_identity ON repos (identity);

CREATE TABLE workspaces (
	id TEXT PRIMARY KEY,
	repo TEXT NOT NULL,
	name TEXT NOT NULL,
	path TEXT NOT NULL,
	path_fold TEXT NOT NULL,
	branch TEXT NOT NULL,
	mode TEXT NOT NULL,
	state TEXT NOT NULL,
	session TEXT NOT NULL,
	role TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	generation INTEGER NOT NULL,
	record TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX workspaces_live_name ON workspaces (repo, name) WHERE state <> 'trashed';

CREATE UNIQUE INDEX workspaces_live_path ON workspaces (path_fold) WHERE state <> 'trashed' AND mode <> 'legacy';

CREATE INDEX workspaces_by_path ON workspaces (path) WHERE state <> 'trashed';

CREATE INDEX workspaces_by_repo ON workspaces (repo, state, created_at);

CREATE TABLE operations (
	seq INTEGER PRIMARY KEY AUTOINCREMENT,
	id TEXT NOT NULL UNIQUE,
	act TEXT NOT NULL,
	undoes TEXT NOT NULL,
	kind TEXT NOT NULL,
	actor TEXT NOT NULL,
	repo TEXT NOT NULL,
	state TEXT NOT NULL,
	workspaces TEXT NOT NULL,
	names TEXT NOT NULL,
	input TEXT NOT NULL,
	owner TEXT NOT NULL,
	started_at INTEGER NOT NULL,
	ended_at INTEGER NOT NULL,
	error TEXT NOT NULL
) STRICT;

CREATE INDEX operations_by_repo ON operations (repo, seq);

CREATE INDEX operations_by_act ON operations (act);

CREATE INDEX operations_running ON operations (state) WHERE state = 'running';

CREATE TABLE keys (
	repo TEXT NOT NULL,
	verb TEXT NOT NULL,
	key TEXT NOT NULL,
	request TEXT NOT NULL,
	operation TEXT NOT NULL,
	PRIMARY KEY (repo, verb, key)
) STRICT;

CREATE TABLE leases (
	id TEXT PRIMARY KEY,
	workspace TEXT NOT NULL,
	owner TEXT NOT NULL,
	expires_at INTEGER NOT NULL
) STRICT;

CREATE INDEX leases_by_workspace ON leases (workspace);

CREATE TABLE merges (
	seq INTEGER PRIMARY KEY AUTOINCREMENT,
	id TEXT NOT NULL UNIQUE,
	repo TEXT NOT NULL,
	target TEXT NOT NULL,
	workspace TEXT NOT NULL,
	state TEXT NOT NULL,
	status TEXT NOT NULL,
	reason TEXT NOT NULL,
	commit_id TEXT NOT NULL,
	priority INTEGER NOT NULL,
	untidy INTEGER NOT NULL,
	published INTEGER NOT NULL,
	merge TEXT NOT NULL
) STRICT;

CREATE INDEX merges_waiting ON merges (repo, target, priority, seq) WHERE state <> 'done';

CREATE INDEX merges_by_repo ON merges (repo, seq);

CREATE INDEX merges_by_workspace ON merges (workspace, seq);

CREATE INDEX merges_by_commit ON merges (commit_id) WHERE commit_id <> '';

CREATE INDEX merges_untidy ON merges (repo) WHERE untidy <> 0;

CREATE TABLE events (
	cursor INTEGER PRIMARY KEY AUTOINCREMENT,
	time INTEGER NOT NULL,
	kind TEXT NOT NULL,
	repo TEXT NOT NULL,
	workspace TEXT NOT NULL,
	data TEXT NOT NULL
) STRICT;

CREATE INDEX merges_published ON merges (published);

CREATE INDEX workspaces_removed_name ON workspaces (repo, name) WHERE state = 'trashed';

CREATE INDEX workspaces_announced ON workspaces (repo) WHERE state = 'trashed' AND instr(record, '"purgeAt":') > 0;

CREATE TABLE sessions (
	seq INTEGER PRIMARY KEY AUTOINCREMENT,
	id TEXT NOT NULL UNIQUE,
	repo TEXT NOT NULL,
	name TEXT NOT NULL,
	key TEXT NOT NULL,
	state TEXT NOT NULL,
	unfinished INTEGER NOT NULL,
	generation INTEGER NOT NULL,
	session TEXT NOT NULL
) STRICT;

CREATE INDEX sessions_by_repo ON sessions (repo, seq);

CREATE UNIQUE INDEX sessions_open_name ON sessions (repo, name) WHERE state = 'open' AND name <> '';

CREATE UNIQUE INDEX sessions_by_key ON sessions (repo, key) WHERE key <> '';

CREATE INDEX operations_undoing ON operations (undoes) WHERE undoes <> '';

CREATE INDEX merges_pending ON merges (repo, reason, seq) WHERE status = 'pending';

CREATE INDEX merges_by_name ON merges (repo, coalesce(CASE WHEN json_valid(merge) THEN json_extract(merge, '$.workspaceName') END, CASE WHEN json_valid(merge) THEN json_extract(merge, '$.workspace') END), seq);

CREATE INDEX workspaces_on_branch ON workspaces (branch, repo) WHERE state <> 'trashed';

CREATE TABLE lanes (
	repo TEXT NOT NULL,
	target TEXT NOT NULL,
	tip TEXT NOT NULL,
	PRIMARY KEY (repo, target)
) STRICT;

CREATE TABLE pins (
	repo TEXT NOT NULL,
	ref TEXT NOT NULL,
	oid TEXT NOT NULL,
	PRIMARY KEY (repo, ref)
) STRICT;

CREATE TABLE identity (
	epoch TEXT NOT NULL,
	file TEXT NOT NULL,
	txn INTEGER NOT NULL
) STRICT
