package page

import "github.com/croft-sh/croft"

// Workspace is the key of a workspace.
func Workspace(w croft.Workspace) Key { return Key{ID: string(w.ID) + w.Path, At: w.CreatedAt} }

// Worktree is the key of a worktree.
func Worktree(w croft.Worktree) Key { return Key{ID: w.Path} }

// Snapshot is the key of a snapshot.
func Snapshot(s croft.Snapshot) Key { return Key{ID: string(s.ID), At: s.CreatedAt} }

// TrashItem is the key of a removed workspace.
func TrashItem(t croft.TrashItem) Key { return Key{ID: string(t.ID), At: t.RemovedAt} }

// Merge is the key of a merge.
func Merge(m croft.Merge) Key { return Key{ID: string(m.ID)} }

// Lane is the key of a lane.
func Lane(l croft.Lane) Key { return Key{ID: l.Target} }

// Session is the key of a session.
func Session(s croft.Session) Key { return Key{ID: string(s.ID), At: s.StartedAt} }

// Repo is the key of a project.
func Repo(r croft.Repo) Key { return Key{ID: string(r.ID)} }
